// Text that SQL could take for SQL, in every place where text comes from outside, against real servers: it is data, or
// it is refused, and what stands beside it is untouched.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using namespace std::string_literals;

const std::vector<std::string> hostile = {"'",
                                          "\"",
                                          "`",
                                          "\\",
                                          "\\'",
                                          "''",
                                          "' OR '1'='1",
                                          "'; DROP TABLE canary; -- ",
                                          "\\'; DROP TABLE canary; -- ",
                                          "`; DROP TABLE canary; -- ",
                                          "x') ON DUPLICATE KEY UPDATE entity_id = '0",
                                          "/*!50000 DROP TABLE canary */",
                                          "/*M!100000 DROP TABLE canary */",
                                          "*/ DROP TABLE canary /*",
                                          "# comment",
                                          "-- comment",
                                          "%",
                                          "_",
                                          "%s %n {} {0}",
                                          "$(touch injected) `touch injected`",
                                          "\n'; DROP TABLE canary; -- ",
                                          "\x1a",
                                          "\u00bf'",        // a lead byte of GBK before the quotation mark
                                          "\u8868\u5c5e'",  // ends in 5c, a backslash, in Shift_JIS
                                          "\u02bc\uff07",   // apostrophes that some conversions make ASCII
                                          "\u202e\ufeff\u200b",
                                          "\U0001f9fe",
                                          "0x27",
                                          "x'27'",
                                          "NULL",
                                          "@@version",
                                          "true"};

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump();
}

// An initialised cluster with a table that nobody has any business with.
TestCluster with_canary() {
  TestCluster cluster = initialised(2);
  cluster.everywhere("CREATE TABLE canary (a INT); INSERT INTO canary VALUES (1)");
  return cluster;
}

void check_untouched(const TestCluster& cluster) {
  CHECK(rows_of(cluster, "canary") == 2);
  CHECK(cluster.looseleaf({"verify", "--grace", "0"}).status == 0);
  CHECK_FALSE(std::filesystem::exists("injected"));  // where the program runs
}

// A server's complaint about syntax would mean that text has become SQL.
void check_no_syntax_error(const cli::ProcessResult& result) {
  CAPTURE(result.err);
  CHECK_FALSE(contains(result.err, "code: 1064"));
  CHECK((result.status == 0 || result.status == 1 || result.status == 2));
}

TEST_CASE("a value is found by itself and by nothing else, whatever it looks like") {
  const TestCluster cluster = with_canary();
  create_index(cluster, R"({"table": "by_s", "properties": [{"name": "s", "type": "string"}], "shard_on": "s"})");
  create_index(cluster, by_n);
  std::string input;
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    input += entity(i, fmt::format("\"n\":1,\"s\":{}", json_string(hostile[i]))) + "\n";
  }
  put_all(cluster, input);
  put_all(cluster, input);  // now the rows are there already
  CHECK(rows_of(cluster, "by_s") == hostile.size());
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    CAPTURE(hostile[i]);
    check_run(cluster.looseleaf({"query", "by_s", "s=" + hostile[i], "--ids"}), 0, id_of(i) + "\n");
    check_run(cluster.looseleaf({"query", "by_s", "s>=" + hostile[i], "s<=" + hostile[i], "--ids"}), 0,
              id_of(i) + "\n");
    const cli::ProcessResult prefix = cluster.looseleaf({"query", "by_s", "s^=" + hostile[i], "--ids"});
    CHECK(times(id_of(i), prefix.out) == 1);
    check_no_syntax_error(prefix);
    check_run(cluster.looseleaf({"query", "by_n", "n=1", "--where", "s=" + json_string(hostile[i]), "--ids"}), 0,
              id_of(i) + "\n");
  }
  check_untouched(cluster);
  CHECK(cluster.looseleaf({"delete", "-"}, id_lines(hostile.size())).status == 0);
  CHECK(cluster.looseleaf({"clean", "--full"}).status == 0);
  CHECK(rows_of(cluster, "by_s") == 0);
  check_untouched(cluster);
}

TEST_CASE("a property's name becomes a column's name, or is refused") {
  const TestCluster cluster = with_canary();
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    CAPTURE(hostile[i]);
    const std::string name = json_string(hostile[i]);
    const std::string table = fmt::format("index_{}", i);
    const std::string file = cluster.directory().write(
        "definition.json",
        fmt::format(R"({{"table": "{}", "properties": [{{"name": {}, "type": "int"}}]}})", table, name));
    const cli::ProcessResult created = cluster.looseleaf({"create-index", "--backfill", file});
    check_no_syntax_error(created);
    check_no_syntax_error(cluster.looseleaf({"create-index", "--dry-run", file}));
    if (created.status == 0) {
      ++accepted;
      put_all(cluster, entity(i, fmt::format("{}:1", name)));
      check_run(cluster.looseleaf({"query", table, "--ids"}), 0, id_of(i) + "\n");
      CHECK(cluster.looseleaf({"verify", table, "--grace", "0"}).status == 0);
      CHECK(cluster.looseleaf({"drop-index", table, "--yes"}).status == 0);
    } else {
      CHECK(holds_in_order(created.err, {"looseleaf: error: ", "line: 1\n", "hint: "}));
    }
  }
  CHECK(accepted > hostile.size() / 2);
  check_untouched(cluster);
}

TEST_CASE("names of tables, ids and page tokens are refused unless they are such") {
  const TestCluster cluster = with_canary();
  create_index(cluster, by_n);
  put_all(cluster, entity(1, "\"n\":1"));
  for (const std::string& text : hostile) {
    CAPTURE(text);
    const std::string file = cluster.directory().write(
        "definition.json", R"({"table": )" + json_string(text) + R"(, "properties": [{"name": "n", "type": "int"}]})");
    const bool a_name = text == "NULL" || text == "true";  // reserved words can be names
    CHECK(cluster.looseleaf({"create-index", "--dry-run", file}).status == (a_name ? 0 : 2));
    const std::vector<std::vector<std::string>> commands = {{"query", text},
                                                            {"drop-index", "--yes", text},
                                                            {"backfill", text},
                                                            {"verify", text},
                                                            {"get", text},
                                                            {"delete", text},
                                                            {"query", "by_n", "n=" + text},
                                                            {"query", "by_n", text + "=1"},
                                                            {"query", "by_n", "--after", text}};
    for (const auto& command : commands) {
      CAPTURE(command[0]);
      const cli::ProcessResult result = cluster.looseleaf(command);
      CHECK(result.status == 2);
      CHECK(contains(result.err, "looseleaf: error: "));
    }
    CHECK(cluster.looseleaf({"get", "-"}, text + "\n").status == 1);
  }
  check_untouched(cluster);
}

TEST_CASE("the name of a database or a user is only a name") {
  const TestCluster cluster = with_canary();
  for (const std::string& text : hostile) {
    CAPTURE(text);
    const std::string database = "db " + text;
    const std::string file = cluster.directory().write(
        "hostile.json", fmt::format(R"({{"shards": [{{"socket": "{}", "database": {}}}], "user": "root",
                                       "defaults_file": "{}"}})",
                                    cluster.socket(0), json_string(database), cluster.defaults_file()));
    const cli::ProcessResult init = run({"looseleaf", "--cluster", file, "init", "--quiet"});
    check_no_syntax_error(init);
    if (init.status == 0) {
      CHECK(run({"looseleaf", "--cluster", file, "put", "--quiet"}, entity(1)).status == 0);
      check_run(run({"looseleaf", "--cluster", file, "get", id_of(1)}), 0, entity(1) + "\n");
    }
    const std::string stranger = cluster.write_file(
        "stranger.json", fmt::format(R"("user": {}, "defaults_file": "{}")", json_string("nobody " + text),
                                     cluster.directory().write("empty.cnf", "")));
    const cli::ProcessResult denied = run({"looseleaf", "--cluster", stranger, "get", id_of(1), "--timeout", "1"});
    CHECK(denied.status == 3);
    CHECK_FALSE(contains(denied.err, "code: 1064"));
  }
  check_untouched(cluster);
}

}  // namespace
}  // namespace looseleaf::test
