// looseleaf get and delete: order, what is missing, ids from standard input.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

TestCluster with_property_a(std::uint64_t count) {
  TestCluster cluster = initialised();
  put_all(cluster, entity_lines(count, "\"a\":{}"));
  return cluster;
}

std::string line_of(std::uint64_t number) {
  return entity(number, fmt::format("\"a\":{}", number)) + "\n";
}

TEST_CASE("entities come in the order asked, as often as asked") {
  const TestCluster cluster = with_property_a(5);
  check_run(cluster.looseleaf({"get", id_of(4), id_of(0), id_of(3), id_of(0)}), 0,
            line_of(4) + line_of(0) + line_of(3) + line_of(0));
  check_run(cluster.looseleaf({"get", "-"}, "\xEF\xBB\xBF" + id_of(4) + "\n\n  " + id_of(1) + " \r\n" + id_of(4)), 0,
            line_of(4) + line_of(1) + line_of(4));
}

TEST_CASE("more ids than fit one statement keep their order") {
  const TestCluster cluster = with_property_a(3'000);
  std::string ids, expected;
  for (std::uint64_t i = 3'000; i-- > 0;) {
    ids += id_of(i) + "\n";
    expected += line_of(i);
  }
  check_run(cluster.looseleaf({"get", "-"}, ids), 0, expected);
}

TEST_CASE("an id that is not there is reported, and the others are printed") {
  const TestCluster cluster = with_property_a(2);
  check_run(cluster.looseleaf({"get", id_of(1), id_of(99), id_of(0)}), 1, line_of(1) + line_of(0),
            {"looseleaf: warning: no such entity\n", "id: " + id_of(99) + "\n"});
  check_run(cluster.looseleaf({"get", "-"}, id_of(98) + "\n" + id_of(1) + "\n"), 1, line_of(1),
            {"warning: no such entity\n", "id: " + id_of(98) + "\n"});
}

TEST_CASE("a damaged body as long as its column is reported like any other") {
  const TestCluster cluster = with_property_a(1);
  cluster.sql(0, "UPDATE entities SET body = REPEAT('x', 16777215)");
  check_run(cluster.looseleaf({"get", id_of(0)}), 3, "", {"error: a stored body ", "  id: " + id_of(0) + "\n"});
}

TEST_CASE("get and explain name an entity whose body is no JSON object or has another entity's id, and print no body") {
  const TestCluster cluster = with_property_a(5);
  const auto store_body = [&](std::uint64_t number, const std::string& text) {
    cluster.sql(static_cast<std::uint32_t>(number % 2),
                fmt::format("UPDATE entities SET body = COMPRESS('{}') WHERE id = UNHEX('{}')", text, id_of(number)));
  };
  const std::string by_a =
      cluster.directory().write("by_a.json", R"({"table": "by_a", "properties": [{"name": "a", "type": "int"}]})");
  check_status(cluster.looseleaf({"create-index", by_a, "--backfill", "--quiet"}), 0);
  store_body(0, entity(1, "\"a\":0"));
  check_run(cluster.looseleaf({"query", "by_a", "a=0"}), 3, "",
            {"error: a stored body has another entity's id\n", "id: " + id_of(0) + "\n"});
  store_body(2, "{\"a\":");
  store_body(3, entity(3, "\"a\":1, \"a\":2"));  // JSON, but put would reject it
  check_run(cluster.looseleaf({"get", id_of(0), id_of(1), id_of(2)}), 3, line_of(1),
            {"error: a stored body has another entity's id\n", "shard: 0\n", "id: " + id_of(0) + "\n", "hint: run",
             "error: a stored body is not a JSON object\n", "id: " + id_of(2) + "\n", "found 1 entity, failed 2\n"});
  check_run(cluster.looseleaf({"explain", id_of(2)}), 3, "",
            {"error: a stored body is not a JSON object\n", "id: " + id_of(2) + "\n", "hint: run"});
  check_run(cluster.looseleaf({"explain", id_of(3)}), 1, "", {"error: ", "id: " + id_of(3) + "\n", "hint: "});
}

TEST_CASE("a bad id on standard input is reported with its line, and the rest goes on") {
  const std::string input = id_of(1) + "\n\t nonsense\n\n" + std::string(300, ' ') + id_of(0) + "\n018f2c4e\n" +
                            id_of(0) + std::string(500, 'a');
  const std::vector<std::string> complaints = {"error: not an id\n", "line: 2\n", "id: nonsense\n",
                                               "error: not an id\n", "line: 5\n", "id: 018f2c4e\n",
                                               "error: not an id\n", "line: 6\n"};
  const TestCluster cluster = with_property_a(2);
  check_run(cluster.looseleaf({"get", "-"}, input), 1, line_of(1) + line_of(0), complaints);
  check_run(cluster.looseleaf({"delete", "-"}, input), 1, id_of(1) + "\n" + id_of(0) + "\n", complaints);
  CHECK(cluster.looseleaf({"get", id_of(0)}).status == 1);
}

TEST_CASE("a long text in place of an id is shortened, because it may be private") {
  const TestCluster cluster = with_property_a(1);
  const std::string text = R"({"id":"018f2c4e","name":"Zoë Grün","salary":98765})";
  const std::vector<std::string> complaint = {R"(id: {"id":"018f2c4e","name":"Zoë Grün","sala...)"
                                              "\n"};
  for (const std::string command : {"get", "delete"}) {
    const cli::ProcessResult read = cluster.looseleaf({command, "-"}, text), given = cluster.looseleaf({command, text});
    check_run(read, 1, "", complaint);
    check_run(given, 2, "", complaint);
    CHECK_FALSE(contains(read.err + given.err, "98765"));
  }
}

TEST_CASE("a bad id among the arguments is refused before anything is done") {
  const TestCluster cluster = with_property_a(2);
  for (const std::string command : {"get", "delete"}) {
    CAPTURE(command);
    check_run(cluster.looseleaf({command, id_of(1), "nonsense"}), 2, "",
              {"looseleaf: error: not an id\n", "id: nonsense\n", "hint: give 32 hexadecimal digits"});
    check_run(cluster.looseleaf({command, "-", id_of(1)}, id_of(0)), 2, "",
              {"error: ids must come either from arguments or from standard input\n", "hint: "});
  }
  check_run(cluster.looseleaf({"get", id_of(0), id_of(1)}), 0, line_of(0) + line_of(1));
}

TEST_CASE("with --stamps get prints what names this version of an entity, however large it is") {
  const TestCluster cluster = initialised();
  for (const std::string& text :
       {entity(1, R"("n": 1.10)"), entity(1, fmt::format(R"("noise":"{}")", noise(80'000)))}) {
    REQUIRE(cluster.looseleaf({"put"}, text).status == 0);
    std::string stamp = cluster.sql(1, "SELECT updated FROM entities");
    stamp.pop_back();
    check_run(cluster.looseleaf({"get", "--stamps", id_of(1)}), 0,
              fmt::format(R"({{"id":"{}","stamp":"{}","entity":{}}})", id_of(1), stamp, text) + "\n");
  }
  check_status(cluster.looseleaf({"get", "--stamps", "--fields", "n", id_of(1)}), 2,
               {"error: --stamps and --fields exclude each other\n"});
}

TEST_CASE("a deleted entity is gone, its id was printed, and deleting it again misses it") {
  const TestCluster cluster = with_property_a(3);
  check_run(cluster.looseleaf({"delete", id_of(2), id_of(0)}), 0, id_of(2) + "\n" + id_of(0) + "\n");
  check_run(cluster.looseleaf({"get", id_of(0), id_of(1), id_of(2)}), 1, line_of(1),
            {"id: " + id_of(0) + "\n", "id: " + id_of(2) + "\n"});
  check_run(cluster.looseleaf({"delete", id_of(0), id_of(1)}), 1, id_of(1) + "\n",
            {"warning: no such entity\n", "id: " + id_of(0) + "\n", "deleted 1 entity, not found 1\n"});
}

TEST_CASE("an id that is given twice is deleted once") {
  const TestCluster cluster = with_property_a(1);
  check_run(cluster.looseleaf({"delete", "-"}, id_of(0) + "\n" + id_of(0) + "\n"), 1, id_of(0) + "\n",
            {"warning: no such entity\n", "line: 2\n"});
}

TEST_CASE("what query prints can be piped into delete") {
  const TestCluster cluster = with_property_a(10);
  create_index(cluster, R"({"table": "by_a", "properties": [{"name": "a", "type": "int"}]})");
  REQUIRE(cluster.looseleaf({"backfill"}).status == 0);
  const std::string ids = cluster.looseleaf({"query", "by_a", "a<5", "--ids"}).out;
  check_run(cluster.looseleaf({"delete", "-"}, ids), 0, ids);
  check_run(cluster.looseleaf({"query", "by_a", "--count"}), 0, "5\n");
}

TEST_CASE("export and query say where to continue only behind what was written") {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(40, "\"n\":{}"));
  for (const std::string command : {"export", "query by_n --limit 30"}) {
    CAPTURE(command);
    const std::string to = R"("$LOOSELEAF_BIN" --cluster "$0" )" + command + " > ";
    CHECK(holds_in_order(run({"sh", "-c", to + "/dev/null", cluster.file()}).err,
                         {command == "export" ? "position: " : "next: "}));
    // The first line is written at once. What is buffered does not fit into the file any more.
    const cli::ProcessResult lost = run({"sh", "-c", "trap '' XFSZ; ulimit -f 1; " + to + "\"$1\"", cluster.file(),
                                         cluster.directory().path() + "/out"});
    check_run(lost, 3, "", {"error: cannot write to standard output\n"});
    CHECK_FALSE(contains(lost.err, "position: "));
    CHECK_FALSE(contains(lost.err, "next: "));
  }
}

}  // namespace
}  // namespace looseleaf::test
