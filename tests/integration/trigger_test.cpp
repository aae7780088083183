// Triggers: every change reaches the command at least once, whatever dies, and processes divide the shards.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/sandbox/processes.hpp"
#include "shard/placement.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using Json = nlohmann::json;

constexpr auto takeover = std::chrono::seconds(30);  // 11 on a machine that is not busy

// The ids in a file of change lines, in order.
std::vector<std::string> ids_in(const std::string& file) {
  std::vector<std::string> ids;
  const std::string text = read_text(file);
  for (const std::string& line : lines_of(text.substr(0, text.rfind('\n') + 1))) {  // the last one may be incomplete
    ids.push_back(Json::parse(line)["id"]);
  }
  return ids;
}

bool has_all(const std::string& file, std::uint64_t from, std::uint64_t until) {
  const std::vector<std::string> ids = ids_in(file);
  for (std::uint64_t number = from; number < until; ++number) {
    if (std::find(ids.begin(), ids.end(), id_of(number)) == ids.end()) {
      return false;
    }
  }
  return true;
}

// `trigger run t` with a command for the shell, in which $0 is `file`.
std::vector<std::string> run_with(const std::string& script, const std::string& file,
                                  const std::vector<std::string>& options = {}, const std::string& trigger = "t") {
  return joined(joined({"trigger", "run", trigger}, options), {"--", "sh", "-c", script, file});
}

std::vector<std::string> append_to(const std::string& file) {
  return run_with("cat >> $0", file);
}

void stop(cli::Process& process) {
  check_status(end_by(SIGTERM, process), 143, {"looseleaf: delivered "});
}

// Null if it does not exist yet.
Json trigger_of(const TestCluster& cluster, const std::string& trigger = "t") {
  const cli::ProcessResult listed = cluster.looseleaf({"trigger", "list", "--output", "json"});
  CHECK_MESSAGE(listed.status == 0, listed.err);
  for (const std::string& line : lines_of(listed.out)) {
    if (Json found = Json::parse(line); found.value("trigger", "") == trigger) {
      return found;
    }
  }
  return {};
}

// The row is part of the report, because the cause of a delivery that does not come is there.
void wait_delivered(const TestCluster& cluster, std::uint64_t changes) {
  Json trigger;
  INFO("the trigger: ", trigger.dump());
  wait_until("so many changes are delivered: " + std::to_string(changes), [&] {
    trigger = trigger_of(cluster);
    return trigger["delivered"] >= changes;  // a change during the scan comes twice
  });
}

// A store of so many shards, and a file for what its triggers deliver.
template <std::uint32_t shards>
struct Triggered {
  TestCluster cluster = initialised(shards);
  std::string file = cluster.directory().path() + "/out";
};

bool exists(const std::string& file) {
  return ::access(file.c_str(), F_OK) == 0;
}

TEST_CASE_FIXTURE(
    Triggered<2>,
    "a trigger delivers all entities and then every change, in batches, and goes on where it was stopped") {
  put_all(cluster, entity_lines(10));
  cli::Process first = cluster.start(run_with("tee -a $0 | wc -l >> $0.sizes", file, {"--batch", "3"}));
  wait_until("all are delivered", [&] { return has_all(file, 0, 10); });
  put_all(cluster, entity(3, R"("n":1)"));
  check_status(cluster.looseleaf({"delete", id_of(4)}), 0);
  wait_until("the changes are delivered", [&] { return ids_in(file).size() == 12; });
  stop(first);
  for (const std::string& size : lines_of(read_text(file + ".sizes"))) {
    CHECK(std::stoi(size) <= 3);
  }
  put_all(cluster, entity(20));
  cli::Process second = cluster.start(append_to(file));
  wait_until("the new entity is delivered", [&] { return has_all(file, 20, 21); });
  stop(second);
  CHECK(ids_in(file).size() == 13);
  const Json trigger = trigger_of(cluster);
  CHECK(trigger["delivered"] == 13);
  CHECK(trigger["lag_changes"] == 0);
  CHECK(trigger["shards"][0]["holder"].is_null());
}

TEST_CASE("a server that dies while a batch is delivered delays what comes from the others by seconds") {
  const TestCluster cluster = initialised_alone(2);
  const std::string file = cluster.directory().path() + "/out";
  put_all(cluster, entity_lines(2));
  cli::Process trigger = cluster.start(run_with("cat >> $0; sleep 3", file));
  wait_until("the command has a batch", [&] { return has_all(file, 0, 2); });
  cluster.sandbox().kill_server(1);
  put_all(cluster, entity(2));
  wait_until(
      "the other shard goes on", [&] { return has_all(file, 2, 3); }, std::chrono::seconds(25));  // the timeout is 30
  end_by(SIGKILL, trigger);
}

// The batch has a page of shard 1 when the server dies. The next page cannot be read, then the position cannot be
// stored, and then the trigger's row cannot be read. Each of these is a failure that the process could print.
TEST_CASE("a shard that dies is told of once, also if its position can no longer be stored" * needs_failpoints) {
  const TestCluster cluster = initialised_alone(2);
  const std::string file = cluster.directory().path() + "/out";
  cli::Process trigger = cluster.start(
      run_with("cat >> $0; until [ -e $0.go ]; do sleep 0.1; done", file, {"--after", "now", "--timeout", "2"}), {},
      "feed.read:before@0#1=sleep:3000,feed.read:before@1#2=sleep:7000");
  wait_until("it has begun", [&] { return contains(trigger.err(), "reading 2 shards: 0, 1\n"); });
  trigger.signal(SIGSTOP);
  put_all(cluster, entity_lines(1200));
  trigger.signal(SIGCONT);
  wait_until("the command has a batch", [&] { return ids_in(file).size() == 1000; });
  cluster.sandbox().kill_server(1);
  wait_until("the failure is told", [&] { return contains(trigger.err(), "error: "); });
  std::ofstream(file + ".go");
  wait_until("the shard is lost", [&] { return contains(trigger.err(), "reading 1 shard: 0\n"); });
  std::this_thread::sleep_for(std::chrono::seconds(3));  // more than a look
  CHECK_MESSAGE(times("error: ", trigger.err()) == 1, trigger.err());
  cluster.sandbox().start_server(1);
  wait_until("it is delivered", [&] { return has_all(file, 0, 1200); });
  stop(trigger);
  CHECK(times("error: ", trigger.err()) == 1);
  CHECK(times("shard 1 works again\n", trigger.err()) == 1);
}

TEST_CASE_FIXTURE(Triggered<2>, "a shard that cannot be read does not work again because another process takes it") {
  cluster.everywhere("RENAME TABLE entities TO hidden");
  cli::Process first = cluster.start(append_to(file));
  wait_until("both failures are told", [&] { return times("error: a table does not exist\n", first.err()) == 2; });
  cli::Process second = cluster.start(append_to(file));
  wait_until("it takes one", [&] { return contains(first.err(), "reading 1 shard: "); });
  std::this_thread::sleep_for(std::chrono::seconds(3));  // more than a look
  CHECK_MESSAGE(times("error: ", first.err()) == 2, first.err());
  CHECK(times("works again", first.err()) == 0);
  cluster.everywhere("RENAME TABLE hidden TO entities");
  wait_until("the other one works", [&] { return times("works again", first.err()) == 1; });
  stop(second);
  stop(first);
}

TEST_CASE_FIXTURE(Triggered<1>, "a trigger that is stopped among many rows with one stamp goes on among them") {
  put_all(cluster, entity(0));
  cli::Process beginning = cluster.start(append_to(file));
  wait_delivered(cluster, 1);
  stop(beginning);
  put_all(cluster, entity_lines(1700));
  cluster.sql(0, "UPDATE entities SET updated = (SELECT s FROM (SELECT MAX(updated) AS s FROM entities) AS m)");
  cli::Process first = cluster.start(run_with("cat >> $0; sleep 2", file, {"--batch", "300"}));
  wait_until("some are delivered", [&] { return ids_in(file).size() >= 301; });
  stop(first);
  CHECK(trigger_of(cluster)["lag_changes"] > 0);
  cli::Process second = cluster.start(append_to(file));
  wait_until("the others are delivered", [&] { return trigger_of(cluster)["lag_changes"] == 0; });
  stop(second);
  CHECK(ids_in(file).size() == 1701);
  CHECK(has_all(file, 0, 1700));
}

TEST_CASE_FIXTURE(Triggered<2>,
                  "a new trigger begins now if it is told so, and a filter says which entities do not match") {
  put_all(cluster, entity_lines(3, R"("kind":"cat")"));
  cli::Process process = cluster.start(run_with("cat >> $0", file, {"--after", "now", "--where", "kind=cat"}));
  wait_until("it has begun", [&] { return contains(process.err(), "reading 2 shards: 0, 1"); });
  put_all(cluster, entity(1, R"("kind":"dog")") + "\n" + entity(7, R"("kind":"cat")"));
  wait_until("the changes are delivered", [&] { return ids_in(file).size() == 2; });
  stop(process);
  CHECK(contains(read_text(file), R"("matches":false)"));
  cli::Process again = cluster.start(run_with("cat >> $0", file, {"--after", "beginning"}));
  put_all(cluster, entity(8));
  wait_until("the next change is delivered", [&] { return has_all(file, 8, 9); });
  stop(again);
  CHECK(contains(again.err(), "warning: the trigger exists and goes on where it was, so --after is not used\n"));
  CHECK(contains(again.err(),
                 "hint: to begin there, stop the trigger and run `looseleaf trigger reset t --after beginning`\n"));
  CHECK_FALSE(has_all(file, 0, 1));
}

TEST_CASE_FIXTURE(Triggered<1>, "a command gets its arguments as they are, also those in brackets") {
  cli::Process process =
      cluster.start(joined(run_with(R"(printf '<%s>' "$@" > $0)", file), {"[.id, .n]", "[]", "[[a]]", "--x"}));
  put_all(cluster, entity(1));
  wait_until("it has run", [&] { return contains(read_text(file), "--x"); });
  stop(process);
  CHECK(read_text(file) == "<[.id, .n]><[]><[[a]]><--x>");
}

TEST_CASE("two processes divide the shards, and another one takes over from one that was killed") {
  const TestCluster cluster = initialised();
  const std::string files[] = {cluster.directory().path() + "/a", cluster.directory().path() + "/b"};
  cli::Process first = cluster.start(append_to(files[0])), second = cluster.start(append_to(files[1]));
  for (const cli::Process* process : {&first, &second}) {
    wait_until("it reads one shard", [&] { return contains(process->err(), "reading 1 shard: "); });
  }
  // When both have a lease on each server, shard 0 belongs to the smaller token. What they took before, they exchange.
  const auto belongs_to = [&](std::uint32_t shard, const std::string& which) {
    return cluster.sql(shard, "SELECT COUNT(*) = 2 AND " + which +
                                  "(token) = (SELECT token FROM looseleaf_progress WHERE job = 'trigger') "
                                  "FROM looseleaf_progress WHERE job = 'lease'") == "1\n";
  };
  wait_until("each has only its own", [&] { return belongs_to(0, "MIN") && belongs_to(1, "MAX"); });
  put_all(cluster, entity_lines(100));
  wait_until("each has a part", [&] { return ids_in(files[0]).size() + ids_in(files[1]).size() >= 100; });
  CHECK(!ids_in(files[0]).empty());
  CHECK(!ids_in(files[1]).empty());
  second.signal(SIGKILL);
  put_all(cluster, entity_lines(110));
  wait_until(
      "the first one has what the second one would have got",
      [&] {
        const std::vector<std::string> ids = ids_in(files[0]);
        return std::set(ids.begin(), ids.end()).size() == 110;
      },
      takeover);
  stop(first);
}

TEST_CASE("a process that takes over shard after shard keeps its lease meanwhile" * needs_failpoints) {
  const TestCluster cluster = initialised(12);  // six on each server
  cli::Process process =
      cluster.start(append_to(cluster.directory().path() + "/out"), {}, "trigger.claim:before=sleep:1500");
  const std::string age =
      "SELECT MIN(TIMESTAMPDIFF(SECOND, heartbeat, NOW(6))) FROM looseleaf_progress WHERE job = 'lease'";
  wait_until(
      "the last shard is taken",
      [&] {
        const std::string seconds = cluster.sql(0, age);
        CHECK((seconds == "NULL\n" || std::stoi(seconds) <= 7));  // it lives for 8; not renewed, it would be 9 old
        return contains(process.err(), "reading 12 shards: ");
      },
      takeover);
  stop(process);
}

TEST_CASE("a shard that fails does not keep a process from taking over others of its server") {
  const TestCluster cluster = initialised(4);  // two on each server
  const std::string files[] = {cluster.directory().path() + "/a", cluster.directory().path() + "/b"};
  cli::Process first = cluster.start(append_to(files[0])), second = cluster.start(append_to(files[1]));
  for (const cli::Process* process : {&first, &second}) {
    wait_until("it reads two shards", [&] { return contains(process->err(), "reading 2 shards: "); });
  }
  for (const std::uint32_t shard : {2U, 3U}) {
    cluster.sql(shard, "RENAME TABLE looseleaf_progress TO away");
  }
  second.signal(SIGKILL);
  put_all(cluster, entity_lines(20));
  wait_until(
      "the other one has all of the shards that work",
      [&] {
        const std::vector<std::string> ids = ids_in(files[0]);
        return std::count_if(ids.begin(), ids.end(), [](const std::string& id) {
                 return shard::shard_of(Uuid::parse(id).value(), 4) < 2;
               }) >= 10;
      },
      takeover);
  for (const std::uint32_t shard : {2U, 3U}) {
    cluster.sql(shard, "RENAME TABLE away TO looseleaf_progress");
  }
  put_all(cluster, entity(20));
  wait_until(
      "it goes on with the others", [&] { return has_all(files[0], 20, 21); }, takeover);
  CHECK(contains(first.err(), "a table does not exist"));
  stop(first);
}

// The ids that a run delivers that is killed, or told to skip something, and the run after it.
std::set<std::string> delivered_over(const std::string& failpoint) {
  const TestCluster cluster = initialised(1);
  const std::string file = cluster.directory().path() + "/out";
  put_all(cluster, entity_lines(5));
  cli::Process first = cluster.start(append_to(file), {}, failpoint);
  wait_until("it was killed, or has stored its position", [&] {
    return failpoint.ends_with("kill") ? ids_in(file).size() == 5 : trigger_of(cluster)["lag_changes"] == 0;
  });
  end_by(SIGKILL, first);
  put_all(cluster, entity(7));
  cli::Process second = cluster.start(append_to(file));
  wait_until(
      "the last entity is delivered", [&] { return has_all(file, 7, 8); }, takeover);
  stop(second);
  const std::vector<std::string> ids = ids_in(file);
  if (failpoint.ends_with("kill")) {
    CHECK(ids.size() == 11);
  }
  return {ids.begin(), ids.end()};
}

TEST_CASE("a kill before the position is stored repeats the batch, and a position stored too early would skip it" *
          needs_failpoints) {
  CHECK(delivered_over("trigger.store:before#2=kill").size() == 6);
  CHECK(delivered_over("trigger.deliver:before=skip").size() == 1);
}

TEST_CASE_FIXTURE(Triggered<1>,
                  "a process that was asleep while another one took its shard over cannot store its position" *
                      needs_failpoints) {
  put_all(cluster, entity_lines(5));
  cli::Process asleep = cluster.stop_at("trigger.store:before#2", append_to(file + ".asleep"));
  cli::Process awake = cluster.start(append_to(file));
  wait_until(
      "the other one takes over", [&] { return has_all(file, 0, 5); }, takeover);
  put_all(cluster, entity(5) + "\n" + entity(6));
  wait_until("it delivers more", [&] { return has_all(file, 5, 7); });
  wait_until("it has stored that", [&] { return trigger_of(cluster)["delivered"] == 7; });
  asleep.signal(SIGCONT);
  for (int i = 0; i < 30; ++i) {
    CHECK(trigger_of(cluster)["delivered"] == 7);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  put_all(cluster, entity(7));
  wait_until("one of them goes on", [&] { return has_all(file, 7, 8) || has_all(file + ".asleep", 7, 8); });
  stop(awake);
  stop(asleep);
}

struct Fault {
  std::string name;    // of its trigger
  std::string script;  // runs while the file $0.ok does not exist
  std::vector<std::string> options, messages;
};

const std::vector<Fault>& faults() {
  static const std::vector<std::string> too_long = {"looseleaf: warning: the command took too long and was killed\n",
                                                    "  seconds: 3\n", "hint: the batch is repeated"};
  static const std::vector<Fault> all = {
      {"fails", "exit 3", {}, {"looseleaf: warning: the command failed\n", "  status: 3\n", "hint: "}},
      {"babbles",
       "head -c 300000 /dev/urandom; head -c 300000 /dev/urandom >&2; echo >&2; exit 3",
       {},
       {"looseleaf: warning: the command failed\n", "  status: 3\n", "hint: "}},
      {"reads-half", "head -c 50; exit 3", {}, {"looseleaf: warning: the command failed\n", "  status: 3\n", "hint: "}},
      {"dies",
       "kill -9 $$",
       {},
       {"looseleaf: warning: the command was ended by a signal\n", "  signal: 9\n", "hint: "}},
      {"hangs", "trap 'touch $0.term; exit 0' TERM; sleep 60", {"--command-timeout", "3"}, too_long},
      {"ignores", "trap '' TERM; sleep 60 & echo $! > $0.child; sleep 60", {"--command-timeout", "3"}, too_long},
  };
  return all;
}

TEST_CASE("a batch is repeated until the command takes it, and the failure is told once and kept in the list") {
  const TestCluster cluster = initialised(1);
  const std::string directory = cluster.directory().path() + "/";
  put_all(cluster, entity_lines(3));
  std::vector<cli::Process> processes;
  for (const Fault& fault : faults()) {
    const std::string script = "echo >> $0.tries; if [ -e $0.ok ]; then cat >> $0; else " + fault.script + "; fi";
    processes.push_back(cluster.start(run_with(script, directory + fault.name, fault.options, fault.name)));
  }
  for (std::size_t i = 0; i < faults().size(); ++i) {
    const auto& [name, script, options, messages] = faults()[i];
    CAPTURE(name);
    wait_until("it is told", [&] { return holds_in_order(processes[i].err(), messages); });
    wait_until("it is listed", [&] { return !trigger_of(cluster, name)["shards"][0]["error"].is_null(); });
    CHECK(trigger_of(cluster, name)["lag_changes"] == 3);
    if (name != "ignores") {  // that would take too long
      wait_until("it is repeated", [&] { return read_text(directory + name + ".tries").size() >= 2; });
    }
    static_cast<void>(cluster.directory().write(name + ".ok", ""));
  }
  CHECK(exists(directory + "hangs.term"));
  wait_until("its child has ended", [&] { return cli::is_gone(std::stoi(read_text(directory + "ignores.child"))); });
  for (std::size_t i = 0; i < faults().size(); ++i) {
    const std::string& name = faults()[i].name;
    CAPTURE(name);
    wait_until("it is delivered", [&] { return has_all(directory + name, 0, 3); });
    wait_until("it works again",
               [&] { return contains(processes[i].err(), "looseleaf: the command works again after"); });
    CHECK(times("looseleaf: warning: ", processes[i].err()) == 1);
    wait_until("the list forgets it", [&] { return trigger_of(cluster, name)["shards"][0]["error"].is_null(); });
    stop(processes[i]);
  }
}

TEST_CASE("why a command cannot be started is told") {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(1));
  const TemporaryDirectory& directory = cluster.directory();
  const std::string text = directory.write("text", "#!/bin/sh\n"), binary = directory.write("binary", "\x01\x02"),
                    orphan = directory.write("orphan", "#!/nonexistent/sh\n");
  for (const std::string& file : {binary, orphan}) {
    REQUIRE(::chmod(file.c_str(), 0700) == 0);
  }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/nonexistent/command", "No such file or directory"},
      {"nonexistent-command", "No such file or directory"},
      {text, "Permission denied"},
      {directory.path(), "Permission denied"},
      {binary, "Exec format error"},
      {orphan, "No such file or directory"},
  };
  for (const auto& [command, reason] : cases) {
    CAPTURE(command);
    cli::Process process = cluster.start({"trigger", "run", "t", "--", command});
    wait_until("it is told", [&, &command = command, &reason = reason] {
      return holds_in_order(process.err(), {"looseleaf: warning: the command cannot be started\n",
                                            "  command: " + command + "\n", "  reason: " + reason + "\n",
                                            "hint: the batch is repeated until the command exits with status 0\n"});
    });
    stop(process);
    CHECK(trigger_of(cluster)["delivered"] == 0);
  }
}

TEST_CASE("a command that exits with 0 has taken the batch, whatever it reads, prints and leaves behind") {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(1, fmt::format(R"("large":"{}")", std::string(300'000, 'x'))));
  const std::vector<std::pair<std::string, std::size_t>> cases = {
      // and how much it prints
      {"true", 0},
      {"exec 0<&-; sleep 0.1", 0},
      {"head -c 10", 10},
      {"sleep 30 & true", 0},
      {"head -c 5000000 /dev/urandom; head -c 5000000 /dev/urandom >&2; echo >&2", 5'000'000},
  };
  for (const auto& [script, printed] : cases) {
    CAPTURE(script);
    cli::Process process = cluster.start({"trigger", "run", "t", "--", "sh", "-c", script});
    wait_until("the batch was taken", [&] { return trigger_of(cluster)["delivered"] == 1; });
    CHECK(process.out().size() == printed);
    stop(process);
    check_status(cluster.looseleaf({"trigger", "drop", "t"}), 0, {"looseleaf: dropped t\n"});
  }
}

TEST_CASE_FIXTURE(Triggered<1>,
                  "a second signal ends a run at once, and leaves alone the command, whose batch comes again") {
  put_all(cluster, entity_lines(3));
  cli::Process process = cluster.start(
      run_with("touch $0.begun; for i in $(seq 300); do [ -e $0.go ] && break; sleep 0.1; done; cat >> $0", file));
  wait_until("the command runs", [&] { return exists(file + ".begun"); });
  process.signal(SIGINT);
  const int status = end_by(SIGTERM, process).status;
  CHECK((status == 130 || status == 143));  // two threads may get the signals in either order
  CHECK(ids_in(file).empty());
  static_cast<void>(cluster.directory().write("out.go", ""));
  wait_until("the command goes on", [&] { return has_all(file, 0, 3); });
  CHECK(trigger_of(cluster)["lag_changes"] == 3);
}

TEST_CASE_FIXTURE(Triggered<1>, "the first signal lets the command finish, and stores its position") {
  put_all(cluster, entity_lines(3));
  cli::Process process = cluster.start(run_with("touch $0.begun; sleep 1; cat >> $0", file));
  wait_until("the command runs", [&] { return exists(file + ".begun"); });
  stop(process);
  CHECK(has_all(file, 0, 3));
  CHECK(trigger_of(cluster)["delivered"] == 3);
}

TEST_CASE_FIXTURE(Triggered<1>,
                  "purging spares deletes that a trigger has not delivered, and one that is too late is told") {
  put_all(cluster, entity_lines(3));
  cli::Process before = cluster.start(append_to(file));
  wait_delivered(cluster, 3);
  stop(before);
  check_status(cluster.looseleaf({"delete", id_of(0)}), 0);
  cluster.sql(0,
              "UPDATE entities SET updated = updated - INTERVAL 3 DAY;"
              "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 3 DAY, detail = '{}' WHERE job = 'trigger'");
  check_status(cluster.looseleaf({"clean"}), 0, {"purged 0 tombstones"});
  check_status(cluster.looseleaf({"clean", "--keep-tombstones", "86400"}), 0, {"purged 1 tombstone"});
  check_status(cluster.looseleaf(append_to(file)), 2,
               {"error: deletes that were not delivered have been purged\n", "  shard: 0\n",
                "hint: run `looseleaf trigger reset t`"});
  CHECK(contains(trigger_of(cluster)["shards"][0]["error"].get<std::string>(), "have been purged"));
  check_status(cluster.looseleaf({"trigger", "reset", "t"}), 0, {"looseleaf: t begins again\n"});
  cli::Process after = cluster.start(append_to(file));
  wait_until("it begins again", [&] { return ids_in(file).size() == 5; });
  stop(after);
}

TEST_CASE("a shard that is restored from an older copy while a process reads it ends this process") {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(1));  // before it begins, or it may come twice, and its position be stored twice
  cli::Process process = cluster.start(append_to(cluster.directory().path() + "/out"));
  wait_delivered(cluster, 1);
  cluster.sql(0, "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 1 HOUR WHERE job = 'trigger'");
  check_status(process.wait(), 2,
               {"error: the shard has lost changes that were delivered\n", "  shard: 0\n",
                "hint: run `looseleaf trigger reset t`"});
}

TEST_CASE("a process counts as dead if its lease is from a clock that was far ahead") {
  const TestCluster cluster = initialised(1);
  cli::Process process = cluster.start(append_to(cluster.directory().path() + "/out"));
  put_all(cluster, entity(1));
  wait_delivered(cluster, 1);
  end_by(SIGKILL, process);
  cluster.sql(0, "UPDATE looseleaf_progress SET heartbeat = NOW(6) + INTERVAL 1 HOUR WHERE job = 'lease'");
  check_status(cluster.looseleaf({"trigger", "drop", "t"}), 0, {"looseleaf: dropped t\n"});
}

TEST_CASE_FIXTURE(
    Triggered<2>,
    "a trigger that a process runs is reset and dropped only by force, and the process is told of the drop") {
  put_all(cluster, entity_lines(3));
  cli::Process process = cluster.start(append_to(file));
  wait_delivered(cluster, 3);
  for (const char* action : {"reset", "drop"}) {
    check_status(cluster.looseleaf({"trigger", action, "t"}), 3,
                 {"error: a process runs this trigger\n", "  holder: ", "hint: stop it first, or give --force"});
  }
  check_status(cluster.looseleaf({"trigger", "reset", "t", "--force"}), 0, {"looseleaf: t begins again\n"});
  wait_until("all are delivered again", [&] { return ids_in(file).size() == 6; });
  check_status(cluster.looseleaf({"trigger", "drop", "t", "--force"}), 0, {"looseleaf: dropped t\n"});
  check_status(
      process.wait(), 2,
      {"error: the trigger was dropped while it ran, or a shard was replaced or restored\n", "  trigger: t\n"});
  check_run(cluster.looseleaf({"trigger", "list"}), 0, "", {"looseleaf: there is no trigger\n"});
  CHECK(rows_of(cluster, "looseleaf_progress WHERE job IN ('trigger', 'lease')") == 0);
}

TEST_CASE("wrong usage of trigger is told, and the list, but not the status, has a trigger that nobody runs") {
  const TestCluster cluster = initialised(1);
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases = {
      {{"run"},
       {"error: the name of the trigger is missing\n", "hint: run `looseleaf trigger run NAME -- COMMAND...`"}},
      {{"run", "t"}, {"error: the command is missing\n", "hint: run `looseleaf trigger run NAME"}},
      {{"run", "a b", "--", "cat"}, {"error: invalid name of a trigger\n", "  trigger: a b\n", "hint: use 1 to 64"}},
      {{"list", "t"}, {"error: `trigger list` takes no name\n", "hint: "}},
      {{"drop", "t", "--", "cat"},
       {"error: `trigger drop` takes one name\n",
        "hint: run it once for each trigger; a command is for `trigger run` only"}},
      {{"drop", "t", "--after", "now"}, {"error: --after is for `trigger run` and `trigger reset` only\n", "hint: "}},
      {{"reset", "t", "--batch", "1"},
       {"error: --where, --batch, --command-timeout and --metrics-file are for", "hint: "}},
      {{"run", "t", "--force", "--", "cat"}, {"error: --force is for", "hint: "}},
      {{"drop", "t"}, {"error: there is no such trigger\n", "  trigger: t\n", "hint: there is no trigger at all"}},
      {{"run", "t", "--after", "x", "--", "cat"}, {"error: not a position\n", "hint: "}},
  };
  for (const auto& [arguments, messages] : cases) {
    check_status(cluster.looseleaf(joined({"trigger"}, arguments)), 2, messages);
  }
  cli::Process process = cluster.start({"trigger", "run", "mirror", "--", "cat"});
  wait_until("it has begun", [&] { return contains(process.err(), "reading 1 shard: 0"); });
  stop(process);
  check_status(cluster.looseleaf({"trigger", "reset", "miror"}), 2,
               {"error: there is no such trigger\n", "hint: did you mean `mirror`?"});
  cli::Process mistyped = cluster.start({"trigger", "run", "mirrors", "--", "cat"});
  wait_until("it warns", [&] {
    return holds_in_order(mistyped.err(), {"warning: a new trigger was created, whose name is similar",
                                           "other: mirror\n", "run `looseleaf trigger drop mirrors`"});
  });
  stop(mistyped);
  check_status(cluster.looseleaf({"trigger", "drop", "mirrors"}), 0, {"dropped mirrors"});
  CHECK(!contains(cluster.looseleaf({"status"}).out, "mirror"));
  const cli::ProcessResult listed = cluster.looseleaf({"trigger", "list", "--verbose"});
  CHECK(holds_in_order(listed.out, {"trigger", "shards", "holder", "delivered", "lag", "behind", "error", "mirror",
                                    "nobody", "position (UTC)", "mirror"}));
}

TEST_CASE_FIXTURE(Triggered<4>, "a shard whose triggers cannot be read hides none of the others on its server") {
  cli::Process process = cluster.start({"trigger", "run", "t", "--", "cat"});
  wait_until("it has begun", [&] { return contains(process.err(), "reading 4 shards"); });
  stop(process);
  for (const std::uint32_t shard : {3U, 1U}) {  // the second one has the leases of the server
    cluster.sql(shard, "RENAME TABLE looseleaf_progress TO away");
    const cli::ProcessResult listed = cluster.looseleaf({"trigger", "list", "--output", "json"});
    CHECK(listed.status != 0);
    CHECK(times("\"event\":\"error\"", listed.err) == 1);
    CHECK(contains(listed.err, fmt::format("\"shard\":{},", shard)));
    CHECK(contains(listed.out, fmt::format("\"unknown\":[{}]", shard)));
    CHECK(times("\"delivered\":0", listed.out) == 4);  // of three shards, and the sum
    cluster.sql(shard, "RENAME TABLE away TO looseleaf_progress");
  }
}

TEST_CASE_FIXTURE(Triggered<4>, "a shard with much to deliver leaves the others of its server their turns") {
  std::string much, little;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const std::uint32_t shard = shard::shard_of(uuid_of(number), 4);
    if (shard == 0) {
      much += entity(number) + "\n";
    } else if (cluster.server_of(shard) == cluster.server_of(0) && little.empty()) {
      little = id_of(number);
      much += entity(number) + "\n";
    }
  }
  put_all(cluster, much);
  cli::Process trigger =
      cluster.start(run_with("sleep 0.2; cat >> $0", file, {"--batch", "100", "--max-connections", "4"}));
  wait_until("the other shard is delivered", [&] { return contains(read_text(file), little); });
  CHECK(lines_of(read_text(file)).size() < 4000);  // of 5,000
  trigger.signal(SIGTERM);
  static_cast<void>(trigger.wait());
}

TEST_CASE_FIXTURE(Triggered<2>,
                  "a trigger names twenty entities that cannot be read, and says at its end how many more there were") {
  put_all(cluster, entity_lines(25));
  cluster.everywhere("UPDATE entities SET body = 'x'");
  cli::Process trigger = cluster.start(append_to(file));
  wait_until("everything is delivered", [&] { return lines_of(read_text(file)).size() == 25; });
  const cli::ProcessResult result = end_by(SIGTERM, trigger);
  CHECK(result.status == 143);
  CHECK(contains(result.err, "5 more"));
}

}  // namespace
}  // namespace looseleaf::test
