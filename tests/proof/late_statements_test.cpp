// Commits whose answer is lost, and statements that arrive when their client has given up.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/failpoint.hpp"
#include "sql/literals.hpp"
#include "tests/proof/network_world.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = Verdict::Kind;

// One entity of shard 0, a route to the cluster, and what happens on it.
struct LateFixture : NetworkFixture {
  LateFixture() : NetworkFixture(2) {}

  // The command on its way through the proxies, beside the test.
  [[nodiscard]] cli::Process start(std::vector<std::string> arguments, std::string_view input = {},
                                   const std::string& failpoint = {}) const {
    std::vector<std::string> command = route.command(std::move(arguments));
    command[0] = looseleaf_program();
    command.insert(command.begin(), {"env", "LOOSELEAF_FAILPOINT=" + failpoint});
    return looseleaf::test::start(std::move(command), input);
  }

  // Runs the command until a statement of it, which begins so, stalls on its way to a shard, and the command has given
  // up. A machine that stands still may keep it from getting there in time: then it is given more, but less than the
  // half minute after which the server ends the session.
  [[nodiscard]] cli::ProcessResult run_into(std::uint32_t shard, const std::string& statement,
                                            const std::vector<std::string>& arguments, std::string_view input = {}) {
    for (const char* const seconds : {"2", "6", "18", "18", "18"}) {
      route.proxy(shard).judge_by(at_statement(Direction::to_server, statement, {Kind::stall, 600s}));
      std::vector<std::string> command = arguments;
      command.insert(command.begin() + 1, {"--timeout", seconds});
      cli::ProcessResult result = start(std::move(command), input).wait();
      if (route.proxy(shard).struck().starts_with(statement)) {
        return result;
      }
      route.heal();
    }
    FAIL("no statement begins so: " << statement);
    return {};
  }

  // How an insertion of index rows on shard 1 begins.
  [[nodiscard]] std::string insert_into(const std::string& table) const {
    return fmt::format("INSERT INTO {} ", sql::qualified(cluster.database(1), table));
  }

  void put_directly(std::int64_t n, std::int64_t owner) {
    REQUIRE(put_one(datastore, entity(id, n, owner)) == WriteStatus::stored);
  }

  void check_nothing_missing() {
    CHECK(truth.missing_rows(id) == "");
    check_everything();
  }

  void await_row(const std::string& table, const std::string& property, std::int64_t value) {
    wait_until("the row arrives", [&] { return truth.has_row(table, property, value, id); });
  }

  // How often a statement of this kind was executed on a shard's server.
  [[nodiscard]] std::uint64_t executed(std::uint32_t shard, const std::string& kind) {
    return truth.query(shard, "SHOW GLOBAL STATUS LIKE 'Com_" + kind + "'").unsigned_integer(0, 1);
  }

  const std::string id = id_of(0);
  Route route{cluster};
  Truth truth{*this};
};

void check_acknowledged(const cli::ProcessResult& result, const std::string& id) {
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(result.out == id + "\n");
}

TEST_CASE("a commit whose answer is lost is looked up and acknowledged, and not done twice") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(0).judge_by(at_statement(Direction::to_client, "COMMIT", {Kind::cut}));
  SUBCASE("of a put") {
    check_acknowledged(fixture.start({"put"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
    CHECK(fixture.truth.body(fixture.id) == entity(fixture.id, 2, 1));
  }
  SUBCASE("of a put of an absent entity") {
    REQUIRE(fixture.datastore.remove({*Uuid::parse(fixture.id)}).front().status == WriteStatus::stored);
    check_acknowledged(fixture.start({"put", "--if-absent"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
    CHECK(fixture.truth.body(fixture.id) == entity(fixture.id, 2, 1));
  }
  SUBCASE("of a delete") {
    check_acknowledged(fixture.start({"delete", fixture.id}).wait(), fixture.id);
    CHECK_FALSE(fixture.truth.body(fixture.id).has_value());
  }
  CHECK(fixture.route.proxy(0).struck() == "COMMIT");
  fixture.check_nothing_missing();
}

TEST_CASE("what another process was told is stored is not undone by a commit in doubt" * needs_failpoints) {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  for (const Direction lost : {Direction::to_client, Direction::to_server}) {  // the answer; the COMMIT itself
    for (const bool is_put : {true, false}) {
      CAPTURE(static_cast<int>(lost));
      CAPTURE(is_put);
      fixture.route.proxy(0).judge_by(at_statement(lost, "COMMIT", {Kind::cut}));
      cli::Process process = is_put ? fixture.start({"put"}, entity(fixture.id, 2, 1), "put.resolve:before#1=stop")
                                    : fixture.start({"delete", fixture.id}, {}, "put.resolve:before#1=stop");
      REQUIRE(wait_until_stopped(process));
      fixture.put_directly(4, 1);
      process.signal(SIGCONT);
      check_acknowledged(process.wait(), fixture.id);
      CHECK(fixture.truth.body(fixture.id) == entity(fixture.id, 4, 1));
      fixture.route.heal();
    }
  }
  fixture.check_nothing_missing();
}

TEST_CASE("a commit that comes after its client has given up was called unknown, and lacks no index row") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  check_run(fixture.run_into(0, "COMMIT", {"put"}, entity(fixture.id, 2, 1)), 3, "",
            {"looseleaf: error: outcome of the commit is unknown\n",
             "hint: read the entity, or put it again with this id; a put can be repeated safely\n"});
  fixture.route.heal();
  wait_until("the commit arrives", [&] { return fixture.truth.body(fixture.id) == entity(fixture.id, 2, 1); });
  fixture.check_nothing_missing();
}

// Who repeated it would give the command an entity that perhaps has this change already.
TEST_CASE("an update or a merge whose commit has an unknown outcome is not repeated") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  const std::string new_text = entity(fixture.id, 2, 1), runs = fixture.cluster.directory().write("runs", "");
  SUBCASE("an update") {
    const cli::ProcessResult result = fixture.run_into(
        0, "COMMIT",
        {"update", fixture.id, "--", "sh", "-c", fmt::format("echo run >> {}; echo '{}'", runs, new_text)});
    check_status(
        result, 3,
        {"looseleaf: error: outcome of the commit is unknown\n", "hint: read the entity before you repeat the write"});
    CHECK(read_text(runs) == "run\n");
  }
  SUBCASE("a merge") {
    check_status(fixture.run_into(0, "COMMIT", {"put", "--merge"}, new_text), 3,
                 {"looseleaf: error: outcome of the commit is unknown\n"});
  }
  fixture.route.heal();
  wait_until("the commit arrives", [&] { return fixture.truth.body(fixture.id) == new_text; });
  fixture.check_nothing_missing();
}

TEST_CASE("an index row that arrives when its entity has changed again misleads nobody and is cleaned up") {
  LateFixture fixture;
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, fixture.insert_into("by_n"), {Kind::stall, 60s}));
  // Its only row on shard 1, so that it is not part of a transaction.
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 1, 2)).wait(), fixture.id);
  fixture.put_directly(2, 2);
  REQUIRE_FALSE(fixture.truth.has_row("by_n", "n", 1, fixture.id));
  fixture.route.heal();
  fixture.await_row("by_n", "n", 1);
  CHECK(fixture.query("by_n", {"n=1"}).empty());
  CHECK(fixture.findings().size() == 1);
  fixture.check_nothing_missing();
}

TEST_CASE("a row of a UNIQUE index that arrives late neither blocks nor replaces the right one") {
  LateFixture fixture;
  const cli::ProcessResult failed =
      fixture.run_into(1, fixture.insert_into("by_owner"), {"put"}, entity(fixture.id, 2, 1));
  if (failed.status == 0) {  // the second try was in time
    REQUIRE(fixture.datastore.remove({*Uuid::parse(fixture.id)}).front().status == WriteStatus::stored);
  }
  SUBCASE("before the right one") {
    fixture.route.heal();
    fixture.await_row("by_owner", "owner", 1);
    fixture.put_directly(2, 3);
  }
  SUBCASE("after the right one") {
    fixture.put_directly(2, 3);
    const std::uint64_t before = fixture.executed(1, "insert");
    fixture.route.heal();
    wait_until("the late one arrives", [&] { return fixture.executed(1, "insert") > before; });
  }
  CHECK(fixture.truth.has_row("by_owner", "owner", 3, fixture.id));
  CHECK_FALSE(fixture.truth.has_row("by_owner", "owner", 1, fixture.id));
  fixture.check_nothing_missing();
}

TEST_CASE("a delete of reconcile that arrives late does not remove a row that became right again") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "DELETE r FROM", {Kind::stall, 60s}));
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
  REQUIRE(fixture.route.proxy(1).struck().starts_with("DELETE r FROM"));
  fixture.put_directly(1, 1);
  const std::uint64_t before = fixture.executed(1, "delete_multi");
  fixture.route.heal();
  wait_until("the late one arrives", [&] { return fixture.executed(1, "delete_multi") > before; });
  fixture.check_nothing_missing();
}

TEST_CASE("a commit of reconcile that arrives late does not remove a row that became right again") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "COMMIT", {Kind::stall, 60s}));
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
  REQUIRE(fixture.route.proxy(1).struck() == "COMMIT");
  cli::Process right_again = fixture.cluster.start({"put"}, entity(fixture.id, 1, 1));
  CHECK(fixture.cluster.await_lock_wait(1));  // for the row that is being deleted
  CHECK(right_again.out().empty());
  fixture.route.heal();
  check_acknowledged(right_again.wait(), fixture.id);
  fixture.check_nothing_missing();
}

TEST_CASE("a DROP TABLE that arrives late does not take the table of an index that was created since") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  REQUIRE(fixture.run_into(1, "DROP TABLE by_n", {"drop-index", "by_n", "--yes"}).status == 3);
  std::jthread arrival([&] {
    std::this_thread::sleep_for(2s);
    fixture.route.heal();
  });
  fixture.datastore.drop_index("by_n");
  fixture.create_index(by_n_sharded);
  JobControl control;
  fixture.datastore.backfill({.tables = {"by_n"}}, control);
  arrival.join();
  const std::string table =
      "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'by_n'";
  std::this_thread::sleep_for(1s);
  CHECK_FALSE(fixture.truth.query(1, table).empty());
  CHECK(fixture.query("by_n", {"n=1"}) == std::vector<std::string>{fixture.id});
  fixture.check_nothing_missing();
}

TEST_CASE("a sweep of orphans that waits for a silent shard does not hold up the writers of another") {
  LateFixture fixture;  // the entity is not there
  fixture.cluster.sql(1, fmt::format("INSERT INTO by_n VALUES (1, x'{}')", fixture.id));
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "DELETE r FROM", {Kind::silent}));
  cli::Process sweep = fixture.start({"clean", "--full", "--timeout", "25"});
  wait_until(
      "the sweep hangs", [&] { return !fixture.route.proxy(1).struck().empty(); }, 60s);
  const auto is_held = [&] {
    try {
      fixture.truth.query(0, "SELECT 1 FROM looseleaf_shard FOR UPDATE NOWAIT");
      return false;
    } catch (const sql::ServerError&) {
      return true;
    }
  };
  wait_until("its statement has timed out", [&] { return !is_held(); });
  int held = 0;
  for (const auto until = Clock::now() + 6s; Clock::now() < until; std::this_thread::sleep_for(50ms)) {
    held += is_held() ? 1 : 0;
  }
  CHECK(held < 10);
  fixture.route.heal();
  const cli::ProcessResult result = sweep.wait();
  CHECK_MESSAGE(result.status == 0, result.err);
  fixture.check_everything();
}

TEST_CASE("a job lets go of its lock when it ends, however late its server learns that the connection was closed") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    fixture.route.proxy(shard).judge_by([](const Packet& packet) {
      return packet.ends_session ? Verdict{Kind::stall, 600s} : Verdict{};
    });
  }
  JobControl control;
  SUBCASE("a clean") {
    CHECK(fixture.start({"clean"}).wait().status == 0);
    CHECK_NOTHROW(fixture.datastore.clean({}, control));
  }
  SUBCASE("a backfill that is stopped") {
    if (!base::failpoints_enabled) {
      MESSAGE("skipped: this build has no failpoints");
      return;
    }
    fixture.create_index(R"({"table": "late", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
    cli::Process backfill = fixture.start({"backfill", "late"}, {}, "backfill.read:before@0#1=stop");
    REQUIRE(wait_until_stopped(backfill));
    backfill.signal(SIGINT);
    backfill.signal(SIGCONT);
    CHECK(backfill.wait().status == 130);
    for (const ShardStatus& shard : fixture.datastore.status().shards) {
      REQUIRE(shard.jobs.size() == 1);
      CHECK(shard.jobs.front().holder == "");
    }
    CHECK(fixture.datastore.backfill({}, control).ready == std::vector<std::string>{"late"});
  }
  // The proxy may read the end of a session after the process has ended.
  wait_until("an end stalls", [&] { return fixture.route.proxy(0).struck() == "(no statement)"; });
  fixture.route.heal();
  fixture.check_nothing_missing();
}

TEST_CASE("a job is not refused by its own session that got the lock and could not say so") {
  LateFixture fixture;
  fixture.create_index(R"({"table": "late", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  const auto answered = std::make_shared<bool>(false);
  fixture.route.proxy(0).judge_by([answered](const Packet& packet) {
    const bool strikes = !*answered && packet.direction == Direction::to_client &&
                         packet.statement.starts_with("SELECT GET_LOCK('") &&
                         packet.statement.find("looseleaf.own.") == std::string_view::npos;
    *answered = *answered || strikes;
    return strikes ? Verdict{Kind::stall, 600s} : Verdict{};
  });
  const cli::ProcessResult result = fixture.start({"clean", "--timeout", "20"}).wait();
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(fixture.route.proxy(0).struck().starts_with("SELECT GET_LOCK('"));
  fixture.route.heal();
  fixture.check_nothing_missing();
}

TEST_CASE("a job that lost its lock's connection is not refused by the session that its server still keeps") {
  LateFixture fixture;
  for (std::uint64_t i = 0; i < 80; ++i) {
    REQUIRE(put_one(fixture.datastore, entity(id_of(i), 1, 1)) == WriteStatus::stored);
  }
  fixture.create_index(R"({"table": "late", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  const auto asked = std::make_shared<bool>(false);
  fixture.route.proxy(0).judge_by([asked](const Packet& packet) {
    const bool strikes = !*asked && packet.direction == Direction::to_server && packet.statement == "SELECT 1";
    *asked = *asked || strikes;
    return strikes ? Verdict{Kind::stall, 600s} : Verdict{};
  });
  const cli::ProcessResult result = fixture.start({"backfill", "late", "--max-rate", "20", "--timeout", "6"}).wait();
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(fixture.route.proxy(0).struck() == "SELECT 1");
  fixture.route.heal();
  fixture.check_nothing_missing();
}

}  // namespace
}  // namespace looseleaf::test
