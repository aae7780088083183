// looseleaf verify, clean and status.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t entities = 40;

// Entity number has n = number; a local and a sharded index, both ready.
TestCluster with_indexes() {
  TestCluster cluster = initialised(2);
  create_index(cluster, R"({"table": "local_n", "properties": [{"name": "n", "type": "int"}]})");
  create_index(cluster, R"({"table": "shard_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  put_all(cluster, entity_lines(entities, "\"n\":{}"));
  return cluster;
}

std::string row(std::int64_t n, std::uint64_t number) {
  return fmt::format("({}, UNHEX('{}'))", n, id_of(number));
}

TEST_CASE("verify finds a healthy store consistent and lists its indexes") {
  const TestCluster cluster = with_indexes();
  const std::string result = check_status(cluster.looseleaf({"verify"}), 0, {"40 entities verified: consistent\n"});
  CHECK(holds_in_order(result, {"index", "shard", "rows", "missing", "stale", "orphan", "misplaced\n"}));
  CHECK(times("local_n", result) == 2);
  CHECK(times("shard_n", result) == 2);
  CHECK(times(" 20        0      0       0          0\n", result) == 4);
  check_status(cluster.looseleaf({"verify", "local_n", "--quiet"}), 0);
  check_run(cluster.looseleaf({"verify", "local_m"}), 2, "",
            {"error: no such index\n", "index: local_m\n", "hint: did you mean `local_n`?\n"});
}

TEST_CASE("verify finds a planted row of every kind, and --repair mends it") {
  struct Case {
    std::string name;
    std::uint32_t shard;
    std::string sql, found;
  };
  const std::vector<Case> cases = {
      {"missing", 0, "DELETE FROM local_n WHERE n = 2", "missing local_n shard 0 entity " + id_of(2)},
      {"missing, sharded", 1, "DELETE FROM shard_n WHERE n = 3", "missing shard_n shard 1 entity " + id_of(3)},
      {"stale", 0, "INSERT INTO local_n VALUES " + row(77, 4), "stale local_n shard 0 entity " + id_of(4)},
      {"stale, sharded", 1, "INSERT INTO shard_n VALUES " + row(77, 4), "stale shard_n shard 1 entity " + id_of(4)},
      {"orphan", 0, "INSERT INTO local_n VALUES " + row(5, 1'000), "orphan local_n shard 0 entity " + id_of(1'000)},
      {"orphan, sharded", 1, "INSERT INTO shard_n VALUES " + row(5, 1'000),
       "orphan shard_n shard 1 entity " + id_of(1'000)},
      {"misplaced", 1, "INSERT INTO local_n VALUES " + row(4, 4), "misplaced local_n shard 1 entity " + id_of(4)},
      {"misplaced, sharded", 0, "INSERT INTO shard_n VALUES " + row(5, 5),
       "misplaced shard_n shard 0 entity " + id_of(5)},
  };
  const TestCluster cluster = with_indexes();
  for (const Case& test : cases) {
    CAPTURE(test.name);
    cluster.sql(test.shard, test.sql);
    const cli::ProcessResult found = cluster.looseleaf({"verify", "--grace", "0"});
    check_status(found, 1, {"40 entities verified: 1 finding\n"});
    CHECK(lines_of(found.out).at(0).substr(0, test.found.size()) == test.found);
    check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 0, {"consistent, 1 entity repaired\n"});
    check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
    CHECK(rows_of(cluster, "local_n") == entities);
    CHECK(rows_of(cluster, "shard_n") == entities);
  }
}

// It said `ready` and status 0, and named no entity at its end.
TEST_CASE("a backfill that cannot read a body names the entity, and ends with status 1") {
  const TestCluster cluster = with_indexes();
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'xxxxxxxx' WHERE id = UNHEX('{}')", id_of(2)));
  const std::string definition =
      cluster.directory().write("new.json", R"({"table": "new_n", "properties": [{"name": "n", "type": "int"}]})");
  const std::vector<std::string> names_it = {
      "looseleaf: new_n: ready\n",
      "looseleaf: error: the bodies of some entities cannot be read, and no query finds these entities\n"
      "  entities: 1\n  id: " +
          id_of(2) + "\nhint: delete each of them and put it again; "};
  check_run(cluster.looseleaf({"create-index", definition, "--backfill"}), 1, "", names_it);
  check_status(cluster.looseleaf({"query", "new_n", "--count"}), 0);
  CHECK(cluster.looseleaf({"drop-index", "new_n", "--yes"}).status == 0);
  CHECK(cluster.looseleaf({"create-index", definition}).status == 0);
  cluster.everywhere("UPDATE entities SET body = 'xxxxxxxx'");
  const cli::ProcessResult json = cluster.looseleaf({"backfill", "--output", "json"});
  check_status(
      json, 1,
      {R"("event":"error","what":"the bodies)", R"("entities":"40")", "018f2c4e", R"(; ... 20 more"},"hint":)"});
  const auto summary = nlohmann::json::parse(lines_of(json.out).back());
  CHECK(summary["unreadable"] == 40);
  CHECK(summary["unreadable_ids"].size() == 20);
  CHECK(summary["ready"] == nlohmann::json::array({"new_n"}));
}

TEST_CASE("clean --full sweeps what did not change") {
  const TestCluster cluster = with_indexes();
  CHECK(cluster.looseleaf({"clean"}).status == 0);
  cluster.sql(0,
              "INSERT INTO local_n VALUES " + row(77, 2) + ", " + row(5, 1'000) + "; DELETE FROM local_n WHERE n = 4");
  cluster.sql(1, "INSERT INTO shard_n VALUES " + row(77, 2));
  check_run(cluster.looseleaf({"clean", "--full"}), 0, "",
            {"warning: rows were missing from a ready index and were inserted\n", "index: local_n\n", "shard: 0\n",
             "hint: ", "deleted 3 index rows, inserted 1"});
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
  const cli::ProcessResult json = cluster.looseleaf({"clean", "--full", "--output", "json", "--quiet"});
  check_run(json, 0,
            "{\"schema_version\":1,\"checked\":40,\"deleted\":0,\"inserted\":0,\"purged\":0,\"flushed\":0,\"refused\":"
            "0,\"mended\":{}}\n");
}

TEST_CASE("status shows shards, servers, indexes and their states") {
  const TestCluster cluster = with_indexes();
  create_index(cluster, R"({"table": "new_m", "properties": [{"name": "m", "type": "int"}]})");
  const std::string id = cluster.looseleaf({"init", "--quiet"}).out;
  const std::string result = check_status(cluster.looseleaf({"status"}), 0);
  const std::string server = looseleaf_flavour() == "mysql" ? "MySQL " : "MariaDB ";
  CHECK(
      holds_in_order(result, {"cluster " + id, "shard  address", cluster.socket(0), cluster.database(0), "up", server,
                              cluster.socket(1), cluster.database(1), "up", server, "index", "state", "shards\n",
                              "local_n  ready", "0, 1\n", "new_m    building", "0, 1\n", "shard_n  ready", "0, 1\n"}));
  const std::string json = check_status(cluster.looseleaf({"status", "--output", "json"}), 0);
  const std::vector<std::string> lines = lines_of(json);
  REQUIRE(lines.size() == 3);
  for (const std::string part : {"\"shard\":0", "\"state\":\"up\"", "\"state\":\"building\"", "\"error\":null",
                                 "\"table\":\"new_m\",\"state\":\"building\",\"generation\":\""}) {
    CAPTURE(part);
    CHECK(times(part, lines[0]) == 1);
  }
  CHECK(times("\"down\":0", lines[2]) == 1);
  CHECK(times("\"cluster_id\":\"" + id.substr(0, 32) + "\"", lines[2]) == 1);
}

TEST_CASE("status shows what an index is on") {
  const TestCluster cluster = initialised(2);
  create_index(cluster, R"({"table": "by_tag", "properties": [{"name": "tag", "type": "string", "each": true},
                                                              {"name": "n", "type": "int"}], "shard_on": "n"})");
  const cli::ProcessResult result = cluster.looseleaf({"status"});
  CHECK(holds_in_order(result.out, {"properties", "shard_on", "shards\n", "tag string each, n int  n         0, 1\n"}));
}

TEST_CASE("status shows a job in one line for all shards, and with --verbose in a line for each shard" *
          needs_failpoints) {
  const TestCluster cluster = with_indexes();
  create_index(cluster, R"({"table": "new_m", "properties": [{"name": "m", "type": "int"}]})");
  cluster.die_at("backfill.publish:before", {"backfill"});  // when the scans of both shards are done
  std::string sum;
  wait_until("its lock is free", [&] { return contains(sum = cluster.looseleaf({"status"}).out, "nobody"); });
  CHECK(holds_in_order(
      sum, {"job       index  shards  done", fmt::format("backfill  new_m  0, 1    {} of about", entities), "nobody"}));
  CHECK(times("backfill  new_m", sum) == 1);
  const std::string each = cluster.looseleaf({"status", "--verbose"}).out;
  CHECK(holds_in_order(each, {"job       index  shard  done", "backfill  new_m      0  ", "backfill  new_m      1  "}));
}

TEST_CASE("backfill and verify count deleted entities, and status says that its estimate includes them") {
  const TestCluster cluster = with_indexes();
  CHECK(cluster.looseleaf({"delete", id_of(2), id_of(4), id_of(5)}).status == 0);
  create_index(cluster, R"({"table": "new_m", "properties": [{"name": "m", "type": "int"}]})");
  const std::string counted = fmt::format("{} entities (3 deleted)", entities);
  check_status(cluster.looseleaf({"backfill"}), 0, {"read " + counted + ", wrote "});
  check_status(cluster.looseleaf({"verify"}), 0, {counted + " verified: consistent\n"});
  CHECK(contains(cluster.looseleaf({"verify", "--output", "json"}).out,
                 fmt::format("\"entities\":{},\"deleted\":3,", entities)));
  CHECK(contains(cluster.looseleaf({"status"}).out, "entities (about, incl. deleted)\n"));
}

TEST_CASE("status --watch prints rounds with their time until it is stopped") {
  const TestCluster cluster = initialised(1);
  const auto rounds = [&](const std::vector<std::string>& options, const std::string& part) {
    cli::Process process = cluster.start(options);
    wait_until("three rounds", [&] { return times(part, process.out()) >= 3; });
    const cli::ProcessResult result = end_by(SIGINT, process);
    CHECK(result.status == 130);
    return result.out;
  };
  const std::string text = rounds({"status", "--watch", "0.05"}, "cluster ");
  CHECK(text.starts_with("status at 20"));
  CHECK(times(" UTC\ncluster ", text) >= 3);
  const std::string json = rounds({"status", "--watch", "0.05", "--output", "json"}, "\"schema_version\":1");
  CHECK(times("{\"shard\":0,", json) >= 3);
  CHECK_FALSE(contains(json, "status at"));
}

}  // namespace
}  // namespace looseleaf::test
