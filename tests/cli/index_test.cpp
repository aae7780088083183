// looseleaf create-index, drop-index and backfill.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

// The definitions that the project's examples use.
std::string example(const std::string& name) {
  return LOOSELEAF_SCHEMAS "/friendfeed/" + name;
}

TestCluster with_entities(std::uint64_t count, std::uint32_t shards = 2) {
  TestCluster cluster = initialised(shards);
  put_all(cluster, entity_lines(count, "\"n\":{}"));
  return cluster;
}

TEST_CASE("--dry-run prints the SQL of the examples and creates nothing") {
  const TestCluster cluster = initialised();
  const cli::ProcessResult user_id = cluster.looseleaf({"create-index", "--dry-run", example("index_user_id.json")});
  check_status(user_id, 0);
  const std::string create =
      "CREATE TABLE index_user_id (\n"
      "  user_id BINARY(16) NOT NULL,\n"
      "  entity_id BINARY(16) NOT NULL UNIQUE,\n"
      "  PRIMARY KEY (user_id, entity_id)\n"
      ") ENGINE=InnoDB COMMENT='looseleaf generation ";
  CHECK(holds_in_order(user_id.out,
                       {"-- shard 0\n", create, "-- shard 1\n", create,
                        "-- shards 0, 1: index_user_id, will be registered as `building`, then as `ready`\n"}));
  const std::string collation = looseleaf_flavour() == "mysql" ? "utf8mb4_0900_bin" : "utf8mb4_nopad_bin";
  const cli::ProcessResult link = cluster.looseleaf({"create-index", "--dry-run", example("index_link.json")});
  check_status(link, 0);
  CHECK(holds_in_order(
      link.out, {"-- shard 0\n", "CREATE TABLE index_link (\n", "  link VARCHAR(735)", collation, " NOT NULL,\n",
                 "  entity_id BINARY(16) NOT NULL UNIQUE,\n", "  PRIMARY KEY (link, entity_id)\n", ") ENGINE=InnoDB"}));
  CHECK(cluster.sql(0, "SHOW TABLES LIKE 'index%'").empty());
  check_run(cluster.looseleaf({"query", "index_link"}), 2, "", {"error: no such index\n"});
}

// Random numbers and the process differ from run to run.
std::string without_random_parts(std::string sql) {
  sql = std::regex_replace(sql, std::regex(" [0-9]{10,20}\\b"), " N");
  sql = std::regex_replace(sql, std::regex("(generation |looseleaf[.]own[.])[0-9a-f]{16}"), "$1H");
  return std::regex_replace(sql, std::regex("x'[0-9a-f]*2070696420[0-9a-f]*'"), "'HOST pid P'");
}

// The statements of a plan, each on one line, without their semicolons.
std::vector<std::string> statements_of(const std::string& plan) {
  std::vector<std::string> statements;
  std::string statement;
  for (const std::string& line : lines_of(plan)) {
    if (line.starts_with("-- ")) {
      continue;
    }
    statement += (statement.empty() ? "" : " ") + line;
    if (statement.ends_with(";")) {
      statement.pop_back();
      statements.push_back(without_random_parts(std::exchange(statement, {})));
    }
  }
  return statements;
}

// The statements of the program that the server's general log has: all that change or lock something.
std::vector<std::string> logged_statements(const TestCluster& cluster) {
  const std::string log =
      cluster.server_sql(0,
                         "SET GLOBAL general_log = 0; SELECT REPLACE(CONVERT(argument USING utf8mb4), '\\n', ' ') FROM "
                         "mysql.general_log WHERE command_type IN ('Query', 'Execute')");
  const std::regex changes(
      "(START|COMMIT|ROLLBACK|INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP|RENAME|USE|SET SESSION "
      "(?!TRANSACTION)|KILL)\\b.*|"
      ".*(FOR UPDATE|FOR SHARE|SHARE MODE|(GET|RELEASE)_LOCK)\\b.*");
  std::vector<std::string> statements;
  for (std::string line : lines_of(log)) {
    // Several statements may travel in one packet. MariaDB logs the packet, MySQL each statement with its semicolon.
    if (const std::string begin = "START TRANSACTION; "; line.starts_with(begin)) {
      statements.emplace_back("START TRANSACTION");
      line.erase(0, begin.size());
    }
    for (const std::string end : {"; SELECT ROW_COUNT()", ";"}) {  // the former asks for the count of such a statement
      if (line.ends_with(end)) {
        line.erase(line.size() - end.size());
      }
    }
    if (std::regex_match(line, changes) && !line.starts_with("SET GLOBAL")) {
      statements.push_back(without_random_parts(line));
    }
  }
  return statements;
}

TEST_CASE("what --dry-run prints is what the servers get, statement by statement") {
  // One log, which has the order of the shards, too.
  const TestCluster cluster({.shards = 2, .servers = 1, .extra_args = {"--log-output=TABLE"}});
  REQUIRE(cluster.looseleaf({"init"}).status == 0);
  const std::string file = cluster.directory().write("all.json", R"({"table": "every_type", "properties": [
      {"name": "u", "type": "uuid"}, {"name": "s", "type": "string", "max_length": 20}, {"name": "i", "type": "int"},
      {"name": "a.d", "type": "double"}, {"name": "order", "type": "bool"}], "where": {"text": "it's\\"}})");
  const auto compare = [&] {
    const cli::ProcessResult plan = cluster.looseleaf({"create-index", "--dry-run", file});
    REQUIRE(plan.status == 0);
    cluster.server_sql(0, "SET GLOBAL general_log = 0; TRUNCATE mysql.general_log; SET GLOBAL general_log = 1");
    REQUIRE(cluster.looseleaf({"create-index", file}).status == 0);
    const std::vector<std::string> planned = statements_of(plan.out);
    CHECK(fmt::format("{}", fmt::join(planned, "\n")) ==
          fmt::format("{}", fmt::join(logged_statements(cluster), "\n")));
    return planned.size();
  };
  CHECK(compare() > 20);  // on an empty store it becomes ready
  CHECK(compare() == 0);  // it is active
  REQUIRE(cluster.looseleaf({"drop-index", "every_type", "--yes"}).status == 0);
  put_all(cluster, entity_lines(4, "\"i\":{}"));
  if (base::failpoints_enabled) {
    cluster.die_at("create.publish:after@0", {"create-index", file});
  }
  CHECK(compare() > 10);  // it is building on every shard, after a run that died between the two
}

TEST_CASE("--dry-run changes nothing, neither rows nor locks nor tables") {
  const TestCluster cluster = with_entities(4);
  const std::string state =
      "SELECT * FROM looseleaf_shard; SELECT * FROM looseleaf_index; SELECT * FROM "
      "looseleaf_progress; SHOW TABLES";
  const std::string before = cluster.everywhere(state);
  const std::string file = cluster.directory().write("by_n.json", by_n);
  CHECK(cluster.looseleaf({"create-index", "--dry-run", file}).status == 0);
  CHECK(cluster.everywhere(state) == before);
}

TEST_CASE("on an empty store an index is ready at once, and creating it again changes nothing, as --dry-run says") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().write("by_n.json", by_n);
  check_run(cluster.looseleaf({"create-index", file}), 0, "", {"created by_n: ready\n"});
  check_run(cluster.looseleaf({"create-index", "--dry-run", file}), 0, "-- shards 0, 1: by_n, active, state ready\n");
  check_run(cluster.looseleaf({"create-index", file}), 0, "", {"by_n is already active: ready\n"});
  const std::string same = cluster.directory().write(
      "same.json", R"({"immutable": false, "properties": [{"type": "int", "name": "n"}], "table": "by_n"})");
  check_run(cluster.looseleaf({"create-index", same, "--quiet"}), 0, "");
}

TEST_CASE("another definition under the same name is refused and shows what differs") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"table": "by_n", "properties": [{"name": "n", "type": "double"}]})",
       "/properties/0/type: active \"int\", given \"double\""},
      {R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "immutable": true})",
       "/immutable: active nothing, given true"},
      {R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}, {"name": "s", "type": "bool"}]})",
       "/properties/-: active nothing, given {\"name\":\"s\",\"type\":\"bool\"}"},
      {by_n_sharded, "/shard_on: active nothing, given \"n\""},
      // All that differs, not the first of it alone.
      {R"({"table": "by_n", "properties": [{"name": "n", "type": "double"}], "immutable": true})",
       "/properties/0/type: active \"int\", given \"double\"\n  difference: /immutable: active nothing, given "
       "true"},
  };
  for (const auto& [other, difference] : cases) {
    CAPTURE(other);
    const std::string file = cluster.directory().write("other.json", other);
    const std::vector<std::string> err = {"error: index exists with another definition\n", "index: by_n\n",
                                          "difference: " + difference + "\n", "hint: "};
    check_run(cluster.looseleaf({"create-index", file}), 2, "", err);
    check_run(cluster.looseleaf({"create-index", "--dry-run", file}), 2, "", err);
  }
}

TEST_CASE("a name that differs only in case from another index is refused") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  const std::string file =
      cluster.directory().write("case.json", R"({"table": "BY_N", "properties": [{"name": "n", "type": "int"}]})");
  check_run(cluster.looseleaf({"create-index", file}), 2, "", {"error: ", "case", "index: BY_N\n", "hint: "});
}

TEST_CASE("a table that is there already is not adopted") {
  const TestCluster cluster = initialised();
  cluster.sql(1,
              "CREATE TABLE by_n (n BIGINT NOT NULL, entity_id BINARY(16) NOT NULL, PRIMARY KEY (n, entity_id), "
              "KEY (entity_id))");
  const std::string file = cluster.directory().write("by_n.json", by_n);
  check_run(
      cluster.looseleaf({"create-index", file}), 2, "",
      {"error: a table with this name exists", "shard: 1\n", "; `looseleaf drop-index by_n` removes what was begun\n"});
  check_status(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 0, {"dropped by_n\n"});
  CHECK(contains(cluster.sql(1, "SHOW TABLES"), "by_n"));
  CHECK(cluster.everywhere("SELECT COUNT(*) FROM looseleaf_progress") == "0\n0\n");
  check_status(cluster.looseleaf({"create-index", file}), 2, {"error: a table with this name exists"});
  cluster.sql(1, "DROP TABLE by_n");
  check_run(cluster.looseleaf({"create-index", file}), 0, "", {"created by_n: ready\n"});
}

TEST_CASE("an index on a store with entities is building until it is filled, and cannot be queried") {
  const TestCluster cluster = with_entities(20);
  const std::string file = cluster.directory().write("by_n.json", by_n);
  check_run(cluster.looseleaf({"create-index", file}), 0, "",
            {"created by_n: building; run `looseleaf backfill by_n`\n"});
  check_run(cluster.looseleaf({"query", "by_n", "n=3"}), 2, "",
            {"error: index is still building\n", "index: by_n\n", "hint: "});
  put_all(cluster, entity(100, "\"n\":100"));
  CHECK(rows_of(cluster, "by_n") == 1);
  check_run(cluster.looseleaf({"backfill", "by_n"}), 0, "", {"by_n: ready\n"});
  CHECK(rows_of(cluster, "by_n") == 21);
  check_run(cluster.looseleaf({"query", "by_n", "n=3", "--ids"}), 0, id_of(3) + "\n");
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("create-index --backfill fills several indexes at once") {
  const TestCluster cluster = with_entities(20);
  const std::string first = cluster.directory().write("by_n.json", by_n);
  const std::string second = cluster.directory().write(
      "by_m.json", R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  check_run(cluster.looseleaf({"create-index", "--backfill", first, second}), 0, "",
            {"created by_n: building\n", "created by_m: building\n", ": ready\n", ": ready\n"});
  check_run(cluster.looseleaf({"query", "by_n", "--count"}), 0, "20\n");
  check_run(cluster.looseleaf({"query", "by_m", "--count"}), 0, "20\n");
  check_run(cluster.looseleaf({"create-index", "--backfill", first, second}), 0, "",
            {"by_n is already active: ready\n", "by_m is already active: ready\n"});
}

TEST_CASE("backfill fills what is named, else everything that is building, and does not mind what is ready") {
  const TestCluster cluster = with_entities(10);
  for (const std::string name : {"one", "two", "three"}) {
    create_index(cluster, fmt::format(R"({{"table": "{}", "properties": [{{"name": "n", "type": "int"}}]}})", name));
  }
  const cli::ProcessResult named = cluster.looseleaf({"backfill", "two"});
  check_run(named, 0, "", {"two: ready\n"});
  CHECK(named.err.find("one: ready") == std::string::npos);
  CHECK(cluster.looseleaf({"query", "one"}).status == 2);
  check_run(cluster.looseleaf({"backfill"}), 0, "", {"one: ready\n"});
  check_run(cluster.looseleaf({"query", "three", "--count"}), 0, "10\n");
  CHECK(cluster.looseleaf({"backfill"}).status == 0);
  check_run(cluster.looseleaf({"backfill", "two"}), 0, "", {"two: ready, there was nothing to fill\n"});
  check_run(cluster.looseleaf({"backfill", "threee"}), 2, "",
            {"error: no such index\n", "index: threee\n", "hint: did you mean `three`?\n"});
}

TEST_CASE("drop-index without a terminal wants --yes") {
  const TestCluster cluster = with_entities(3);
  create_index(cluster, by_n);
  for (const char* table : {"by_n", "no_such_index"}) {  // before anything is asked of a server
    check_run(cluster.looseleaf({"drop-index", table}), 2, "",
              {"error: refusing to drop without `--yes`: no terminal to ask on\n", "hint: give --yes\n"});
  }
  CHECK(cluster.looseleaf({"backfill"}).status == 0);
  check_run(cluster.looseleaf({"drop-index", "by_n", "by_n", "--yes"}), 0, "", {"dropped by_n\n"});
  CHECK(cluster.everywhere("SHOW TABLES LIKE 'by_n%'").empty());
  CHECK(rows_of(cluster, "looseleaf_index") == 0);
  check_run(cluster.looseleaf({"query", "by_n"}), 2, "", {"error: no such index\n"});
  check_run(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 2, "", {"error: no such index\n", "index: by_n\n"});
}

TEST_CASE("an unknown index is not dropped, nor any that is named beside it, and the nearest name is offered") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  check_run(cluster.looseleaf({"drop-index", "by_m", "--yes"}), 2, "",
            {"error: no such index\n", "index: by_m\n",
             "hint: if it is dropped already, there is nothing to do; did you mean `by_n`?\n"});
  check_run(cluster.looseleaf({"drop-index", "by_n", "by_m", "--yes"}), 2, "",
            {"error: no such index\n", "index: by_m\n"});
  CHECK(cluster.looseleaf({"query", "by_n"}).status == 0);
}

TEST_CASE("drop-index --keep-table leaves the rows under another name and maintains them no longer") {
  const TestCluster cluster = with_entities(4, 1);
  create_index(cluster, by_n);
  CHECK(cluster.looseleaf({"backfill"}).status == 0);
  const cli::ProcessResult drop = cluster.looseleaf({"drop-index", "by_n", "--yes", "--keep-table"});
  const std::vector<std::string> kept = lines_of(cluster.sql(0, "SHOW TABLES LIKE 'by_n%'"));
  REQUIRE(kept.size() == 1);
  CHECK(kept[0] != "by_n");
  check_run(drop, 0, "", {"looseleaf: dropped by_n; its tables are kept as " + kept[0] + "\n"});
  put_all(cluster, entity(9, "\"n\":9"));
  CHECK(rows_of(cluster, kept[0]) == 4);
  create_index(cluster, by_n);
}

TEST_CASE("drop-index --keep-table of an index whose tables are gone does not say that they are kept") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  cluster.everywhere("DROP TABLE by_n");
  const cli::ProcessResult drop =
      cluster.looseleaf({"drop-index", "by_n", "--yes", "--keep-table", "--output", "json"});
  check_status(drop, 0, {"dropped by_n"});
  CHECK(contains(drop.out, R"("table_kept":false)"));
}

TEST_CASE("a drop that has begun without --keep-table is not repeated with it" * needs_failpoints) {
  const TestCluster cluster = with_entities(4, 1);
  create_index(cluster, by_n);
  cluster.die_at("drop.table:before@0", {"drop-index", "by_n", "--yes"});
  check_status(cluster.looseleaf({"drop-index", "by_n", "--yes", "--keep-table"}), 2,
               {"error: an earlier drop of this index has begun without --keep-table\n", "  index: by_n\n",
                "hint: its tables may be gone already; run the command without --keep-table"});
  check_status(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 0, {"dropped by_n\n"});
}

TEST_CASE("indexes that create-index has made before one is refused are reported") {
  const TestCluster cluster = with_entities(4, 1);
  create_index(cluster, by_n);
  const std::string good = cluster.directory().write(
                        "by_m.json", R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})"),
                    bad = cluster.directory().write("by_n.json", by_n_sharded);
  check_status(cluster.looseleaf({"create-index", good, bad, "--backfill"}), 2,
               {"created by_m: building\n", "not filled: run `looseleaf backfill by_m`\n", "error: index exists with"});
  check_status(cluster.looseleaf({"drop-index", "by_m", "--yes"}), 0, {"dropped by_m\n"});
  check_status(
      cluster.looseleaf({"create-index", good, bad}), 2,
      {"created by_m: building; run `looseleaf backfill by_m`\n", "error: index exists with another definition\n"});
}

}  // namespace
}  // namespace looseleaf::test
