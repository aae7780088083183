// --fields and --output csv: what query, get and export print of an entity.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_all = R"({"table": "by_all", "properties": [{"name": "all", "type": "int"}]})";

// Prints entity 1 by each command that has --fields.
void check_printed(const TestCluster& cluster, const std::vector<std::string>& options, const std::string& expected) {
  const std::vector<std::vector<std::string>> readers = {{"get", id_of(1)}, {"query", "by_all"}, {"export"}};
  for (const std::vector<std::string>& arguments : readers) {
    CAPTURE(arguments.front());
    const cli::ProcessResult result = cluster.looseleaf(joined(arguments, options));
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK(result.out == expected);
  }
}

}  // namespace

TEST_CASE("--fields keeps only these members, as they were written and in the entity's order") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  put_all(cluster, entity(1,
                          "\"all\":1, \"n\" : 1.10,\"big\":18446744073709551617,\"s\":\"a\\u00e9\\\"}\",\n"
                          "\"o\":{\"x\":{\"y\":[1,\n {\"z\":\"],\"}]},\"w\":null, \"e\":{}},\"\\u006b\":true"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"n", R"({"n":1.10})"},
      {"s,n,big", R"({"n":1.10,"big":18446744073709551617,"s":"a\u00e9\"}"})"},
      {"o.x.y", R"({"o":{"x":{"y":[1,{"z":"],"}]}}})"},
      {"o.w,o.x", R"({"o":{"x":{"y":[1,{"z":"],"}]},"w":null}})"},
      {"o.w,o", R"({"o":{"x":{"y":[1,{"z":"],"}]},"w":null,"e":{}}})"},
      {"o.e", R"({"o":{"e":{}}})"},
      {"k", R"({"\u006b":true})"},
      {"absent,o.absent,n.absent,o.x.y.z,n", R"({"n":1.10})"},
      {"absent", "{}"},
      {R"("n","\u006b")", R"({"n":1.10,"\u006b":true})"},
  };
  for (const auto& [fields, expected] : cases) {
    CAPTURE(fields);
    check_printed(cluster, {"--fields", fields}, expected + "\n");
  }
  const cli::ProcessResult json = cluster.looseleaf({"export", "--fields", "n", "--output", "json"});
  CHECK(lines_of(json.out).size() == 2);
  CHECK(lines_of(json.out).front() == R"({"n":1.10})");
}

TEST_CASE("--output csv prints a column for each field, with quotes where they are needed") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  put_all(cluster,
          entity(1, R"("all":1,"n":1.10,"t":true,"z":null,"text":"null","empty":"","s":"a\u00e9","comma":"a,b",)"
                    R"("quote":"say \"x\"","lines":"a\r\nb","formula":"=1+1","space":" a ","o":{"x":[1, "b"]})"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"n,t,z,text", "1.10,true,null,\"null\""},
      {"text,absent,empty,s", "\"null\",,\"\",a\xC3\xA9"},
      {"comma,quote,lines", "\"a,b\",\"say \"\"x\"\"\",\"a\r\nb\""},
      {"formula,space", "=1+1, a "},
      {"o.x,o,o.y", R"("[1, ""b""]","{""x"":[1, ""b""]}",)"},
  };
  for (const auto& [fields, expected] : cases) {
    CAPTURE(fields);
    check_printed(cluster, {"--fields", fields, "--output", "csv"}, fields + "\n" + expected + "\n");
  }
  check_printed(cluster, {"--fields", R"("a,b","say \"x\"",n)", "--output", "csv"},
                "\"a,b\",\"say \"\"x\"\"\",n\n,,1.10\n");
}

TEST_CASE("a field that no entity has that was printed is warned of at the end") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  put_all(cluster, entity(1, R"("all":1,"a":1,"o":{"x":null})") + entity(2, R"("all":1,"b":"")"));
  for (const std::string output : {"text", "csv"}) {
    for (const std::vector<std::string>& reader :
         std::vector<std::vector<std::string>>{{"export"}, {"query", "by_all"}, {"get", id_of(1), id_of(2)}}) {
      const cli::ProcessResult result =
          cluster.looseleaf(joined(reader, {"--output", output, "--fields", "a,A,o.x,b,o.y"}));
      check_status(result, 0,
                   {"warning: no entity that was printed has the field\n  field: A\nhint: check the spelling",
                    "warning: no entity that was printed has the field\n  field: o.y\n"});
      CHECK(times("warning", result.err) == 2);
    }
  }
}

TEST_CASE("CSV has a header also without entities, and a page of a query has its own") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  check_run(cluster.looseleaf({"query", "by_all", "--fields", "id,all", "--output", "csv"}), 0, "id,all\n");
  put_all(cluster, entity(1, "\"all\":1") + entity(2, "\"all\":2"));
  const std::vector<std::string> query = {"query", "by_all", "--fields", "all", "--output", "csv", "--limit", "1"};
  const cli::ProcessResult page = cluster.looseleaf(query);
  check_run(page, 0, "all\n1\n", {"next: "});
  check_run(cluster.looseleaf(joined(query, {"--after", next_of(page)})), 0, "all\n2\n");
  check_run(cluster.looseleaf({"get", "--output", "csv", "--fields", "all", id_of(2), id_of(3)}), 1, "all\n2\n",
            {"warning: no such entity\n"});
}

TEST_CASE("a field inside one that is printed as a whole is found") {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(1, R"("a":{"b":{"c":1}})"));
  const cli::ProcessResult whole = cluster.looseleaf({"export", "--fields", "a,a.b.c"});
  CHECK(whole.out == "{\"a\":{\"b\":{\"c\":1}}}\n");
  CHECK(!contains(whole.err, "warning"));
  check_status(cluster.looseleaf({"export", "--quiet", "--fields", "a,a.d"}), 0, {"  field: a.d\n"});
}

TEST_CASE("fields that cannot be printed are refused") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_all);
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"export", "--output", "csv"},
       {"error: --output csv needs --fields\n", "hint: name the columns, such as --fields"}},
      {{"export", "--fields", ""},
       {"error: an empty name\n", "option: --fields\n", "hint: separate names by one comma"}},
      {{"export", "--fields", "a,,b"}, {"error: an empty name\n", "value: a,,b\n", "hint: "}},
      {{"export", "--fields", "a,"}, {"error: an empty name\n", "hint: "}},
      {{"export", "--fields", "\"a"}, {"error: invalid name in quotes\n", "hint: "}},
      {{"export", "--fields", "\"a\"b"}, {"error: invalid name in quotes\n", "hint: "}},
      {{"export", "--fields", "a.b,c,a.b"}, {"error: a field is named twice\n", "field: a.b\n", "hint: "}},
      {{"export", "--fields", "a", "--ids"}, {"error: --fields and --ids cannot be combined\n", "hint: "}},
      {{"query", "by_all", "--fields", "a", "--count"}, {"error: --fields cannot be combined with", "hint: "}},
      {{"status", "--output", "csv"}, {"error: invalid value\n", "value: csv\n", "hint: choose one of text, json\n"}},
      {{"--output", "csv", "put"}, {"error: invalid value\n", "value: csv\n", "hint: choose one of text, json\n"}},
      {{"get", id_of(1), "--output", "xml"}, {"error: invalid value\n", "hint: choose one of text, json, csv\n"}},
  };
  for (const auto& [arguments, err] : cases) {
    CAPTURE(err.front());
    check_run(cluster.looseleaf(arguments), 2, "", err);
  }
}

}  // namespace looseleaf::test
