// Servers that fail in every way of docs/operations.md, "Server errors": what is said, that nothing is lost, and that
// everything works again when the fault ends.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "tests/proof/faulty_servers.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// A put that fails with one message which says so, and is not tried until the time, which is 30 s, is up.
void check_refused_at_once(const Store& store, std::string_view input, std::string_view out,
                           const std::vector<std::string>& err) {
  const auto begin = std::chrono::steady_clock::now();
  const cli::ProcessResult result = store.looseleaf({"put"}, input);
  CHECK(std::chrono::steady_clock::now() - begin < 25s);
  check_run(result, 3, out, err);
  CHECK(times("looseleaf: error: ", result.err) == 1);
  CHECK_MESSAGE(result.err.find("retried until") == std::string::npos, result.err);
}

// The command fails with these parts on standard error, in which {} is its --timeout, and prints nothing. A machine
// that stands still may let its last try end by running out of time instead: then it is given more.
void check_in_vain(const Store& store, const std::vector<std::string>& arguments, std::string_view input,
                   const std::vector<std::string>& err, const std::vector<const char*>& timeouts = {"1", "4", "16"}) {
  cli::ProcessResult result;
  std::vector<std::string> parts;
  for (const char* const timeout : timeouts) {
    parts.clear();
    for (const std::string& part : err) {
      parts.push_back(fmt::format(fmt::runtime(part), timeout));
    }
    result = store.looseleaf(joined(arguments, {"--timeout", timeout}), input);
    if (holds_in_order(result.err, parts)) {
      break;
    }
  }
  check_run(result, 3, "", parts);
}

// Waits until the account's put waits for an entity's lock; returns its session.
std::string wait_for_put(sql::Connection& admin) {
  std::string session;
  wait_until("the put waits", [&] {
    const sql::Result waiting = admin.query(
        "SELECT id FROM information_schema.processlist WHERE user = 'app' AND info LIKE '%entities WHERE%FOR UPDATE%'");
    session = waiting.empty() ? "" : waiting.text(0, 0);
    return !session.empty();
  });
  return session;
}

// MariaDB refuses who is one too many when it knows the user, and has counted the connection by then.
constexpr const char* refused_connections = "'Connections', 'Connection_errors_max_connections'";

// Waits until the sum of some counters of the server has grown by this.
class StatusCounter {
 public:
  StatusCounter(sql::Connection& admin, std::string names) : admin_(admin), names_(std::move(names)), before_(read()) {}

  void wait_for_growth(std::uint64_t by) const {
    wait_until(names_ + " grows", [&] { return read() >= before_ + by; });
  }

 private:
  [[nodiscard]] std::uint64_t read() const {
    const sql::Result result = admin_.query("SHOW GLOBAL STATUS WHERE variable_name IN (" + names_ + ")");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      sum += result.unsigned_integer(i, 1);
    }
    return sum;
  }

  sql::Connection& admin_;
  std::string names_;
  std::uint64_t before_;
};

// Puts entities, then changes the indexed values of all, while `disturb` does its worst 20 times, or until that was in
// the way once, when it returns something else than 0. All of them must be acknowledged and right. On a busy machine a
// whole put may pass between two disturbances, so it is repeated until it was disturbed.
void check_unimpressed_by(const Store& store, const std::function<int(const cli::Process& put)>& disturb,
                          std::uint64_t count = 6000) {
  for (const char* const members : {R"("n":{})", R"("n":1{})"}) {
    int done = 0;
    for (int repetition = 0; done == 0 && repetition < 20; ++repetition) {
      cli::Process put = store.start({"put"}, entity_lines(count, members));
      for (int i = 0; !cli::is_gone(put.pid()) && (i < 20 || done == 0); ++i) {
        done += disturb(put);
        std::this_thread::sleep_for(60ms);
      }
      check_went_well(put.wait(), id_lines(count));
    }
    CHECK(done > 0);
  }
  store.check_all_is_well(id_lines(count));
  CHECK(store.looseleaf({"get", "-"}, id_lines(count)).out == entity_lines(count, R"("n":1{})"));
  CHECK(lines_of(store.looseleaf({"query", "by_n", "--ids"}).out).size() == count);
}

// Kills what the account runs on every server; `what` is CONNECTION or QUERY. Returns how many there were.
int kill_all(const std::vector<std::unique_ptr<sql::Connection>>& admins, const std::string& what) {
  int killed = 0;
  for (const auto& admin : admins) {
    const sql::Result sessions =
        admin->query("SELECT id FROM information_schema.processlist WHERE user = 'app' AND " +
                     std::string(what == "QUERY" ? "command = 'Query'" : "id <> CONNECTION_ID()"));
    for (std::size_t row = 0; row < sessions.size(); ++row) {
      try {
        admin->execute("KILL " + what + " " + sessions.text(row, 0));
        ++killed;
      } catch (const sql::ServerError&) {  // it has ended by itself
      }
    }
  }
  return killed;
}

std::vector<std::unique_ptr<sql::Connection>> admins(const Store& store) {
  std::vector<std::unique_ptr<sql::Connection>> connections;
  connections.push_back(store.admin(0));
  connections.push_back(store.admin(1));
  return connections;
}

TEST_CASE("connections that are killed cost a put nothing but time") {
  const Store store;
  const auto killers = admins(store);
  check_unimpressed_by(store, [&](const cli::Process&) { return kill_all(killers, "CONNECTION"); });
}

TEST_CASE("statements that are killed cost a put nothing but time") {
  const Store store;
  const auto killers = admins(store);
  check_unimpressed_by(store, [&](const cli::Process&) {
    int killed = 0;
    for (int i = 0; i < 10; ++i) {
      killed += kill_all(killers, "QUERY");
    }
    return killed;
  });
}

TEST_CASE("a statement that is killed while it waits for a lock is tried again") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const auto other = store.admin(0);
  const auto killer = store.admin(0);
  other->execute("START TRANSACTION");
  static_cast<void>(other->query("SELECT 1 FROM entities FOR UPDATE"));
  cli::Process put = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  for (int i = 0; i < 3; ++i) {
    killer->execute("KILL QUERY " + wait_for_put(*killer));
    std::this_thread::sleep_for(50ms);
  }
  static_cast<void>(wait_for_put(*killer));
  CHECK(put.out().empty());
  other->execute("ROLLBACK");
  check_went_well(put.wait(), id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

TEST_CASE("a server that is read-only for a moment costs a put nothing but time") {
  const Store store;
  const Setting setting(store.cluster, "read_only", "0");
  constexpr std::uint64_t count = 20'000;
  const auto in_the_middle = [&](const cli::Process& put) {
    const std::size_t all = id_lines(count).size();
    setting.set("1");
    const std::size_t printed = put.out().size();
    std::this_thread::sleep_for(60ms);
    setting.set("0");
    wait_until("put prints ids", [&] { return put.out().size() > printed || printed == all; });
    return printed > 0 && printed < all ? 1 : 0;
  };
  check_unimpressed_by(store, in_the_middle, count);
}

TEST_CASE("a server that is shut down in order and started again costs a put nothing but time") {
  const Store store(TestCluster({.shards = 2, .servers = 0, .extra_args = {}}));
  constexpr std::uint64_t count = 20'000;
  cli::Process put = store.start({"put"}, entity_lines(count, R"("n":{})"));
  for (int i = 0; i < 300 && put.out().size() < 33 * 300; ++i) {
    std::this_thread::sleep_for(20ms);
  }
  store.cluster.sandbox().stop_server(1);
  store.cluster.sandbox().start_server(1);
  check_went_well(put.wait(), id_lines(count));
  store.check_all_is_well(id_lines(count));
}

TEST_CASE("a server whose connections are all taken is asked again until the time is up") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const auto admin = store.admin(0);  // before there is no room
  const Setting setting(store.cluster, "max_connections", "12");
  std::vector<std::unique_ptr<sql::Connection>> taken;
  const auto take_all = [&] {
    try {
      while (true) {
        taken.push_back(store.app(0));
      }
    } catch (const sql::ServerError& error) {
      REQUIRE(error.number() == 1040);
    }
  };
  // The server may still count what others have closed, and would have room for a put as soon as it does not.
  wait_until("nobody else is connected",
             [&] { return admin->query("SHOW GLOBAL STATUS LIKE 'Threads_connected'").unsigned_integer(0, 1) == 1; });
  take_all();
  check_in_vain(store, {"put"}, entity(0, "\"n\":2"),
                {"looseleaf: error: the server has too many connections\n", "code: 1040\n", "shard: 0\n",
                 "hint: raise max_connections on the server, or run fewer commands at once; retried until --timeout "
                 "({} s) expired\n"});
  const StatusCounter refused(*admin, refused_connections);
  cli::Process patient = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  refused.wait_for_growth(3);
  taken.clear();
  check_went_well(patient.wait(), id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

TEST_CASE("an account that has used up its quota is told so at once") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const Finally restore(
      [&] { store.cluster.server_sql(0, "ALTER USER app@localhost WITH MAX_CONNECTIONS_PER_HOUR 0"); });
  store.cluster.server_sql(0, "ALTER USER app@localhost WITH MAX_CONNECTIONS_PER_HOUR 1");
  static_cast<void>(store.app(0));
  check_refused_at_once(store, entity(0, "\"n\":2"), "",
                        {"looseleaf: error: the user has used up a quota\n", "code: 1226\n", "shard: 0\n",
                         "hint: raise the user's resource limits"});
  store.cluster.server_sql(0, "ALTER USER app@localhost WITH MAX_CONNECTIONS_PER_HOUR 0");
  check_run(store.looseleaf({"put"}, entity(0, "\"n\":2")), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

TEST_CASE("an account that may have no more connections for now is tried again until the time is up") {
  const Store store(TestCluster({.shards = 1, .servers = 0, .extra_args = {"--max-user-connections=3"}}));
  put_all(store.cluster, entity(0));
  const auto admin = store.admin(0);
  std::vector<std::unique_ptr<sql::Connection>> taken;
  while (taken.size() < 3) {
    taken.push_back(store.app(0));
  }
  check_in_vain(store, {"get", id_of(0)}, {},
                {"looseleaf: error: the user has too many connections\n", "shard: 0\n", "code: 1203\n",
                 "hint: raise max_user_connections, or run fewer commands at once; retried until --timeout ({} s) "
                 "expired\n"});
  const StatusCounter refused(*admin, refused_connections);
  cli::Process patient = store.start({"get", id_of(0), "--timeout", "20"});
  refused.wait_for_growth(3);
  taken.clear();
  check_went_well(patient.wait(), entity(0) + "\n");
}

TEST_CASE("a global read lock, as a backup takes it, is waited for until the time is up") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const auto backup = store.admin(0);
  backup->execute("FLUSH TABLES WITH READ LOCK");
  check_in_vain(store, {"put"}, entity(0, "\"n\":2"),
                {"looseleaf: error: the transaction conflicted with another one\n", "code: 1205\n", "shard: 0\n",
                 "hint: look for long transactions and locks on the server, such as a backup's\n"},
                {"3", "10", "20"});  // the server waits for 2 s
  cli::Process patient = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  static_cast<void>(wait_for_put(*backup));
  CHECK(patient.out().empty());
  backup->execute("UNLOCK TABLES");
  check_run(patient.wait(), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

TEST_CASE("a put that a deadlock rolled back is done again") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const auto other = store.admin(0);
  other->execute("START TRANSACTION");
  // With more changes than the put, so that the server chooses the put for its victim.
  other->execute("INSERT INTO by_n VALUES (8, x'00000000000000000000000000000001')");
  static_cast<void>(other->query("SELECT 1 FROM entities FOR UPDATE"));
  cli::Process put = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  static_cast<void>(wait_for_put(*other));
  const auto deadlocks = [&] {
    return other->query("SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'")
        .unsigned_integer(0, 0);
  };
  REQUIRE(store.cluster.await_lock_wait(0));  // its statement may wait before it has the fence and wants the row
  const std::uint64_t before = deadlocks();
  static_cast<void>(other->query("SELECT 1 FROM looseleaf_shard FOR UPDATE"));  // the put holds it, and waits for us
  CHECK(deadlocks() > before);                                                  // no lock wait time-out
  CHECK(put.out().empty());
  other->execute("ROLLBACK");
  check_run(put.wait(), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

TEST_CASE("statements that run into the server's time limit are tried again until the time is up") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const Setting limit(store.cluster, on_mysql() ? "max_execution_time" : "max_statement_time",
                      on_mysql() ? "500" : "0.5");
  const auto other = store.admin(0);
  other->execute("START TRANSACTION");
  static_cast<void>(other->query("SELECT 1 FROM entities FOR UPDATE"));
  check_in_vain(
      store, {"put"}, entity(0, "\"n\":2"),
      {"looseleaf: error: the server ended the statement early\n", on_mysql() ? "code: 3024\n" : "code: 1969\n",
       "shard: 0\n", "hint: raise the server's time limit for statements, or find out what kills them\n"});
  const StatusCounter ended(*other, "'Max_statement_time_exceeded', 'Max_execution_time_exceeded'");
  cli::Process patient = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  ended.wait_for_growth(2);
  CHECK(patient.out().empty());
  other->execute("ROLLBACK");
  check_went_well(patient.wait(), id_of(0) + "\n");
  limit.restore();
  store.check_all_is_well(id_of(0));
}

TEST_CASE("an index table that somebody dropped fails what needs it, and nothing else") {
  const Store store;
  const std::string by_m = R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}], "shard_on": "m"})";
  check_status(store.looseleaf({"create-index", store.write("by_m.json", by_m), "--backfill", "--quiet"}), 0);
  put_all(store.cluster, entity(0, "\"n\":1"));
  store.cluster.sql(1, "DROP TABLE by_n");
  check_refused_at_once(store, entity(0, "\"n\":3") + entity(2, "\"n\":2,\"m\":3"), id_of(2) + "\n",
                        {"looseleaf: error: a table does not exist\n", "code: 1146\n", "shard: 1\n", "hint: "});
  check_run(store.looseleaf({"query", "by_n", "n=1", "--timeout", "2"}), 3, "",
            {"looseleaf: error: a table does not exist\n", "shard: 1\n", "hint: "});
  CHECK(store.looseleaf({"verify", "--grace", "0"})
            .out.starts_with("table_differs by_n shard 1 the table does not exist\n"));
  CHECK(store.looseleaf({"drop-index", "by_n", "--yes", "--quiet"}).status == 0);
  check_status(store.looseleaf({"create-index", store.write("by_n.json", by_n), "--backfill", "--quiet"}), 0);
  check_run(store.looseleaf({"put"}, entity(0, "\"n\":3")), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0) + "\n" + id_of(2));
}

TEST_CASE("an index table that the server cannot open fails what needs it, and nothing else") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  store.cluster.sql(1, "ALTER TABLE by_n DISCARD TABLESPACE");
  const std::vector<std::string> err = {"looseleaf: error: the server cannot open a table's file\n", "code: 1814\n",
                                        "shard: 1\n", "hint: restore the table from a backup"};
  check_refused_at_once(store, entity(0, "\"n\":3") + entity(2, "\"n\":2"), id_of(2) + "\n", err);
  check_run(store.looseleaf({"query", "by_n", "n=1", "--timeout", "2"}), 3, "", err);
  check_run(store.looseleaf({"verify", "--grace", "0", "--timeout", "2"}), 3, "", err);
  check_status(store.looseleaf({"drop-index", "by_n", "--yes", "--quiet"}), 0);
  check_status(store.looseleaf({"create-index", store.write("by_n.json", by_n), "--backfill", "--quiet"}), 0);
  check_run(store.looseleaf({"put"}, entity(0, "\"n\":3")), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0) + "\n" + id_of(2));
}

TEST_CASE("an account that lost a privilege fails what needs it, and nothing is lost") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  store.cluster.server_sql(1, "REVOKE INSERT ON " + store.cluster.database(1) + ".* FROM app@localhost");
  check_refused_at_once(store, entity(0, "\"n\":3") + entity(2, "\"n\":2"), id_of(2) + "\n",
                        {"looseleaf: error: the user lacks a privilege\n", "code: 1142\n", "shard: 1\n",
                         "hint: grant the user what its role needs on the shard's database\n"});
  check_run(store.looseleaf({"get", id_of(0)}), 0, entity(0, "\"n\":1") + "\n");
  store.cluster.server_sql(1, "GRANT INSERT ON " + store.cluster.database(1) + ".* TO app@localhost");
  check_run(store.looseleaf({"put"}, entity(0, "\"n\":3")), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0) + "\n" + id_of(2));
}

TEST_CASE("an account that is locked, or whose password has expired, is told so at once") {
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const Finally restore([&] {
    store.cluster.server_sql(
        0, "ALTER USER app@localhost IDENTIFIED BY 'secret'; ALTER USER app@localhost ACCOUNT UNLOCK");
  });
  store.cluster.server_sql(0, "ALTER USER app@localhost ACCOUNT LOCK");
  check_refused_at_once(store, entity(0, "\"n\":2"), "",
                        {"looseleaf: error: the account is locked\n", on_mysql() ? "code: 3118\n" : "code: 4151\n",
                         "shard: 0\n", "hint: unlock the user on the server\n"});
  store.cluster.server_sql(0, "ALTER USER app@localhost ACCOUNT UNLOCK; ALTER USER app@localhost PASSWORD EXPIRE");
  check_refused_at_once(store, entity(0, "\"n\":2"), "",
                        {"looseleaf: error: the password has expired\n", "code: 18", "shard: 0\n",
                         "hint: set a new password for the user\n"});
  store.cluster.server_sql(0, "ALTER USER app@localhost IDENTIFIED BY 'secret'");
  check_run(store.looseleaf({"put"}, entity(0, "\"n\":2")), 0, id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

#ifdef LOOSELEAF_FOUND_ROWS
TEST_CASE("a connection that counts found rows stores nothing that has index rows") {
  const Store store;
  const auto put = [&](const std::string& preloaded) {
    return start({"env", "LD_PRELOAD=" + preloaded, looseleaf_program(), "--cluster", store.cluster.file(), "put"},
                 entity(0, "\"n\":1"))
        .wait();
  };
  for (int time = 0; time < 2; ++time) {  // the row is new, and then it is there
    check_run(put(LOOSELEAF_FOUND_ROWS), 3, "",
              {"looseleaf: error: the connection counts rows that did not change\n",
               "hint: let the proxy connect without CLIENT_FOUND_ROWS (ProxySQL: mysql-client_found_rows=false)\n"});
    CHECK(put("").status == 0);
  }
}
#endif

TEST_CASE("a server that was taken offline is asked again until the time is up") {
  if (!on_mysql()) {
    MESSAGE("skipped: only MySQL has offline_mode");
    return;
  }
  const Store store;
  put_all(store.cluster, entity(0, "\"n\":1"));
  const auto admin = store.admin(0);
  const Setting offline(store.cluster, "offline_mode", "1");
  check_in_vain(
      store, {"put"}, entity(0, "\"n\":2"),
      {"looseleaf: error: the server is temporarily not accepting connections\n", "code: 3032\n", "shard: 0\n"});
  const StatusCounter refused(*admin, refused_connections);
  cli::Process patient = store.start({"put", "--timeout", "20"}, entity(0, "\"n\":2"));
  refused.wait_for_growth(3);
  offline.restore();
  // Nobody waits for the other server after the commit: there may be a warning if it still was offline then.
  check_went_well(patient.wait(), id_of(0) + "\n");
  store.check_all_is_well(id_of(0));
}

// Entities whose bodies take 100 KiB each.
std::string large_entities(std::uint64_t count) {
  return entity_lines(count, fmt::format(R"("n":{{}},"fill":"{}")", noise(137'000)));
}

TEST_CASE("a tablespace that is full fails at once what needs room, and what was acknowledged is there") {
  const Store store(TestCluster(
      {.shards = 2,
       .servers = 0,
       .extra_args = {"--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M:autoextend:max:20M"}}));
  const auto begin = std::chrono::steady_clock::now();
  const cli::ProcessResult full = store.looseleaf({"put"}, large_entities(300));
  CHECK(std::chrono::steady_clock::now() - begin < 25s);
  check_status(full, 3,
               {"looseleaf: error: a table or tablespace is full\n", "code: 1114\n",
                "hint: make room on the server's disk, then run the command again\n", " more\n", "looseleaf: stored "});
  CHECK(!full.out.empty());
  CHECK(lines_of(full.out).size() < 300);
  CHECK(rows_of(store.cluster, "entities") == lines_of(full.out).size());
  store.check_all_is_well(full.out);
}

TEST_CASE("a disk that is full fails what needs room, and what was acknowledged is there") {
  const SmallDisk disk;
  if (!disk.mounted()) {
    MESSAGE("skipped: mounting a file system is not permitted here");
    return;
  }
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "/tmp";
  ::setenv("TMPDIR", disk.path().c_str(), 1);
  const Finally restore([&] { ::setenv("TMPDIR", kept.c_str(), 1); });
  const Store store(TestCluster({.shards = 2, .servers = 0, .extra_args = {}}));
  disk.fill(1 << 20);
  const std::string input = large_entities(60);
  // A server whose disk is full may refuse, hang, or end itself.
  const cli::ProcessResult full = store.looseleaf({"put", "--timeout", "3"}, input);
  CHECK_MESSAGE(full.status == 3, full.err);
  CHECK(lines_of(full.out).size() < 60);
  CHECK(std::filesystem::space(disk.path()).available < 128 * 1024);  // one body more does not fit
  disk.make_room();
  store.cluster.sandbox().start_server(0);
  store.cluster.sandbox().start_server(1);
  store.check_all_is_well(full.out);
  check_run(store.looseleaf({"put"}, input), 0, id_lines(60));
  store.check_all_is_well(id_lines(60));
}

}  // namespace
}  // namespace looseleaf::test
