// What holds backfill and verify back: --max-rate, --max-load, --max-lag, --pause-file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/replication.hpp"
#include "tests/support/sleeping_session.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

// With an index in state building beside so many entities.
TestCluster with_new_index(std::uint64_t entities) {
  TestCluster cluster = initialised();
  put_all(cluster, entity_lines(entities, "\"n\":{}"));
  create_index(cluster, by_n);
  return cluster;
}

TEST_CASE("a backfill pauses while there is a file, says so, is alive meanwhile, and goes on when the file is gone") {
  const TestCluster cluster = with_new_index(300);
  const std::string pause = cluster.directory().write("pause", "");
  cli::Process job = cluster.start({"backfill", "--pause-file", pause, "--output", "json"});
  wait_until("an event says why", [&] { return contains(job.out(), "paused; delete " + pause); });
  CHECK(rows_of(cluster, "by_n") == 0);
  const std::string heartbeat = "SELECT heartbeat FROM looseleaf_progress WHERE job = 'backfill'";
  const std::string before = cluster.sql(1, heartbeat);
  wait_until("the heartbeat goes on", [&] { return cluster.sql(1, heartbeat) != before; });
  CHECK(contains(cluster.looseleaf({"status"}).out, fmt::format("pid {}", job.pid())));
  REQUIRE(std::remove(pause.c_str()) == 0);
  const std::string result = check_status(job.wait(), 0, {"by_n: ready\""});
  CHECK(rows_of(cluster, "by_n") == 300);
  const std::vector<std::string> lines = lines_of(result);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const auto event = nlohmann::json::parse(lines[i]);
    CHECK(event["event"] == "progress");
    CHECK(event.contains("waiting"));
  }
  CHECK(nlohmann::json::parse(lines.back())["ready"] == nlohmann::json{"by_n"});
}

TEST_CASE("a job that is held back says so at once, and in a pipe once") {
  const TestCluster cluster = with_new_index(10);
  const std::string pause = cluster.directory().write("pause", "");
  cli::Process job = cluster.start({"backfill", "--pause-file", pause});
  const std::string told = "; waiting: paused; delete " + pause + " to continue\n";
  // Not as late as the line of progress that comes every 30 s.
  wait_until("it says why", [&] { return contains(job.err(), told); });
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it looks again after this time
  REQUIRE(std::remove(pause.c_str()) == 0);
  const cli::ProcessResult result = job.wait();
  check_status(result, 0, {"by_n: ready\n"});
  CHECK(times("waiting", result.err) == 1);
}

TEST_CASE("a backfill reads no more rows a second than it may") {
  const TestCluster cluster = with_new_index(3000);
  const auto start = Clock::now();
  check_status(cluster.looseleaf({"backfill", "--max-rate", "1000"}), 0, {"by_n: ready\n"});
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  CHECK(seconds > 2);  // 3 s for the scan, less the last chunk; and the verify that follows is limited too
  CHECK(rows_of(cluster, "by_n") == 3000);
}

TEST_CASE("a backfill with a limit stores rows of many pieces at once") {
  const TestCluster cluster = with_new_index(6000);
  const auto commits = [&] { return cluster.status(0, "Com_commit") + cluster.status(1, "Com_commit"); };
  const std::uint64_t before = commits();
  check_status(cluster.looseleaf({"backfill", "--max-rate", "20000"}), 0, {"by_n: ready\n"});
  CHECK(rows_of(cluster, "by_n") == 6000);
  CHECK(commits() - before < 120);  // which is how many pieces of 50 entities there are
}

TEST_CASE("a backfill with a limit puts rows right that stand in the way of its own") {
  const TestCluster cluster = with_new_index(300);
  create_index(cluster, R"({"table": "once", "properties": [{"name": "n", "type": "int"}], "immutable": true})");
  cluster.everywhere("INSERT INTO once SELECT 999, id FROM entities LIMIT 70");
  check_status(cluster.looseleaf({"backfill", "once", "--max-rate", "20000"}), 0, {"once: ready\n"});
  CHECK(rows_of(cluster, "once") == 300);
  check_status(cluster.looseleaf({"verify", "once", "--grace", "0"}), 0, {"consistent"});
}

TEST_CASE("verify is limited too") {
  const TestCluster cluster = with_new_index(3000);
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready\n"});
  const auto start = Clock::now();
  check_status(cluster.looseleaf({"verify", "--max-rate", "3000"}), 0,
               {"consistent\n"});  // 3,000 entities and 3,000 index rows
  CHECK(std::chrono::duration<double>(Clock::now() - start).count() > 1);
  cluster.everywhere("DELETE FROM by_n");
  const auto repaired = Clock::now();
  check_status(cluster.looseleaf({"verify", "--repair", "--max-rate", "4000"}), 0, {"3,000 entities repaired\n"});
  CHECK(std::chrono::duration<double>(Clock::now() - repaired).count() > 3);  // each is read, compared, and put right
}

TEST_CASE("a backfill waits while a server is busy") {
  const TestCluster cluster = with_new_index(300);
  std::deque<SleepingSession> busy;
  for (int i = 0; i < 6; ++i) {
    busy.emplace_back(cluster, cluster.server_of(1));
  }
  wait_until("the server is busy", [&] { return cluster.status(1, "Threads_running") > 6; });
  cli::Process job = cluster.start({"backfill", "--max-load", "5", "--output", "json"});
  wait_until("an event says why", [&] { return contains(job.out(), "statements (limit 5)"); });
  CHECK(rows_of(cluster, "by_n") == 0);
  busy.clear();
  check_status(job.wait(), 0, {"by_n: ready\""});
}

TEST_CASE("a copy that follows and looks at the servers' load goes on when one of them is down") {
  const TestCluster cluster = initialised_alone(3), other = initialised(1);
  cli::Process follower =
      cluster.start({"copy", "--to", other.file(), "--follow", "--max-load", "1000", "--timeout", "4"});
  wait_until("it has caught up", [&] { return contains(follower.err(), "caught up"); });
  cluster.sandbox().kill_server(0);
  wait_until("the failure is told", [&] { return contains(follower.err(), "  shard: 0\n"); });
  put_all(cluster, entity(1) + "\n" + entity(2));
  wait_until(
      "the others are copied", [&] { return rows_of(other, "entities") == 2; }, std::chrono::seconds(20));
  follower.signal(SIGTERM);
  const std::string told = follower.wait().err;
  CHECK(times("shard: 0\n", told) > 0);
  CHECK(times("shard: 1\n", told) + times("shard: 2\n", told) == 0);
}

// The cluster's own file, with one replica for all shards.
std::string with_replica(const TestCluster& cluster, const std::string& replica) {
  auto json = nlohmann::json::parse(read_text(cluster.file()));
  for (auto& shard : json["shards"]) {
    shard["replicas"] = {replica};
  }
  return cluster.directory().write("replicas.json", json.dump());
}

TEST_CASE("a replica that does not replicate, or cannot be asked, is as late as it likes") {
  const TestCluster cluster = with_new_index(10);
  for (const auto& [replica, reason] : {std::pair(cluster.socket(1), "is not replicating"),
                                        std::pair(std::string("/nowhere.sock"), "does not answer")}) {
    CAPTURE(reason);
    const std::string file = with_replica(cluster, replica);
    cli::Process job =
        start({"looseleaf", "--cluster", file, "backfill", "--max-lag", "5", "--output", "json", "--timeout", "5"});
    wait_until("an event says why", [&] { return contains(job.out(), fmt::format("replica {} {}", replica, reason)); });
    check_status(end_by(SIGINT, job), 130,
                 {R"("what":"interrupted")", R"("hint":"run the same command to resume","exit_status":130})"});
    CHECK(rows_of(cluster, "by_n") == 0);
  }
}

TEST_CASE("a backfill waits for a replica that is late, and goes on when it has caught up") {
  const TestCluster cluster({.shards = 2, .servers = 0, .extra_args = replication_arguments()});
  const TestCluster replica({.shards = 1, .servers = 0, .extra_args = {"--server-id=77"}});
  const FaultProxy to_source(cluster.socket(0));
  for (std::uint32_t server = 0; server < 2; ++server) {  // there would be a warning
    cluster.server_sql(server, looseleaf_flavour() == "mysql"
                                   ? "REVOKE SUPER, CONNECTION_ADMIN ON *.* FROM CURRENT_USER"
                                   : "REVOKE READ_ONLY ADMIN ON *.* FROM CURRENT_USER");
  }
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  put_all(cluster, entity(0, "\"n\":0"));
  create_index(cluster, by_n);
  start_replica(replica, 0, to_source.port());
  const std::string database = cluster.database(0);
  wait_until("the replica has everything", [&] {
    return replica.server_sql(0, fmt::format("SELECT COUNT(*) FROM information_schema.tables "
                                             "WHERE table_schema = '{}' AND table_name = 'by_n'",
                                             database)) == "1\n";
  });
  std::optional<SleepingSession> lock(std::in_place, replica, 0,
                                      fmt::format("LOCK TABLES {}.entities WRITE", database));
  put_all(cluster, entity(2, "\"n\":2"));
  std::this_thread::sleep_for(std::chrono::seconds(3));
  cli::Process job = start({"looseleaf", "--cluster", with_replica(cluster, replica.socket(0)), "backfill", "--max-lag",
                            "1", "--output", "json"});
  wait_until("an event says why", [&] {
    return contains(job.out(), fmt::format("replica {} is ", replica.socket(0))) && contains(job.out(), " s behind");
  });
  CHECK(rows_of(cluster, "by_n") == 1);  // of the entity that was put with the index there
  lock.reset();
  check_status(job.wait(), 0, {"by_n: ready\""});
  CHECK(rows_of(cluster, "by_n") == 2);
}

TEST_CASE("a greatest lag without replicas is a mistake") {
  const TestCluster cluster = with_new_index(10);
  const std::vector<std::string> complaints = {"error: `--max-lag` needs replicas in the cluster file",
                                               "hint: add \"replicas\""};
  check_run(cluster.looseleaf({"backfill", "--max-lag", "5"}), 2, "", complaints);
  const TemporaryDirectory folder;
  const std::string file = folder.write("by_m.json", with_table("by_m"));
  check_run(cluster.looseleaf({"create-index", file, "--backfill", "--max-lag", "5"}), 2, "", complaints);
  check_run(cluster.looseleaf({"apply", folder.path(), "--max-lag", "5"}), 2, "", complaints);
  const TestCluster other = initialised(1);
  check_run(cluster.looseleaf({"copy", "--to", other.file(), "--finish", "--max-lag", "5"}), 2, "", complaints);
  CHECK(other.sql(0, "SELECT access FROM looseleaf_shard") == "open\n");
  CHECK_FALSE(contains(cluster.looseleaf({"status"}).out, "by_m"));  // nothing was created
}

TEST_CASE("create-index refuses to hold back a backfill that was not asked for") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().write("by_n.json", by_n);
  for (const auto& [option, value] :
       {std::pair("--max-rate", "5"), {"--max-load", "5"}, {"--max-lag", "5"}, {"--pause-file", "p"}}) {
    check_run(cluster.looseleaf({"create-index", file, option, value}), 2, "",
              {fmt::format("error: {} needs --backfill\n", option), "hint: give --backfill too"});
  }
}

}  // namespace
}  // namespace looseleaf::test
