// looseleaf query: conditions, order, limits, and indexes of every kind.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

struct Question {
  std::vector<std::string> arguments;  // after the index
  std::vector<std::uint64_t> expected;
  bool more = false;  // there is a next page
};

// Asks for ids and for entities, each of which must come in the order expected.
void check_answers(const TestCluster& cluster, const std::string& index, const std::vector<Question>& questions) {
  for (const Question& question : questions) {
    std::vector<std::string> arguments = joined({"query", index}, question.arguments);
    INFO(fmt::format("{}", fmt::join(arguments, " ")));
    const std::vector<std::string> err =
        question.more ? std::vector<std::string>{"next: "} : std::vector<std::string>{};
    arguments.emplace_back("--ids");
    check_run(cluster.looseleaf(arguments), 0, lines_of_ids(question.expected), err);
    arguments.back() = "--count";
    check_run(cluster.looseleaf(arguments), 0, fmt::format("{}\n", question.expected.size()), err);
  }
}

// The same store under a local and under a sharded index.
void with_local_and_sharded(const std::string& properties, const std::string& shard_on, const std::string& entities,
                            const std::vector<Question>& questions) {
  for (const bool sharded : {false, true}) {
    CAPTURE(sharded);
    const TestCluster cluster = initialised(3);
    const std::string placement = sharded ? ", \"shard_on\": \"" + shard_on + "\"" : "";
    create_index(cluster, R"({"table": "i", "properties": )" + properties + placement + "}");
    put_all(cluster, entities);
    check_answers(cluster, "i", questions);
  }
}

TEST_CASE("an index on an int answers equality and ranges in order") {
  with_local_and_sharded(R"([{"name": "n", "type": "int"}])", "n",
                         entity(1, R"("n":5)") + entity(2, R"("n":-3)") + entity(3, R"("n":5)") +
                             entity(4, R"("n":9223372036854775807)") + entity(5, R"("n":0)") + entity(6, R"("n":1.5)") +
                             entity(7, R"("n":"5")") + entity(8, R"("n":null)") + entity(9) +
                             entity(10, R"("n":18446744073709551616)"),
                         {{{}, {2, 5, 1, 3, 4}},
                          {{"--desc"}, {4, 3, 1, 5, 2}},
                          {{"n=5"}, {1, 3}},
                          {{"n=5", "--desc"}, {3, 1}},
                          {{"n=6"}, {}},
                          {{"n>0"}, {1, 3, 4}},
                          {{"n>=0"}, {5, 1, 3, 4}},
                          {{"n<5"}, {2, 5}},
                          {{"n<=5", "n>-3"}, {5, 1, 3}},
                          {{"n>=-3", "n<6", "--limit", "3"}, {2, 5, 1}, true},
                          {{"--desc", "--limit", "2"}, {4, 3}, true},
                          {{"--limit", "18446744073709551615"}, {2, 5, 1, 3, 4}},
                          {{"n=9223372036854775807"}, {4}}});
}

TEST_CASE("an index on a string answers equality and prefixes byte by byte") {
  with_local_and_sharded(R"([{"name": "s", "type": "string"}])", "s",
                         entity(1, R"("s":"apple")") + entity(2, R"("s":"Apple")") + entity(3, R"("s":"app")") +
                             entity(4, R"("s":"")") + entity(5, R"("s":"app ")") + entity(6, R"("s":"äpfel")") +
                             entity(7, R"("s":"😀=>^")") + entity(8, R"("s":7)") +
                             entity(9, R"("s":"it's \\ 100%_\"")") + entity(10, R"("s":"a\u0000b")"),
                         {{{"s=apple"}, {1}},
                          {{"s=Apple"}, {2}},
                          {{"s=app"}, {3}},
                          {{"s=app "}, {5}},
                          {{"s="}, {4}},
                          {{"s^=app"}, {3, 5, 1}},
                          {{"s^=app", "--desc"}, {1, 5, 3}},
                          {{"s^=ä"}, {6}},
                          {{"s=😀=>^"}, {7}},
                          {{"s=it's \\ 100%_\""}, {9}},
                          {{"s>=app", "s<apple"}, {3, 5}},
                          {{"s^=%"}, {}},
                          {{}, {4, 2, 10, 3, 5, 1, 9, 6, 7}}});
}

TEST_CASE("a string longer than the column is found by its whole value") {
  with_local_and_sharded(R"([{"name": "s", "type": "string", "max_length": 4}])", "s",
                         entity(1, R"("s":"abcdef")") + entity(2, R"("s":"abcdeg")") + entity(3, R"("s":"abcd")"),
                         {{{"s=abcdef"}, {1}},
                          {{"s=abcd"}, {3}},
                          {{"s^=abcde"}, {1, 2}},
                          {{"s>abcdef"}, {2}},
                          {{"s>abcd"}, {1, 2}},
                          {{"s=abc"}, {}},
                          {{"s^=a"}, {1, 2, 3}}});
}

TEST_CASE("an index on a uuid takes ids in any form") {
  with_local_and_sharded(R"([{"name": "u", "type": "uuid"}])", "u",
                         entity(1, "\"u\":\"" + id_of(7) + "\"") +
                             entity(2, R"("u":"018F2C4E-1A2B-7C3D-8E4F-000000000007")") + entity(3, R"("u":"no uuid")"),
                         {{{"u=" + id_of(7)}, {1, 2}}, {{"u=018F2C4E-1A2B-7C3D-8E4F-000000000008"}, {}}});
}

TEST_CASE("doubles and bools are indexed as numbers and truth values") {
  const TestCluster cluster = initialised();
  create_index(cluster,
               R"({"table": "i", "properties": [{"name": "b", "type": "bool"}, {"name": "d", "type": "double"}]})");
  put_all(cluster, entity(1, R"("b":true,"d":1)") + entity(2, R"("b":true,"d":-0.0)") +
                       entity(3, R"("b":false,"d":2e3)") + entity(4, R"("b":true,"d":0.5)") +
                       entity(5, R"("b":1,"d":1)") + entity(6, R"("b":true)"));
  check_answers(cluster, "i",
                {{{"b=true"}, {2, 4, 1}},
                 {{"b=false"}, {3}},
                 {{"b=true", "d=0"}, {2}},
                 {{"b=true", "d>0", "d<=1e0"}, {4, 1}},
                 {{"b=true", "d>=0.5", "--desc"}, {1, 4}}});
}

TEST_CASE("a compound index takes equality on the first properties, then a range") {
  with_local_and_sharded(R"([{"name": "feed.id", "type": "int"}, {"name": "at", "type": "int"}])", "feed.id",
                         entity(1, R"("feed":{"id":1},"at":30)") + entity(2, R"("feed":{"id":1},"at":10)") +
                             entity(3, R"("feed":{"id":2},"at":20)") + entity(4, R"("feed":{"id":1},"at":20)") +
                             entity(5, R"("feed":{"id":1})") + entity(6, R"("feed":1,"at":1)") +
                             entity(7, R"("feed.id":1,"at":1)"),
                         {{{"feed.id=1"}, {2, 4, 1}},
                          {{"feed.id=1", "--desc", "--limit", "1"}, {1}, true},
                          {{"feed.id=1", "--desc", "--limit", "3"}, {1, 4, 2}},
                          {{"feed.id=1", "at>10"}, {4, 1}},
                          {{"at=20", "feed.id=1"}, {4}},
                          {{"feed.id>1"}, {3}},
                          {{}, {2, 4, 1, 3}}});
}

TEST_CASE("an array is found by each of its values, once a query") {
  with_local_and_sharded(R"([{"name": "tags", "type": "string", "each": true}])", "tags",
                         entity(1, R"("tags":["red","blue","red"])") + entity(2, R"("tags":["blue"])") +
                             entity(3, R"("tags":[])") + entity(4, R"("tags":["red",7,null])"),
                         {{{"tags=red"}, {1, 4}}, {{"tags=blue"}, {1, 2}}, {{}, {1, 2, 4}}, {{"tags^=b"}, {1, 2}}});
}

TEST_CASE("an entity with many values is read once, however many of its rows match") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  const std::string values = fmt::format("\"tags\":[{}]", fmt::join(std::views::iota(0, 3000), ","));
  put_all(cluster, entity(1, values) + entity(2, "\"tags\":[1000]") + entity(3, values));
  for (const std::vector<std::string>& filter : {std::vector<std::string>{}, {"--where", "other=1"}}) {
    const cli::ProcessResult result = cluster.looseleaf(joined({"query", "i", "tags>=0", "--explain"}, filter));
    CHECK(contains(result.out, "index rows read: 6001\n"));
    CHECK(contains(result.out, "entities read: 3\n"));
    CHECK(contains(result.out, "repeated rows: 5998\n"));
    CHECK(contains(result.out, filter.empty() ? "\nentities: 3\n" : "\nfiltered: 3\n"));
  }
  check_run(cluster.looseleaf({"query", "i", "--ids", "--desc"}), 0,
            id_of(3) + "\n" + id_of(1) + "\n" + id_of(2) + "\n");
}

TEST_CASE("rows of one entity that stand next to each other cost no statement each" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "at", "type": "int"},
                                                         {"name": "tags", "type": "int", "each": true}]})");
  put_all(cluster, entity_lines(500, R"("at":{},"tags":[1,2,3])"));
  // 1,500 rows: 100, 200, 400 and 800 at a time.
  check_run(cluster.start({"query", "i", "at>=0", "--ids"}, {}, "query.read_entities:before#5=kill").wait(), 0,
            id_lines(500));
}

TEST_CASE("an entity with many outdated rows is read once a batch") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  put_all(cluster, entity(1, "\"tags\":[900]") + entity(2, "\"tags\":[901]"));
  std::string rows;
  for (int tag = 0; tag < 600; ++tag) {
    rows += fmt::format("{}({}, UNHEX('{}')), ({}, UNHEX('{}'))", tag == 0 ? "" : ", ", tag, id_of(1), tag, id_of(2));
  }
  cluster.sql(0, "INSERT INTO i VALUES " + rows);
  // 1,202 rows: 100, 200, 400 and 800 at a time.
  const cli::ProcessResult result = cluster.looseleaf({"query", "i", "--explain"});
  CHECK_MESSAGE(contains(result.out, "\nentities read: 8\noutdated rows: 1200\n"), result.out);
  check_run(cluster.looseleaf({"query", "i", "--ids"}), 0, id_of(1) + "\n" + id_of(2) + "\n");
}

TEST_CASE("rows too many of an entity, next to each other and on two shards, hide nothing that follows") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  put_all(cluster, entity(1, "\"tags\":[9]") + entity(2, "\"tags\":[3]"));
  const std::string large = fmt::format(R"("fill":"{}")", noise(80'000));
  for (const std::string& body : {std::string("\"tags\":[9]"), "\"tags\":[9]," + large}) {
    put_all(cluster, entity(1, body));
    for (const std::uint64_t of : {1, 7}) {  // there is no entity 7
      cluster.everywhere(fmt::format("INSERT IGNORE INTO i VALUES (1, UNHEX('{0}')), (2, UNHEX('{0}'))", id_of(of)));
      check_run(cluster.looseleaf({"query", "i", "--ids"}), 0, id_of(2) + "\n" + id_of(1) + "\n");
      check_run(cluster.looseleaf({"query", "i", "--ids", "--desc"}), 0, id_of(1) + "\n" + id_of(2) + "\n");
      cluster.everywhere("DELETE FROM i WHERE tags < 3");
    }
  }
}

TEST_CASE("a query that passes over repeated rows for long ends at a signal" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  put_all(cluster, entity(1, fmt::format("\"tags\":[{}]", fmt::join(std::views::iota(0, 5000), ","))));
  cli::Process query = cluster.stop_at("query.read_index_rows:before#4=kill,query.read_index_rows:before#3",
                                       {"query", "i", "tags>=0", "--ids"});
  query.signal(SIGTERM);
  check_run(resume(query), 128 + SIGTERM, id_of(1) + "\n");
}

TEST_CASE("a query that finds nothing for long ends at a signal" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "a", "type": "int"}]})");
  put_all(cluster, entity_lines(2000, "\"a\":1"));
  cli::Process query = cluster.stop_at("query.read_entities:before#3=kill,query.read_entities:before#1",
                                       {"query", "i", "a=1", "--where", "b=1"});
  query.signal(SIGTERM);
  check_run(resume(query), 128 + SIGTERM, "");
}

TEST_CASE("members of the objects in an array are found") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "maintainers.email", "type": "string", "each": true},
                            {"name": "n", "type": "int"}]})");
  put_all(cluster, entity(1, R"("n":2,"maintainers":[{"email":"a@x"},{"email":"b@x"}])") +
                       entity(2, R"("n":1,"maintainers":[{"email":"a@x"},{"name":"b@x"}])"));
  check_answers(
      cluster, "i",
      {{{"maintainers.email=a@x"}, {2, 1}}, {{"maintainers.email=b@x"}, {1}}, {{"maintainers.email=a@x", "n>1"}, {1}}});
}

TEST_CASE("an index with where holds the matching entities only") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}],
                            "where": {"kind": "feed", "live": true}})");
  put_all(cluster, entity(1, R"("n":1,"kind":"feed","live":true)") + entity(2, R"("n":1,"kind":"feed","live":1)") +
                       entity(3, R"("n":1,"kind":"user","live":true)") + entity(4, R"("n":1)"));
  check_answers(cluster, "i", {{{"n=1"}, {1}}});
  put_all(cluster, entity(1, R"("n":1,"kind":"feed","live":false)") + entity(4, R"("n":1,"kind":"feed","live":true)"));
  check_answers(cluster, "i", {{{"n=1"}, {4}}});
}

TEST_CASE("an entity is found by its new value and no longer by the old one, and not at all once deleted") {
  for (const std::string more : {"", R"(, "shard_on": "n")"}) {
    CAPTURE(more);
    const TestCluster cluster = initialised();
    create_index(cluster, fmt::format(R"({{"table": "i", "properties": [{{"name": "n", "type": "int"}}]{}}})", more));
    put_all(cluster, entity(1, R"("n":1)") + entity(1, R"("n":2)"));
    const auto check_rows = [&] { check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"}); };
    check_answers(cluster, "i", {{{"n=1"}, {}}, {{"n=2"}, {1}}, {{}, {1}}});
    check_rows();
    CHECK(cluster.looseleaf({"delete", id_of(1)}).status == 0);
    check_answers(cluster, "i", {{{"n=2"}, {}}, {{}, {}}});
    check_rows();
  }
}

TEST_CASE("rows that no entity calls for are never seen") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}]})");
  put_all(cluster, entity(1, R"("n":1)"));
  cluster.sql(0, fmt::format("INSERT INTO i VALUES (5, UNHEX('{}')), (1, UNHEX('{}'))", id_of(1), id_of(9)));
  check_answers(cluster, "i", {{{"n=5"}, {}}, {{"n=1"}, {1}}, {{}, {1}}});
}

TEST_CASE("an entity is given once, although its row stands on another shard too") {
  const TestCluster cluster = initialised(2);
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}]})");
  put_all(cluster, entity(1, R"("n":1)") + entity(2, R"("n":2)") + entity(3, R"("n":3)"));
  cluster.everywhere(fmt::format("INSERT IGNORE INTO i VALUES (1, UNHEX('{}')), (3, UNHEX('{}'))", id_of(1), id_of(3)));
  check_answers(cluster, "i", {{{}, {1, 2, 3}}, {{"--desc"}, {3, 2, 1}}, {{"--limit", "2"}, {1, 2}, true}});
}

TEST_CASE("entities are printed as they were put, one a line") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}]})");
  const std::string odd = entity(1, R"( "n" : 1, "big":18446744073709551616, "e":"é😀")");
  put_all(cluster, odd + "\n{\n \"id\": \"" + id_of(2) + "\",\n \"n\": 2\n}\n");
  check_run(cluster.looseleaf({"query", "i"}), 0, odd + "\n{\"id\":\"" + id_of(2) + "\",\"n\":2}\n");
  check_run(cluster.looseleaf({"query", "i", "n=1", "--output", "json"}), 0,
            odd + "\n{\"schema_version\":1,\"entities\":1,\"next\":null,\"unavailable\":[],\"unreadable\":0}\n");
  check_run(cluster.looseleaf({"query", "i", "--count", "--output", "json"}), 0,
            "{\"schema_version\":1,\"count\":2,\"next\":null,\"unavailable\":[],\"unreadable\":0}\n");
}

TEST_CASE("a name given several times means any of the values") {
  with_local_and_sharded(R"([{"name": "n", "type": "int"}])", "n",
                         entity(1, R"("n":1)") + entity(2, R"("n":2)") + entity(3, R"("n":3)"),
                         {{{"n=3", "n=1"}, {1, 3}}, {{"n=3", "n=1", "--desc"}, {3, 1}}, {{"n=1", "n=1"}, {1}}});
}

TEST_CASE("a long answer is complete and in order") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}]})");
  put_all(cluster, entity_lines(5'000, [](std::uint64_t i) { return fmt::format("\"n\":{}", 5'000 - i); }));
  std::vector<std::string> expected = lines_of(id_lines(5'000));
  std::reverse(expected.begin(), expected.end());
  check_run(cluster.looseleaf({"query", "i", "--ids"}), 0, fmt::format("{}\n", fmt::join(expected, "\n")));
}

TEST_CASE("indexes that could use the conditions are named") {
  const TestCluster cluster = initialised();
  create_index(cluster,
               R"({"table": "by_a", "properties": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]})");
  create_index(cluster,
               R"({"table": "by_b", "properties": [{"name": "b", "type": "int"}, {"name": "a", "type": "int"}]})");
  check_run(
      cluster.looseleaf({"query", "by_a", "b=1"}), 2, "",
      {"error: index cannot use this condition\n", "property: b\n", "can use them: by_b\n", "hint: give a with ="});
  create_index(cluster, R"({"table": "part", "properties": [{"name": "c", "type": "int"}], "where": {"b": 1}})");
  CHECK(!contains(cluster.looseleaf({"query", "by_a", "c=1"}).err, "part"));  // it has not all that match
}

TEST_CASE("a property whose name contains an operator is named by a JSON string") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "a=b", "type": "int"},
                            {"name": "c\u0085", "type": "string"}]})");
  put_all(cluster, entity(1, R"("a=b":1,"c\u0085":"x","d<e":5)") + entity(2, R"("a=b":1,"c\u0085":"y","d<e":6)") +
                       entity(3, R"("a=b":2,"c\u0085":"x","d<e":7)"));
  check_answers(cluster, "i",
                {{{R"("a=b"=1)"}, {1, 2}},
                 {{R"("a=b">1)"}, {3}},
                 {{R"("a=b"=1)", R"("c\u0085"=y)"}, {2}},
                 {{"--where", R"("d<e"=6)"}, {2}}});
}

TEST_CASE("a query that finds nothing says what belongs to a value and was probably not meant") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "s", "type": "string"}]})");
  put_all(cluster, entity(1, R"("s":"paid")") + "\n" + entity(2, R"("s":"'due'")"));
  const std::string note = "looseleaf: nothing was found: in {} the quotes belong to the value\n";
  for (const std::string condition : {R"(s="paid")", "s='paid'"}) {
    check_run(cluster.looseleaf({"query", "i", condition, "--count"}), 0, "0\n",
              {fmt::format(fmt::runtime(note), condition)});
  }
  check_run(cluster.looseleaf({"query", "i", "s= paid", "--count"}), 0, "0\n",
            {"nothing was found: in \"s= paid\" the space belongs to the value\n"});
  check_run(cluster.looseleaf({"query", "i", "s=@file", "--count"}), 0, "0\n",
            {"nothing was found: s=@file names a file of values only with --order-by\n"});
  check_run(cluster.looseleaf({"query", "i", "s=pai%", "--count"}), 0, "0\n",
            {"nothing was found: in s=pai% the % stands for itself; `name^=text` finds what begins with a text\n"});
  check_run(cluster.looseleaf({"query", "i", "s>paid", "s<due", "--count"}), 0, "0\n",
            {"warning: no value lies between the two bounds of a property\n  property: s\n"});
  check_run(cluster.looseleaf({"query", "i", "s=paid and n>1", "--count"}), 0, "0\n",
            {"warning: one condition looks like two", "hint: give each of them as an argument of its own\n"});
  check_run(cluster.looseleaf({"query", "i", "s =paid"}), 2, "",
            {"error: index has no such property\n", "hint: leave out the space before the operator"});
  check_run(cluster.looseleaf({"query", "i", "s='due'", "--count"}), 0, "1\n");
  check_run(cluster.looseleaf({"query", "i", "--where", R"(s="paid")", "--count"}), 0, "1\n");
  check_run(cluster.looseleaf({"query", "i", "s=paid", "--where", R"(s="due")", "--count"}), 0, "0\n");
}

TEST_CASE("a number that is nearer to 0 than any double is found as 0, as it is stored") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "d", "type": "double"}]})");
  put_all(cluster, entity(1, R"("d":1e-400)") + entity(2, R"("d":0)") + entity(3, R"("d":5e-324)"));
  check_answers(cluster, "i", {{{"d=1e-400"}, {1, 2}}, {{"d>1e-400"}, {3}}, {{"d<=-1e-400"}, {1, 2}}});
}

// One damaged body failed the whole query, whatever it matched.
TEST_CASE("with --skip-unreadable a query leaves out what it cannot read, names it and ends with status 1") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "n", "type": "int"}]})");
  put_all(cluster, entity_lines(40, "\"n\":{}"));
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'xxxxxxxx' WHERE id = UNHEX('{}')", id_of(2)));
  cluster.sql(1, fmt::format("UPDATE entities SET body = COMPRESS('[]') WHERE id = UNHEX('{}')", id_of(3)));
  check_run(cluster.looseleaf({"query", "i", "n>=2", "n<5"}), 3, "",
            {"error: a stored body cannot be decompressed\n", "id: " + id_of(2) + "\n", "hint: run `looseleaf verify` ",
             ", or give `--skip-unreadable` to leave such entities out\n"});
  check_run(cluster.looseleaf({"query", "i", "n>=3", "n<5"}), 3, "",
            {"error: a stored body is not a JSON object\n", "id: " + id_of(3) + "\n", "`--skip-unreadable`"});
  check_run(cluster.looseleaf({"query", "i", "n>=1", "n<5", "--ids", "--skip-unreadable"}), 1,
            id_of(1) + "\n" + id_of(4) + "\n",
            {"warning: a stored body cannot be decompressed\n", "id: " + id_of(2) + "\n",
             "warning: a stored body is not a JSON object\n", "id: " + id_of(3) + "\n",
             "warning: left out 2 entities whose bodies cannot be read\n", "hint: delete each of them"});
  const cli::ProcessResult json =
      cluster.looseleaf({"query", "i", "n>=1", "n<5", "--count", "--skip-unreadable", "--output", "json"});
  CHECK(json.status == 1);
  CHECK(json.out == "{\"schema_version\":1,\"count\":2,\"next\":null,\"unavailable\":[],\"unreadable\":2}\n");
  // A page is full before it meets what it cannot read: that is left to the next page.
  const cli::ProcessResult page = cluster.looseleaf({"query", "i", "--ids", "--limit", "2", "--skip-unreadable"});
  check_run(page, 0, id_of(0) + "\n" + id_of(1) + "\n", {"next: "});
  const std::string next = lines_of(page.err).back().substr(6);
  check_status(cluster.looseleaf({"query", "i", "--ids", "--limit", "2", "--skip-unreadable", "--after", next}), 1,
               {"left out 2 entities"});
  check_run(cluster.looseleaf({"query", "i", "n>=30", "--count", "--skip-unreadable"}), 0, "10\n");
  cluster.everywhere("UPDATE entities SET body = 'xxxxxxxx'");
  const cli::ProcessResult all = cluster.looseleaf({"query", "i", "--skip-unreadable"});
  check_run(all, 1, "", {"entities: 20 more\n", "hint: give --verbose", "left out 40 entities"});
  CHECK(times("  id: ", all.err) == 20);
  CHECK(times("  id: ", cluster.looseleaf({"query", "i", "--skip-unreadable", "--verbose"}).err) == 40);
}

TEST_CASE("conditions that the index cannot use are refused with a hint") {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "i", "properties": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"},
                            {"name": "u", "type": "uuid"}]})");
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"i", "c=1"},
       {"error: index has no such property\n", "property: c\n", "hint: name one of its properties: a, b, u\n"}},
      {{"i", "B>1"}, {"error: index has no such property\n", "property: B\n", "hint: did you mean `b`?\n"}},
      {{"i", "b=x"},
       {"error: index cannot use this condition\n", "property: b\n",
        "hint: give a with = first, because the index begins with a: a=VALUE b=VALUE\n"}},
      {{"i", "b>x"},
       {"error: index cannot use this condition\n", "property: b\n",
        "hint: give a with = first, because the index begins with a: a=VALUE 'b>VALUE'\n"}},
      {{"i", "u>=1"},
       {"hint: give a and b with = first, because the index begins with a, b: a=VALUE b=VALUE 'u>=VALUE'\n"}},
      {{"i", "a>1", "b=x"}, {"error: index cannot use this condition\n", "hint: "}},
      {{"i", "a=1", "u>" + id_of(1)},
       {"error: index cannot use this condition\n", "hint: give b with = first, ", ": a=VALUE b=VALUE 'u>VALUE'\n"}},
      {{"i", "a=1", "a>2"}, {"hint: give a either with = or with a range\n"}},
      {{"i", "a!=1"},
       {"error: index cannot use this condition\n", "property: a\n",
        "hint: an index finds values with =, a range or ^=; filter with --where 'a!=1'\n"}},
      {{"i", "a exists"}, {"error: index cannot use this condition\n", "filter with --where 'a exists'\n"}},
      {{"i", "a[]=1"}, {"error: index has no such property\n", "property: a[]\n", "hint: leave [] out: "}},
      {{"i", "a==1"}, {"error: conditions do not support ==\n", "hint: write 'a=1'; "}},
      {{"i", "a>1", "a>2"}, {"error: conditions on one property contradict or repeat each other\n", "hint: "}},
      {{"i", "a^=1"}, {"error: only a string can have a prefix\n", "property: a\n"}},
      {{"i", "a=x"}, {"error: value does not have its property's type\n", "value: x\n", "hint: "}},
      {{"i", "a=1.0"}, {"error: value does not have its property's type\n", "value: 1.0\n", "hint: "}},
      {{"i", "a=1", "b=\xff"}, {"error: value does not have its property's type\n", "hint: "}},
      {{"i", "a=1", "b=x", "u=7"}, {"error: value does not have its property's type\n", "value: 7\n", "hint: "}},
      {{"i", "a"}, {"error: invalid condition\n", "condition: a\n", "hint: "}},
      {{"i", "=1"}, {"error: invalid condition\n", "hint: "}},
      {{"j"}, {"error: no such index\n", "index: j\n", "hint: "}},
      {{"I"}, {"error: no such index\n", "index: I\n", "hint: did you mean `i`?\n"}},
  };
  for (const auto& [arguments, err] : cases) {
    INFO(fmt::format("{}", fmt::join(arguments, " ")));
    check_run(cluster.looseleaf(joined({"query"}, arguments)), 2, "", err);
  }
}

}  // namespace
}  // namespace looseleaf::test
