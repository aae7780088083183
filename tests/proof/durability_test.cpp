// A server shows a commit before it is on disk, and forgets it if it dies then. With a disk that hangs this takes
// seconds: nothing may be acknowledged, and no index row deleted, on the strength of such a commit.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// Both index rows of an entity with n=1, then n=3, are on shard 1; id_of(0) is on shard 0.

// While it exists, what is started loads the library.
class Preloaded {
 public:
  Preloaded() { ::setenv("LD_PRELOAD", LOOSELEAF_SLOW_LOG, 1); }
  Preloaded(const Preloaded&) = delete;
  Preloaded& operator=(const Preloaded&) = delete;
  ~Preloaded() { ::unsetenv("LD_PRELOAD"); }
};

TestCluster start_servers() {
  const Preloaded preloaded;
  // Statistics that are kept in tables are written when a table is opened.
  return TestCluster({.shards = 2, .servers = 0, .extra_args = {"--innodb-stats-persistent=0"}});
}

struct SlowDisks {
  SlowDisks() : cluster(start_servers()) {
    REQUIRE(cluster.looseleaf({"init", "--quiet"}).status == 0);
    create_index(cluster, by_n_sharded);
    put_all(cluster, entity(2, "\"n\":2"));
    REQUIRE(cluster.looseleaf({"verify", "--quiet"}).status == 0);  // opens every table
  }

  // Log writes of a shard's server hang from now on.
  void stall(std::uint32_t shard) const {
    for (const std::string& file : stall_files(shard)) {
      std::ofstream(file).flush();
    }
  }
  // The server dies before they are done, and comes back.
  void crash(std::uint32_t shard) const {
    cluster.sandbox().kill_server(shard);
    for (const std::string& file : stall_files(shard)) {
      std::filesystem::remove(file);
    }
    cluster.sandbox().start_server(shard);
  }

  [[nodiscard]] std::string body() const {
    return cluster.sql(0, "SELECT UNCOMPRESS(body) FROM entities WHERE id = x'" + id_of(0) + "'");
  }
  [[nodiscard]] bool has_row(int n) const {
    return !cluster.sql(1, fmt::format("SELECT 1 FROM by_n WHERE n = {} AND entity_id = x'{}'", n, id_of(0))).empty();
  }
  [[nodiscard]] bool lacks_row() const {
    const std::string now = body();
    return (now == entity(0, "\"n\":1") + "\n" && !has_row(1)) || (now == entity(0, "\"n\":3") + "\n" && !has_row(3));
  }

  TestCluster cluster;

 private:
  [[nodiscard]] std::vector<std::string> stall_files(std::uint32_t shard) const {
    const std::string datadir = cluster.sandbox().server(shard).datadir;
    const std::string redo = datadir + "/#innodb_redo";
    return {(std::filesystem::exists(redo) ? redo : datadir) + "/stall"};
  }
};

// A put whose commit hangs until its timeout. On a busy machine it may not get that far in time, then it is given more.
cli::ProcessResult put_into_hanging_commit(const std::function<cli::ProcessResult(const std::string& timeout)>& put) {
  cli::ProcessResult result;
  for (const char* const timeout : {"2", "6", "18"}) {
    result = put(timeout);
    if (contains(result.err, "outcome of the commit is unknown")) {
      break;
    }
  }
  return result;
}

TEST_CASE("a commit in doubt that others can see already is not acknowledged before it is on disk") {
  const SlowDisks servers;
  put_all(servers.cluster, entity(0, "\"n\":1"));
  servers.stall(0);
  bool seen = false;
  const cli::ProcessResult result = put_into_hanging_commit([&](const std::string& timeout) {
    cli::Process put = servers.cluster.start({"put", "--timeout", timeout}, entity(0, "\"n\":3"));
    wait_until("the commit is seen, or the put has ended", [&] {
      seen = servers.body() == entity(0, "\"n\":3") + "\n";
      return seen || cli::is_gone(put.pid());
    });
    return put.wait();
  });
  CHECK(seen);
  check_run(result, 3, "", {"looseleaf: error: outcome of the commit is unknown\n"});
  servers.crash(0);
  CHECK(servers.body() == entity(0, "\"n\":1") + "\n");
  CHECK_FALSE(servers.lacks_row());
}

TEST_CASE("an entity without an id whose outcome is unknown is rejected with the id that it was given") {
  const SlowDisks servers;
  std::string rejects;
  servers.stall(0);
  servers.stall(1);
  const cli::ProcessResult result = put_into_hanging_commit([&](const std::string& timeout) {
    rejects = servers.cluster.directory().write("rejects.jsonl", "");
    return servers.cluster.looseleaf({"put", "--timeout", timeout, "--rejects", rejects}, R"({"other":1})");
  });
  check_run(result, 3, "", {"looseleaf: error: outcome of the commit is unknown\n"});
  servers.crash(0);
  servers.crash(1);
  for (int i = 0; i < 2; ++i) {
    check_status(servers.cluster.looseleaf({"put", "--quiet", rejects}), 0);
  }
  CHECK(rows_of(servers.cluster, R"(entities WHERE UNCOMPRESS(body) LIKE '%"other":1%')") == 1);
}

// What hangs is not waited for; with a step left out nothing hangs, however slow the machine is.
std::string time_for(const std::string& failpoint) {
  return failpoint.empty() ? "2" : "60";
}

// Returns whether a row is missing in the end.
bool repair_beside_hanging_commit(const std::string& failpoint) {
  const SlowDisks servers;
  put_all(servers.cluster, entity(0, "\"n\":1"));
  servers.stall(0);
  cli::Process put = servers.cluster.start({"put", "--timeout", "120"}, entity(0, "\"n\":3"));  // longer than verify's
  wait_until("the commit is seen", [&] { return servers.body() == entity(0, "\"n\":3") + "\n"; });
  const cli::ProcessResult repair =
      servers.cluster.start({"verify", "--repair", "--grace", "0", "--timeout", time_for(failpoint)}, {}, failpoint)
          .wait();
  CHECK_MESSAGE(repair.status == (failpoint.empty() ? 3 : 0), repair.err);
  CHECK(put.out().empty());
  put.signal(SIGKILL);
  CHECK(put.wait().status == 128 + SIGKILL);
  servers.crash(0);
  CHECK(servers.body() == entity(0, "\"n\":1") + "\n");
  return servers.lacks_row();
}

TEST_CASE("an index row is not deleted because of a commit that is not on disk") {
  CHECK_FALSE(repair_beside_hanging_commit({}));
}

TEST_CASE("control: without reconcile.prove it is" * needs_failpoints) {
  CHECK(repair_beside_hanging_commit("reconcile.prove=skip"));
}

// Returns whether a row is missing in the end.
bool put_behind_hanging_insert(const std::string& failpoint) {
  const SlowDisks servers;
  servers.stall(1);
  cli::Process first = servers.cluster.start({"put"}, entity(0, "\"n\":1"));
  wait_until("the row is seen", [&] { return servers.has_row(1); });
  first.signal(SIGKILL);
  CHECK(first.wait().status == 128 + SIGKILL);
  const cli::ProcessResult second =
      servers.cluster.start({"put", "--timeout", time_for(failpoint)}, entity(0, "\"n\":1"), failpoint).wait();
  servers.crash(1);
  CHECK_MESSAGE(second.status == (failpoint.empty() ? 3 : 0), second.err);
  return servers.lacks_row();
}

TEST_CASE("an index row that another put inserted counts only when it is on disk") {
  CHECK_FALSE(put_behind_hanging_insert({}));
}

TEST_CASE("control: without put.make_durable it counts" * needs_failpoints) {
  CHECK(put_behind_hanging_insert("put.make_durable=skip"));
}

// The entity is on shard 1, the row of its first version belongs on shard 0, which becomes ready first. Returns whether
// shard 0 calls the index ready in the end, without that row.
bool backfill_beside_hanging_commit(const std::string& failpoint) {
  const SlowDisks servers;
  const auto row_is_there = [&] { return servers.cluster.sql(0, "SELECT m FROM by_m") == "2\n"; };
  put_all(servers.cluster, entity(1, "\"m\":2"));
  create_index(servers.cluster, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})");
  cli::Process backfill = servers.cluster.start({"backfill", "by_m", "--timeout", failpoint.empty() ? "4" : "60"}, {},
                                                "backfill.prove:before=stop" + failpoint);
  wait_until("the row is there", row_is_there);
  REQUIRE(wait_until_stopped(backfill));
  servers.cluster.sql(0, "DELETE FROM by_m");  // as if the scan had read a body that was forgotten since
  servers.stall(1);
  cli::Process put = servers.cluster.start({"put"}, entity(1, "\"other\":1"));
  wait_until("the commit is seen", [&] {
    return servers.cluster.sql(1, "SELECT UNCOMPRESS(body) FROM entities") == entity(1, "\"other\":1") + "\n";
  });
  put.signal(SIGKILL);
  static_cast<void>(put.wait());
  backfill.signal(SIGCONT);
  const auto ready = [&] {
    return servers.cluster.sql(0, "SELECT state FROM looseleaf_index WHERE table_name = 'by_m'") == "ready\n";
  };
  for (int i = 0; i < (failpoint.empty() ? 50 : 1000) && !ready(); ++i) {
    std::this_thread::sleep_for(20ms);
  }
  servers.crash(1);
  static_cast<void>(backfill.wait());
  const bool broken = ready() && !row_is_there();
  if (!broken) {
    // The first backfill may have made it ready already, then there is nothing left to fill.
    check_status(servers.cluster.looseleaf({"backfill", "by_m"}), 0, {"by_m: ready"});
    check_run(servers.cluster.looseleaf({"query", "by_m", "m=2", "--ids"}), 0, id_of(1) + "\n");
  }
  return broken;
}

TEST_CASE("an index is not ready because of a body that is not on disk" * needs_failpoints) {
  CHECK_FALSE(backfill_beside_hanging_commit({}));
}

TEST_CASE("control: without backfill.prove_durable it is" * needs_failpoints) {
  CHECK(backfill_beside_hanging_commit(",backfill.prove_durable=skip"));
}

// The scan sees a body of shard 1 that is not on disk, and its server dies when all rows are in. The body that is there
// again then, with a stamp from before the backfill, calls for another row.
TEST_CASE("an index is not ready because of a scan that saw what is forgotten" * needs_failpoints) {
  const SlowDisks servers;
  put_all(servers.cluster, entity(1, "\"m\":2"));
  create_index(servers.cluster, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})");
  cli::Process backfill = servers.cluster.start({"backfill", "by_m"}, {}, "backfill.read:before@1#1=stop");
  REQUIRE(wait_until_stopped(backfill));
  servers.stall(1);
  cli::Process put = servers.cluster.start({"put"}, entity(1, "\"m\":4"));
  wait_until("the commit is seen", [&] {
    return servers.cluster.sql(1, "SELECT UNCOMPRESS(body) FROM entities WHERE id = x'" + id_of(1) + "'") ==
           entity(1, "\"m\":4") + "\n";
  });
  put.signal(SIGKILL);
  static_cast<void>(put.wait());
  backfill.signal(SIGCONT);
  // The put's, and that of the cursor when the scan has seen everything.
  wait_until("two COMMITs hang", [&] {
    return servers.cluster.sql(1, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT'") == "2\n";
  });
  servers.crash(1);
  check_status(backfill.wait(), 0, {"by_m: ready"});
  check_run(servers.cluster.looseleaf({"query", "by_m", "m=2", "--ids"}), 0, id_of(1) + "\n");
}

// A change of a catalog on shard 1 hangs, is tried again when the client has given up on it, and finds itself done
// already: that must not count before it is on disk.
TEST_CASE("no shard's writers stop maintaining an index because of another shard's state that is not on disk" *
          needs_failpoints) {
  const SlowDisks servers;
  const auto state_on = [&](std::uint32_t shard) {
    return servers.cluster.sql(shard, "SELECT state FROM looseleaf_index WHERE table_name = 'by_n'");
  };
  cli::Process drop =
      servers.cluster.start({"drop-index", "by_n", "--yes", "--timeout", "8"}, {}, "drop.stop_queries:before@1=stop");
  REQUIRE(wait_until_stopped(drop));
  servers.stall(1);
  drop.signal(SIGCONT);
  CHECK(drop.wait().status == 3);
  servers.crash(1);
  REQUIRE(state_on(1) == "ready\n");
  CHECK(state_on(0) == "dropping\n");
  check_status(servers.cluster.looseleaf({"drop-index", "by_n", "--yes"}), 0, {"dropped by_n\n"});
}

TEST_CASE("no empty shard joins because of another shard's state that is not on disk" * needs_failpoints) {
  const SlowDisks servers;
  const TestCluster& cluster = servers.cluster;
  cluster.server_sql(cluster.server_of(0), "DROP DATABASE " + cluster.database(0));
  cli::Process init = servers.cluster.start({"init", "--accept-empty-shard", "0", "--timeout", "8"}, {},
                                            "fence.commit:before@1#1=stop");
  REQUIRE(wait_until_stopped(init));
  servers.stall(1);
  init.signal(SIGCONT);
  CHECK(init.wait().status == 3);
  servers.crash(1);
  REQUIRE(cluster.sql(1, "SELECT state FROM looseleaf_index") == "ready\n");
  check_status(cluster.looseleaf({"put", "--timeout", "1"}, entity(0, "\"n\":1")), 2, {"shard is not initialised\n"});
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "0"}), 0, {"index is building"});
  CHECK(cluster.sql(1, "SELECT state FROM looseleaf_index") == "building\n");
}

}  // namespace
}  // namespace looseleaf::test
