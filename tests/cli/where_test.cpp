// --where: what conditions find, what they refuse, and when they warn; the same in query, export, changes and trigger.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using Json = nlohmann::json;

constexpr const char* by_all = R"({"table": "by_all", "properties": [{"name": "all", "type": "int"}]})";

// A command with --where before each condition.
std::vector<std::string> with_conditions(std::vector<std::string> arguments,
                                         const std::vector<std::string>& conditions) {
  for (const std::string& condition : conditions) {
    arguments.insert(arguments.end(), {"--where", condition});
  }
  return arguments;
}

// The ids of the lines of changes that have a member.
std::vector<std::string> ids_with(const std::string& member, const std::string& lines) {
  std::vector<std::string> ids;
  for (const std::string& line : lines_of(lines)) {
    const Json change = Json::parse(line);
    if (change.contains(member)) {
      ids.push_back(change["id"]);
    }
  }
  return sorted(ids);
}

const std::vector<std::vector<std::string>> readers = {
    {"query", "by_all"}, {"export"}, {"changes"}, {"trigger", "run", "t"}};

// The command with the conditions; of a trigger, with a command to run.
std::vector<std::string> reader_with(const std::vector<std::string>& reader,
                                     const std::vector<std::string>& conditions) {
  const std::vector<std::string> arguments = with_conditions(reader, conditions);
  return reader.front() == "trigger" ? joined(arguments, {"--", "cat"}) : arguments;
}

std::string position_of(const TestCluster& cluster) {
  return Json::parse(lines_of(cluster.looseleaf({"changes"}).out).back())["position"];
}

}  // namespace

TEST_CASE("query, export and changes find the same by every operator of --where") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  put_all(cluster, entity(1, R"("all":1,"n":1,"s":"apple","tags":["x","y"],"items":[{"sku":"a1"},{"sku":"b2"}])") +
                       entity(2, R"("all":1,"n":1.0,"s":"Apple","tags":[],"items":{"sku":["a9"]})") +
                       entity(3, R"("all":1,"n":10,"s":"applet","tags":["z",7],"a":{"b":null})") +
                       entity(4, R"("all":1,"n":"1","s":7,"tags":"x","a":{"b":false})") +
                       entity(5, R"("all":1,"n":9007199254740993,"s":"\u00e9","a":{})") +
                       entity(6, R"("all":1,"n":-18446744073709551617,"s":"")"));
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::uint64_t>>> cases = {
      {{"n=1e0"}, {1, 2}},
      {{"n!=1"}, {3, 4, 5, 6}},
      {{"n<10"}, {1, 2, 6}},
      {{"n<=10"}, {1, 2, 3, 6}},
      {{"n>9007199254740992"}, {5}},
      {{"n<=-18446744073709551616"}, {6}},
      {{"n>=\"1\""}, {4}},
      {{"n>0", "n<10.5", "n!=1"}, {3}},
      {{"s^=appl"}, {1, 3}},
      {{"s^="}, {1, 2, 3, 5, 6}},
      {{"s^=7"}, {}},
      {{"s<apple"}, {2, 6}},
      {{"s>apple"}, {3, 5}},
      {{"a.b exists"}, {3, 4}},
      {{"a exists"}, {3, 4, 5}},
      {{"a.b!=null"}, {1, 2, 4, 5, 6}},
      {{"tags[]=x"}, {1}},
      {{"tags[]!=x"}, {2, 3, 4, 5, 6}},
      {{"tags[]=x", "tags[]=7"}, {1, 3}},
      {{"tags[]>y"}, {3}},
      {{"tags[] exists"}, {1, 3}},
      {{"items.sku[]^=a"}, {1, 2}},
      {{"items.sku[]=b2", "tags[]=y"}, {1}},
      {{"tags=x"}, {4}},
  };
  for (const auto& [conditions, numbers] : cases) {
    INFO(fmt::format("{}", fmt::join(conditions, " ")));
    const std::vector<std::string> expected = ids_of(numbers);
    const auto found = [&, &conditions = conditions](const std::vector<std::string>& arguments) {
      const cli::ProcessResult result = cluster.looseleaf(with_conditions(arguments, conditions));
      CHECK_MESSAGE(result.status == 0, result.err);
      return result.out;
    };
    CHECK(sorted(lines_of(found({"query", "by_all", "--ids"}))) == expected);
    CHECK(sorted(lines_of(found({"export", "--ids"}))) == expected);
    CHECK(ids_with("entity", found({"changes"})) == expected);
  }
}

TEST_CASE("an entity that changed and no longer matches is told as such, whatever the operator") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1, R"("n":5,"m":5,"s":"abc","tags":["x",3],"v":null)"));
  const std::string position = position_of(cluster);
  put_all(cluster, entity(1, R"("n":50,"m":"5","s":"b","tags":["y","3"])"));
  for (const std::string condition :
       {"n=5", "n!=50", "n<50", "n<=49", "m>1", "m>=5", "s^=ab", "v exists", "tags[]=x", "tags[]!=y", "tags[]<4"}) {
    CAPTURE(condition);
    CHECK(ids_with("entity", cluster.looseleaf({"changes", "--after", "beginning", "--where", condition}).out).empty());
    const cli::ProcessResult changed = cluster.looseleaf({"changes", "--after", position, "--where", condition});
    CHECK(ids_with("matches", changed.out) == ids_of({1}));
  }
  for (const std::string condition : {"n!=5", "n>5", "m!=5", "v!=null", "tags[]=y"}) {
    CAPTURE(condition);
    const cli::ProcessResult changed = cluster.looseleaf({"changes", "--after", position, "--where", condition});
    CHECK(ids_with("entity", changed.out) == ids_of({1}));
  }
}

TEST_CASE("a trigger delivers what meets all conditions, and tells which changed entities do not") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().path() + "/out";
  put_all(cluster, entity(1, R"("n":2,"tags":["x"])") + entity(2, R"("n":20,"tags":["x"])"));
  cli::Process trigger = cluster.start(
      {"trigger", "run", "t", "--where", "n<10", "--where", "tags[]!=y", "--", "sh", "-c", "cat >> $0", file});
  wait_until("it is delivered", [&] { return contains(read_text(file), id_of(1)); });
  put_all(cluster, entity(1, R"("n":2,"tags":["x","y"])"));
  wait_until("the change is delivered", [&] { return contains(read_text(file), "matches"); });
  CHECK(end_by(SIGTERM, trigger).status == 143);
  CHECK(ids_with("entity", read_text(file)) == ids_of({1}));
  CHECK(ids_with("matches", read_text(file)) == ids_of({1}));
}

TEST_CASE("a property that nothing has that was read is warned of once") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  for (const std::vector<std::string>& reader : {readers[0], readers[1], readers[2]}) {
    CHECK(!contains(cluster.looseleaf(with_conditions(reader, {"nmae=x"})).err, "warning"));  // nothing was read
  }
  put_all(cluster, entity(1, R"("all":1,"name":"x","tags":[])") + entity(2, R"("all":1,"tags":"x")"));
  const std::string hint = "hint: check the spelling of the name: capital letters differ from small ones";
  for (const std::vector<std::string>& reader : {readers[0], readers[1], readers[2]}) {
    CAPTURE(reader.front());
    const cli::ProcessResult result =
        cluster.looseleaf(with_conditions(reader, {"nmae!=x", "nmae!=y", "Name exists", "tags[]!=x", "name!=z"}));
    check_status(
        result, 0,
        {"looseleaf: warning: no entity that was read has the property that a filter names\n  property: nmae\n", hint,
         "looseleaf: warning: no entity that was read has the property that a filter names\n  property: Name\n", hint,
         "looseleaf: warning: no entity that was read has an element of the array that a filter names\n"
         "  property: tags[]\n",
         hint});
    CHECK(times("warning", result.err) == 3);
    CHECK(contains(result.out, id_of(1)) == false);  // Name does not exist
    CHECK(!contains(cluster.looseleaf(with_conditions(reader, {"name!=z", "tags exists"})).err, "warning"));
  }
  const cli::ProcessResult json = cluster.looseleaf({"export", "--where", "nmae=x", "--output", "json"});
  const Json warning = Json::parse(lines_of(json.err).front());
  CHECK(warning["event"] == "warning");
  CHECK(warning["what"] == "no entity that was read has the property that a filter names");
  CHECK(warning["context"]["property"] == "nmae");
}

TEST_CASE("a condition that no value can meet is warned of, with the way to write it") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  put_all(cluster, entity(1, R"("all":1,"year":"1999","n":7,"flag":"true","tags":["b",3],"s":"x","z":null)") +
                       entity(2, R"("all":1,"year":"2000","n":8,"flag":"false","tags":[],"s":"y","z":null)"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      // no hint: no warning
      {"year=1999", "quote the value: --where 'year=\"1999\"'\n"},
      {"year!=1999", "quote the value: --where 'year!=\"1999\"'\n"},
      {"flag=true", "quote the value: --where 'flag=\"true\"'\n"},
      {R"(n>"5")", "leave the quotes out: --where 'n>5'\n"},
      {"n=x", "hint: only values of the same type are compared"},
      {"tags=b", "[] means any element of it: --where 'tags[]=b'\n"},
      {"tags!=b", "[] means any element of it: --where 'tags[]!=b'\n"},
      {R"(tags=["b"])", "an element's: --where 'tags[]=VALUE'\n"},
      {"tags.name=b", "; if an array is on the way, write --where 'tags.name[]=b'\n"},
      {"s=x and n=7", "warning: one condition looks like two: all that follows its operator is the value\n"},
      {"s!=x OR z exists", "hint: repeat --where, once for each of them\n"},
      {R"(s="x and n=7")", ""},
      {"s=rock and roll", ""},
      {"s='x'", "hint: leave them out: --where 's=x'\n"},
      {"year=1998", "quote the value"},
      {R"(year="1998")", ""},
      {"tags[]=3", ""},
      {"tags[]=4", ""},
      {"n!=9", ""},
      {"s!=null", ""},
      {"s exists", ""},
      {"z=1", ""},
      {"s=q*", "write --where 's^=q'"},
      {"s^=qu%", "write --where 's^=qu'"},
      {"tags[]=c*", "write --where 'tags[]^=c'"},
      {"s=*", ""},
      {"id=" + id_of(3), "run `looseleaf get`, to which dashes and capital letters make no difference\n"},
      {"id=" + id_of(1), ""},
  };
  for (const auto& [condition, hint] : cases) {
    CAPTURE(condition);
    const std::string err = cluster.looseleaf(with_conditions(readers[1], {condition})).err;
    CHECK(times("warning: ", err) == (hint.empty() ? 0 : 1));
    CHECK(contains(err, hint));
  }
  const std::vector<std::pair<std::vector<std::string>, bool>> bounds = {
      {{"n>8", "n<7"}, true},      {{"n<=7.5", "n>=8"}, true},       {{"s>y", "s<=x"}, true},
      {{"n>=8", "n<8"}, false},    {{"n>8", "n>7"}, false},          {{"n>8", "s<x"}, false},
      {{"n>8", "n<\"x\""}, false}, {{"tags[]>c", "tags[]<a"}, false}};
  for (const auto& [conditions, exclude_each_other] : bounds) {
    CAPTURE(conditions.front());
    CHECK(contains(cluster.looseleaf(with_conditions(readers[1], conditions)).err,
                   "warning: no value lies between the two bounds of a property\n") == exclude_each_other);
  }
  for (const std::vector<std::string>& reader : {readers[0], readers[2]}) {
    check_status(cluster.looseleaf(with_conditions(reader, {"s='x'", "year=1999", "year=2000"})), 0,
                 {"warning: the quotes in a filter belong to the value, and no value that was read meets it\n"
                  "  property: s\n  value: 'x'\nhint: leave them out",
                  "warning: no value that was read has the type of the value that a filter compares with\n"
                  "  property: year\n  value: 1999\nhint: "});
  }
}

TEST_CASE("a reader that follows warns of such a property while it runs, but not after a few entities") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1) + entity(2));
  cli::Process changes = cluster.start({"changes", "--follow", "--where", "nmae!=x"});
  cli::Process trigger = cluster.start({"trigger", "run", "t", "--where", "nmae!=x", "--", "true"});
  wait_until("the first are printed", [&] { return contains(changes.out(), id_of(2)); });
  CHECK(!contains(changes.err(), "warning"));
  put_all(cluster, entity_lines(1000));
  for (cli::Process* process : {&changes, &trigger}) {
    wait_until("it warns",
               [&] { return contains(process->err(), "warning: no entity that was read has the property"); });
    const cli::ProcessResult result = end_by(SIGTERM, *process);
    CHECK(result.status == 143);
    CHECK(times("warning: ", result.err) == 1);
  }
}

TEST_CASE("a wrong condition is refused by query, export, changes and trigger with the same words") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"a==1", {"error: conditions do not support ==\n", "condition: a==1\n", "hint: write 'a=1'; "}},
      {"a<>1", {"error: conditions do not support <>\n", "hint: write 'a!=1'; "}},
      {"a",
       {"error: invalid condition\n", "condition: a\n", "option: --where\n",
        "hint: write --where a=VALUE, or --where 'a exists'; "}},
      {"a 1", {"error: invalid condition\n", "hint: write name=value, or with another operator: name!=value, "}},
      {"=1", {"error: invalid condition\n", "condition: =1\n", "hint: write the name of a property before"}},
      {" exists", {"error: invalid condition\n", "hint: write the name of a property before"}},
      {"a.=1", {"error: invalid property path\n", "property: a.\n", "hint: join keys with single dots\n"}},
      {"a=Jos\xe9", {"error: a condition is not UTF-8 text\n", "property: a\n", "hint: check the encoding"}},
      {"a[].b=1", {"error: [] inside a property's name\n", "hint: write 'a.b[]=1': a path goes on inside"}},
      {"a<true",
       {"error: only numbers and strings have an order\n", "  property: a\n", "  value: true\n",
        "hint: use = or !=; to compare with a string, quote the value: 'a<\"true\"'\n"}},
      {"a[]>=null", {"error: only numbers and strings have an order\n", "  property: a[]\n", ": 'a[]>=\"null\"'\n"}},
      {"a>1e400",
       {"error: number in a filter is out of range\n", "  property: a\n", "  value: 1e400\n",
        "hint: no entity has a number beyond the range of a double; "}},
      {"--ids",
       {"error: another option is the value of --where\n", "value: --ids\n", "hint: write --where name=value; "}},
  };
  for (const auto& [condition, err] : cases) {
    for (const std::vector<std::string>& reader : readers) {
      INFO(fmt::format("{} --where {}", fmt::join(reader, " "), condition));
      check_run(cluster.looseleaf(reader_with(reader, {condition})), 2, "", err);
    }
  }
  CHECK(contains(cluster.looseleaf({"trigger", "list"}).err, "there is no trigger"));  // none was created
}

}  // namespace looseleaf::test
