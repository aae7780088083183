// Moves to another cluster: they lose nothing although processes die or sleep, and are refused where they must be.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/sleeping_session.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* has_moved = "looseleaf: the store has moved; use the cluster file ";

// A store of two shards, and a cluster of three to move it to.
struct MovingPair {
  TestCluster original = initialised(2), other = initialised(3);

  MovingPair() {
    create_index(original, by_n_sharded);
    put_all(original, entity_lines(40, R"("n":{0})"));
    check_status(original.looseleaf({"delete", id_of(7), id_of(8)}), 0);
  }

  [[nodiscard]] std::vector<std::string> finish_command(const std::vector<std::string>& options = {}) const {
    return joined({"copy", "--to", other.file(), "--finish"}, options);
  }
  [[nodiscard]] cli::ProcessResult finish(const std::vector<std::string>& options = {}) const {
    return original.looseleaf(finish_command(options));
  }
};

// The store has moved, and the other cluster has these entities.
void check_moved(const MovingPair& pair, std::size_t entities) {
  CHECK(states(pair.original) == "moved moved");
  CHECK(states(pair.other) == "open open open");
  check_status(pair.original.looseleaf({"put"}, entity(90)), 2, {"error: the store has moved, and takes no writes\n"});
  check_status(pair.original.looseleaf({"get", id_of(1)}), 2, {"error: the store has moved\n"});
  for (const char* const reader : {"export", "changes", "verify"}) {
    check_status(pair.original.looseleaf({reader}), 0,
                 {"warning: the store has moved; this is how it was then\n", "  to: cluster ",
                  "hint: use the cluster file of the new store\n"});
  }
  CHECK(lines_of(pair.other.looseleaf({"export"}).out).size() == entities);
  check_status(pair.other.looseleaf({"verify", "--grace", "0"}), 0, {"consistent"});
  for (const TestCluster* const cluster : {&pair.original, &pair.other}) {
    CHECK(cluster->sql(0, "SELECT job FROM looseleaf_progress WHERE job LIKE 'cop%'").empty());
  }
  put_all(pair.other, entity(91, R"("n":1)"));
}

constexpr const char* others_wait = "opening opening opening";
constexpr const char* others_are_refused = "frozen frozen frozen";

// Nothing has happened: the store takes writes, and the other cluster does not.
void check_not_moved(const MovingPair& pair, const std::string& other = others_are_refused) {
  CHECK(states(pair.original) == "open open");
  put_all(pair.original, entity(50, R"("n":50)"));
  CHECK(states(pair.other) == other);
}

// A trigger that appends what it is given to a file.
std::vector<std::string> trigger_into(const std::string& file) {
  return {"trigger", "run", "t", "--", "sh", "-c", "cat >> $0", file};
}

// Starts the trigger t, and returns when everything is delivered.
cli::Process start_trigger(const MovingPair& pair, const std::string& file) {
  cli::Process trigger = pair.original.start(trigger_into(file));
  wait_until("everything is delivered", [&] { return lines_of(read_text(file)).size() >= 38; });
  return trigger;
}

// The same, and then ends it.
void run_trigger_to_the_end(const MovingPair& pair) {
  cli::Process trigger = start_trigger(pair, pair.original.directory().path() + "/out");
  CHECK(end_by(SIGTERM, trigger).status == 143);
}

TEST_CASE("a store moves to its copy, takes no writes afterwards, and the move can be repeated") {
  const MovingPair pair;
  check_status(pair.finish(), 0,
               {"looseleaf: created 1 index, dropped 0 indexes, wrote 38 versions\n",
                "looseleaf: compared 38 entities; writers waited for ", has_moved + pair.other.file() + "\n"});
  check_moved(pair, 38);
  const std::string since = "SELECT access_since FROM looseleaf_shard", marked = pair.original.sql(0, since);
  check_status(pair.finish(), 0, {"looseleaf: the store has moved already; use the cluster file "});
  check_status(
      pair.original.looseleaf({"verify", "--against", pair.other.file()}), 2,
      {"error: a store that has moved cannot be compared\n", "  to: cluster ", "hint: what was written since"});
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 2, {"error: the store has moved\n"});
  CHECK(pair.original.sql(0, since) == marked);
  check_status(pair.other.looseleaf({"copy", "--to", pair.original.file(), "--finish"}), 2,
               {"error: the other cluster is a store that has moved, so nothing is copied to it\n", "  to: cluster ",
                "(" + pair.other.file() + ")\n", "hint: copy to a cluster that `init` has just made\n"});
  check_status(pair.original.looseleaf({"copy", "--to", initialised(1).file(), "--finish"}), 2,
               {"error: the store has moved\n", "  to: cluster ", "hint: use the cluster file of the new store\n"});
}

TEST_CASE("a move that follows a copy brings what has changed since") {
  const MovingPair pair;
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 0, {"wrote "});
  put_all(pair.original, entity_lines(5, R"("n":70)"));
  check_status(pair.original.looseleaf({"delete", id_of(20)}), 0);
  check_status(pair.finish(), 0, {"wrote 6 versions\n"});
  check_moved(pair, 37);
}

TEST_CASE("a store with buffered or refused writes does not move, not even if they come in the last moment" *
          needs_failpoints) {
  const MovingPair pair;
  const std::string buffered = fmt::format(
      "INSERT INTO looseleaf_buffer VALUES (7, NOW(6), x'{}', 1, NULL, COMPRESS('{}'))", id_of(40), entity(40));
  cli::Process late = pair.original.stop_at("move.drain:before@0", pair.finish_command());
  pair.original.sql(1, buffered);
  check_status(resume(late), 3,
               {"error: there are buffered writes, so the store does not move\n", "  copies: 1\n",
                "hint: run `looseleaf flush` first, and then `looseleaf refused list`\n"});
  check_not_moved(pair);
  check_status(pair.finish(), 3, {"error: there are buffered writes, so the store does not move\n"});
  put_all(pair.original, entity(40, R"("n":1)"));
  check_status(pair.original.looseleaf({"flush"}), 1, {"stored 0 buffered writes, refused 1"});
  check_status(pair.finish(), 3,
               {"error: there are refused writes, so the store does not move\n",
                "hint: see `looseleaf refused list`, and retry or drop them\n"});
  check_status(pair.original.looseleaf({"refused", "drop", "--all"}), 0, {"dropped 1 refused write\n"});
  check_status(pair.finish(), 0, {has_moved});
}

constexpr const char* before_decision[] = {"move.announce:before@0", "move.announce:after@1", "move.freeze:before@0",
                                           "move.freeze:after@0",    "move.freeze:before@1",  "move.freeze:after@1",
                                           "move.drain:before@0",    "move.compare:before@0", "move.prepare:before@0",
                                           "move.prepare:after@2",   "move.decide:before@0"};
constexpr const char* after_decision[] = {"move.decide:after@0", "move.mark:before@1", "move.mark:after@1",
                                          "move.open:before@0",  "move.open:after@0",  "move.open:after@2"};

TEST_CASE("whatever step a move dies at, the next one completes it" * needs_failpoints) {
  const auto die_and_repeat = [](const std::string& place, bool decided) {
    INFO(place);
    const MovingPair pair;
    pair.original.die_at(place, pair.finish_command());
    check_status(pair.finish(), 0, {decided ? "the store has moved already" : has_moved});
    check_moved(pair, 38);
  };
  for (const char* const place : before_decision) {
    die_and_repeat(place, false);
  }
  for (const char* const place : after_decision) {
    die_and_repeat(place, true);
  }
}

TEST_CASE("writers wait for a move that has died, open the store again after its time, and lose nothing" *
          needs_failpoints) {
  for (const char* const place : before_decision) {
    INFO(place);
    const MovingPair pair;
    // Just before it decides, a move looks whether writers have waited for too long.
    const char* const limit = std::string_view(place).starts_with("move.decide") ? "6" : "1";
    pair.original.die_at(place, pair.finish_command({"--freeze-limit", limit}));
    const cli::ProcessResult put = pair.original.looseleaf({"put", "--quiet"}, entity_lines(10, R"("n":60)"));
    CHECK_MESSAGE(put.status == 0, put.err);  // it may warn that it waits
    CHECK(put.out.empty());
    CHECK(states(pair.original) == "open open");
    check_status(pair.finish(), 0, {has_moved});
    check_moved(pair, 40);
  }
}

TEST_CASE("thaw opens a store whose move has died, unless the move was decided" * needs_failpoints) {
  const MovingPair pair;
  pair.original.die_at("move.decide:before", pair.finish_command());
  CHECK(states(pair.original) == "moving moving");
  check_status(pair.original.looseleaf({"thaw"}), 0, {"2 shards"});
  check_not_moved(pair, others_wait);
  pair.original.die_at("move.decide:after", pair.finish_command());
  CHECK(states(pair.original) == "moved moving");
  check_status(pair.original.looseleaf({"thaw"}), 2, {"error: the store has moved\n"});
  check_status(
      pair.original.looseleaf({"copy", "--to", pair.other.file(), "--detach", "--force"}), 2,
      {"error: the store has moved to this cluster\n",
       "hint: run `looseleaf --cluster " + pair.original.file() + " copy --to " + pair.other.file() + " --finish`: "});
  check_status(pair.finish(), 0, {"the store has moved already"});
  check_moved(pair, 39);
}

TEST_CASE("a move whose decision is forgotten before it is completed marks no other shard" * needs_failpoints) {
  const MovingPair pair;
  pair.original.die_at("move.decide:after", pair.finish_command());
  cli::Process next = pair.original.stop_at("move.decide:before@0", pair.finish_command());
  pair.original.sql(0, "UPDATE looseleaf_shard SET access = 'open', access_token = 0");  // as after a restore
  check_status(resume(next), 3, {"error: another process has changed the state of the store\n"});
  CHECK(states(pair.original) == "open moving");
}

// Stops a move there, lets `meanwhile` happen, and wakes it.
cli::ProcessResult sleep_at(const MovingPair& pair, const std::string& place, const std::function<void()>& meanwhile) {
  cli::Process asleep = pair.original.stop_at(place, pair.finish_command());
  pair.original.kill_sessions();
  pair.other.kill_sessions();
  meanwhile();
  return resume(asleep);
}

TEST_CASE("a query that reads beyond a move is refused, because the move was announced" * needs_failpoints) {
  for (const bool announced : {true, false}) {
    CAPTURE(announced);
    const MovingPair pair;
    create_index(pair.original, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})");
    put_all(pair.original, entity_lines(300, R"("m":{})"));  // a query reads 100 rows, then 200
    check_status(pair.original.looseleaf({"backfill", "by_m", "--quiet"}), 0);
    cli::Process query = pair.original.stop_at("query.read_entities:before#2", {"query", "by_m", "--ids"});
    const std::string skipped = announced ? "" : "move.announce=skip";
    check_status(pair.original.start(pair.finish_command(), "", skipped).wait(), 0, {has_moved});
    const cli::ProcessResult result = resume(query);
    CHECK(lines_of(result.out).size() == (announced ? 100 : 300));
    if (announced) {
      check_status(result, 2, {"error: the store has moved\n"});
      check_status(pair.original.looseleaf({"query", "by_m", "m=1"}), 2, {"error: the store has moved\n"});
    }
  }
}

TEST_CASE("a move whose announcement was taken back announces it again before the other cluster is open" *
          needs_failpoints) {
  const MovingPair pair;
  cli::Process finish = pair.original.stop_at("move.decide:before@0", pair.finish_command());
  pair.original.everywhere("ALTER TABLE entities RENAME INDEX may_have_moved TO updated");
  check_status(resume(finish), 0, {has_moved});
  check_moved(pair, 38);
}

TEST_CASE("a move does not begin while a long transaction uses the entities, and says so") {
  const MovingPair pair;
  const TestCluster& store = pair.original;
  std::optional<SleepingSession> holder(std::in_place, store, store.server_of(1),
                                        fmt::format("BEGIN; SELECT COUNT(*) FROM {}.entities", store.database(1)));
  check_status(pair.finish({"--timeout", "4"}), 3,
               {"error: reads cannot be told yet that the store moves\n", "  shard: 1\n",
                "hint: a transaction or a backup uses the table `entities` for long; end it, or wait for it, and run"});
  holder.reset();
  check_not_moved(pair);
}

TEST_CASE("a move is refused while reads could not learn of it" * needs_failpoints) {
  const MovingPair pair;
  pair.original.sql(1, "ALTER TABLE entities ADD KEY updated_by_us (updated, added_id)");
  check_status(
      pair.finish(), 3,
      {"error: the table `entities` has a key of its own whose name begins with `updated`\n", "  key: updated_by_us\n",
       "  shard: 1\n", "hint: give it another name, because reads learn by the name `updated` that a store moves\n"});
  CHECK(rows_of(pair.other, "entities") == 0);  // before anything is copied
  pair.original.sql(1, "ALTER TABLE entities DROP KEY updated_by_us, ADD KEY may_have_moved (updated)");
  check_status(pair.finish(), 3,
               {"error: the table `entities` has both keys, `updated` and `may_have_moved`\n", "  shard: 1",
                "hint: delete the second one: `ALTER TABLE entities DROP INDEX may_have_moved`\n"});
  pair.original.sql(1, "ALTER TABLE entities DROP KEY may_have_moved");
  check_status(pair.finish(), 0, {has_moved});
}

TEST_CASE("a move that was asleep while another one took over changes nothing" * needs_failpoints) {
  const auto sleep_and_wake = [](const std::string& place) {
    INFO(place);
    const MovingPair pair;
    const cli::ProcessResult result = sleep_at(pair, place, [&] {
      check_status(pair.finish(), 0, {"the store has moved"});
      create_index(pair.other, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})");
    });
    CAPTURE(result.err);
    CHECK((result.status == 3 || result.status == 2 || result.status == 0));
    check_moved(pair, 38);
  };
  for (const char* const place : before_decision) {
    sleep_and_wake(place);
  }
  for (const char* const place : after_decision) {
    sleep_and_wake(place);
  }
}

TEST_CASE("a move that was asleep while writers opened the store again does not move it" * needs_failpoints) {
  for (const char* const place :
       {"move.freeze:after@0", "move.compare:before@0", "move.prepare:before@0", "move.decide:before@0"}) {
    INFO(place);
    const MovingPair pair;
    const cli::ProcessResult result = sleep_at(pair, place, [&] {
      check_status(pair.original.looseleaf({"thaw"}), 0, {"opened"});
      put_all(pair.original, entity_lines(5, R"("n":80)"));
    });
    check_status(result, 3, {"looseleaf: error: another process has opened the store again, so it does not move\n"});
    check_not_moved(pair);
    check_status(pair.finish(), 0, {has_moved});
    check_moved(pair, 39);
  }
}

TEST_CASE("a move waits for the last writer for a third of the time that writers may wait" * needs_failpoints) {
  const MovingPair pair;
  cli::Process move = pair.original.stop_at("move.freeze:before@0", pair.finish_command({"--freeze-limit", "90"}));
  cli::Process put = pair.original.stop_at("put.commit:before", {"put"}, entity(0, R"("n":80)"));
  move.signal(SIGCONT);
  std::this_thread::sleep_for(std::chrono::seconds(3));  // it waits for at least 2 s, whatever the limit
  check_status(resume(put), 0);
  check_status(move.wait(), 0, {has_moved});
  check_moved(pair, 38);
}

TEST_CASE("a move ends at once if another process takes the copy over while both stores are compared") {
  const MovingPair pair;
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 0, {"wrote "});
  const auto token = [&] {
    return pair.other.sql(0, "SELECT token FROM looseleaf_progress WHERE job = 'copy' AND table_name = '0'");
  };
  const std::string before = token();
  cli::Process move = pair.original.start(pair.finish_command({"--max-rate", "1"}));  // for 40 s
  wait_until("the move has taken the copy over", [&] { return token() != before; });
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  pair.other.sql(0, "UPDATE looseleaf_progress SET token = token + 1 WHERE job = 'copy'");
  put_all(pair.original, entity(0, R"("n":80)"));
  check_status(move.wait(), 3, {"error: another process has taken over the copy\n"});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a signal in the middle of a move leaves the store open" * needs_failpoints) {
  const MovingPair pair;
  cli::Process move = pair.original.stop_at("move.prepare:before@0", pair.finish_command());
  CHECK(states(pair.original) == "moving moving");
  move.signal(SIGTERM);
  check_status(resume(move), 143, {"looseleaf: interrupted; run the same command to resume\n"});
  check_not_moved(pair);
}

TEST_CASE("a move that dies while it is undone can be repeated, and writers open the store meanwhile" *
          needs_failpoints) {
  for (const std::string place : {"move.undo:before@0", "move.undo:after@0", "move.undo:before@1"}) {
    INFO(place);
    const MovingPair pair;
    cli::Process finish =
        pair.original.stop_at(place + "=kill,move.prepare:before@0", pair.finish_command({"--freeze-limit", "1"}));
    finish.signal(SIGTERM);
    CHECK(resume(finish).status == 128 + SIGKILL);
    check_run(pair.original.looseleaf({"put", "--quiet"}, entity_lines(10, R"("n":60)")), 0, "", {});
    CHECK(states(pair.original) == "open open");
    check_status(pair.finish(), 0, {has_moved});
    check_moved(pair, 40);
  }
}

TEST_CASE("a move whose decision cannot be learnt says so and undoes nothing, and the next one completes it" *
          needs_failpoints) {
  const TestCluster original = initialised_alone(), other = initialised(3);
  put_all(original, entity_lines(10));
  cli::Process finish =
      original.stop_at("move.decide:before@0", {"copy", "--to", other.file(), "--finish", "--timeout", "5"});
  original.sandbox().kill_server(0);
  check_status(resume(finish), 3,
               {"error: it is not known whether the store has moved\n",
                "hint: run the command again when every server answers: it completes the move, or begins again\n"});
  original.sandbox().start_server(0);
  CHECK(states(original) == "moving moving");
  check_status(original.looseleaf({"copy", "--to", other.file(), "--finish"}), 0, {has_moved});
  CHECK(states(original) == "moved moved");
  CHECK(lines_of(other.looseleaf({"export"}).out).size() == 10);
}

TEST_CASE("a put that began before a move is in the other cluster, or waits and is told that the store has moved" *
          needs_failpoints) {
  const MovingPair pair;
  // It waits for a writer for a third of the limit.
  cli::Process move = pair.original.stop_at("move.freeze:before@0", pair.finish_command({"--freeze-limit", "60"}));
  cli::Process writer = pair.original.stop_at("put.commit:before@1", {"put"}, entity(61));
  move.signal(SIGCONT);
  wait_until("the move waits for the writer", [&] { return states(pair.original) == "moving open"; });
  CHECK(resume(writer).status == 0);
  CHECK(move.wait().status == 0);
  check_moved(pair, 39);
}

TEST_CASE("a put to the other cluster that comes before it is open waits" * needs_failpoints) {
  const MovingPair pair;
  cli::Process move = pair.original.stop_at("move.decide:before@0", pair.finish_command());
  check_status(pair.other.looseleaf({"--timeout", "4", "put"}, entity(60)), 3,
               {"error: another store is about to move here, and writes wait for that\n"});
  cli::Process writer = pair.other.start({"put"}, entity(60));
  CHECK(resume(move).status == 0);
  CHECK(writer.wait().status == 0);
  check_moved(pair, 39);
}

TEST_CASE("a copy that is detached while a move sleeps is a store of its own, and nothing moves to it" *
          needs_failpoints) {
  for (const char* const place : {"move.freeze:after@1", "move.prepare:before@0", "move.decide:before@0"}) {
    INFO(place);
    const MovingPair pair;
    const cli::ProcessResult result = sleep_at(pair, place, [&] {
      check_status(pair.original.looseleaf({"copy", "--to", pair.other.file(), "--detach", "--force"}), 0, {"own"});
      check_status(pair.other.looseleaf({"delete", id_of(1)}), 0);
    });
    CHECK_MESSAGE(result.status == 3, result.err);
    check_not_moved(pair, "open open open");
    CHECK(pair.other.looseleaf({"get", id_of(1)}).status == 1);
  }
}

TEST_CASE("a store moves to one cluster at a time" * needs_failpoints) {
  const MovingPair pair;
  const TestCluster third = initialised(1);
  cli::Process first = pair.original.stop_at("move.decide:before@0", pair.finish_command());
  check_status(pair.original.looseleaf({"copy", "--to", third.file(), "--finish"}), 3,
               {"error: the store is about to move to another cluster\n", "hint: wait until that has ended"});
  CHECK(resume(first).status == 0);
  check_moved(pair, 38);
}

TEST_CASE("a move that cannot open the other cluster says so, and is completed" * needs_failpoints) {
  const MovingPair pair;
  cli::Process move = pair.original.stop_at("move.open:before@0", pair.finish_command({"--timeout", "5"}));
  pair.other.sql(0, "SET GLOBAL read_only = 1");
  check_status(resume(move), 3,
               {"error: the store has moved, but the other cluster is not open yet\n",
                "hint: run the command again: it completes the move\n"});
  pair.other.sql(0, "SET GLOBAL read_only = 0");
  pair.original.sql(1, "UPDATE looseleaf_shard SET access = 'open', access_token = 0");  // as after a restore
  check_status(pair.finish(), 0,
               {"warning: a shard took writes again after the store had moved\n", "has moved already"});
  check_moved(pair, 38);
}

TEST_CASE("what differs in the other cluster prevents the move, and is named") {
  const MovingPair pair;
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 0, {"wrote "});
  pair.other.everywhere("DELETE FROM entities WHERE id = x'" + id_of(3) + "'");
  const std::vector<std::string> differs = {
      "error: an entity is not the same in the other cluster\n",
      "  id: " + id_of(3) + "\n",
      "  difference: missing\n",
      "error: the other cluster differs from this store, so the store has not moved\n",
      "  entities: 1\n",
      "hint: put or delete these entities in this store, and run the command again; an entity that only"};
  check_status(pair.finish(), 1, differs);
  check_not_moved(pair);
  put_all(pair.original, entity(3, R"("n":3)"));
  check_status(pair.finish(), 0, {has_moved});
  check_moved(pair, 39);
}

TEST_CASE(
    "indexes that are created or dropped just before writers wait prevent the move, which then brings them along" *
    needs_failpoints) {
  const MovingPair pair;
  const auto refused = [&](const std::function<void()>& meanwhile) {
    cli::Process move = pair.original.stop_at("move.freeze:before@0", pair.finish_command());
    meanwhile();
    check_status(resume(move), 3,
                 {"error: an index has been created, filled or dropped meanwhile\n", "hint: run the command again"});
    check_not_moved(pair);
  };
  refused([&] { create_index(pair.original, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})"); });
  refused([&] { check_status(pair.original.looseleaf({"drop-index", "--yes", "by_n"}), 0, {"dropped"}); });
  check_status(pair.finish(), 0, {has_moved});
  check_moved(pair, 39);
  CHECK(pair.other.sql(0, "SELECT table_name, state FROM looseleaf_index") == "by_m\tready\n");
}

TEST_CASE("stamps go on growing in the other cluster, although its clock is behind") {
  const MovingPair pair;
  const auto stamp = [](const TestCluster& cluster) {
    const std::string line = cluster.looseleaf({"get", "--stamps", id_of(1)}).out;
    const std::size_t begin = line.find(R"("stamp":")") + 9;
    return line.substr(begin, line.find('"', begin) - begin);
  };
  pair.original.everywhere("UPDATE looseleaf_shard SET clock_floor = NOW(6) + INTERVAL 1 HOUR");
  put_all(pair.original, entity(1, R"("n":2)"));
  const std::string before = stamp(pair.original);
  check_status(pair.finish(), 0, {has_moved});
  put_all(pair.other, entity(1, R"("n":3)"));
  CHECK(stamp(pair.other) > before);
}

TEST_CASE("triggers begin in the other cluster where they have ended here") {
  const MovingPair pair;
  const std::string file = pair.original.directory().path() + "/out";
  cli::Process before = start_trigger(pair, file);
  put_all(pair.original, entity_lines(5, R"("n":33)"));
  check_status(pair.finish(), 0, {"looseleaf: a trigger begins there from now on: t\n", has_moved});
  check_status(before.wait(), 2, {"error: the store has moved\n", "hint: everything was delivered; run the trigger"});
  const std::size_t delivered = lines_of(read_text(file)).size();
  CHECK(delivered >= 43);
  check_status(pair.original.looseleaf({"trigger", "reset", "t"}), 2, {"error: the store has moved\n"});
  put_all(pair.other, entity(92, R"("n":2)"));
  cli::Process after = pair.other.start(trigger_into(file));
  wait_until("the change is delivered", [&] { return contains(read_text(file), id_of(92)); });
  CHECK(end_by(SIGTERM, after).status == 143);
  CHECK(lines_of(read_text(file)).size() == delivered + 1);
}

TEST_CASE("a trigger that was run in the copy before the store moves keeps its own position there") {
  const MovingPair pair;
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 0, {"wrote 38 versions"});
  const std::string file = pair.other.directory().path() + "/in_the_copy";
  cli::Process in_the_copy = pair.other.start(trigger_into(file));
  wait_until("it has begun", [&] { return !read_text(file).empty(); });
  CHECK(end_by(SIGTERM, in_the_copy).status == 143);
  run_trigger_to_the_end(pair);
  const auto rows = [&] {
    return pair.other.everywhere("SELECT generation, barrier FROM looseleaf_progress WHERE job = 'trigger'");
  };
  const std::string before = rows();
  check_status(pair.finish(), 0,
               {"warning: a trigger of this name was run in the other cluster before", "  trigger: t\n"});
  CHECK(rows() == before);
}

TEST_CASE("a store does not move while a trigger lacks its row on a shard, because it has not delivered that shard") {
  const MovingPair pair;
  run_trigger_to_the_end(pair);
  pair.original.sql(1, "DELETE FROM looseleaf_progress WHERE job = 'trigger'");
  check_status(pair.finish(), 3,
               {"error: a trigger is behind, so the store does not move\n", "  shard: 1\n",
                "hint: no process runs it: let `looseleaf trigger run`"});
  CHECK(states(pair.original) == "open open");
}

TEST_CASE("triggers that a move has begun in the other cluster are gone when the move is given up" * needs_failpoints) {
  const MovingPair pair;
  run_trigger_to_the_end(pair);
  const auto triggers = [&] {
    return pair.other.everywhere("SELECT table_name FROM looseleaf_progress WHERE job = 'trigger'");
  };
  pair.original.die_at("move.decide:before", pair.finish_command());
  CHECK(triggers() == "t\nt\nt\n");
  pair.original.die_at("copy.claim:after@2", {"copy", "--to", pair.other.file()});  // their move is one of long ago now
  pair.other.sql(1, "UPDATE looseleaf_progress SET table_name = 'mine', generation = 7 WHERE job = 'trigger'");
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file(), "--detach"}), 0, {"store of its own"});
  CHECK(triggers() == "mine\n");
}

TEST_CASE("a trigger of a store that is about to move cannot be reset, because it would not begin again there" *
          needs_failpoints) {
  const MovingPair pair;
  run_trigger_to_the_end(pair);
  cli::Process move = pair.original.stop_at("move.decide:before@0", pair.finish_command());
  check_status(pair.original.looseleaf({"trigger", "reset", "t", "--timeout", "4"}), 3,
               {"error: the store is about to move"});
  check_status(resume(move), 0, {has_moved});
}

TEST_CASE("a move that was asleep does not begin triggers anew in a cluster that is open" * needs_failpoints) {
  const MovingPair pair;
  cli::Process trigger = start_trigger(pair, pair.original.directory().path() + "/out");
  const std::string positions =
      "SELECT generation, barrier FROM looseleaf_progress WHERE job = 'trigger' AND table_name = 't'";
  std::string before;
  const cli::ProcessResult result = sleep_at(pair, "move.prepare:after@2", [&] {
    check_status(pair.finish(), 0, {"the store has moved"});
    before = pair.other.sql(2, positions);
  });
  check_status(result, 3, {"error: another process has taken over the copy\n"});
  CHECK(!before.empty());
  CHECK(pair.other.sql(2, positions) == before);
  CHECK(trigger.wait().status == 2);
}

TEST_CASE("a store that cannot move now says why, and stays open") {
  const MovingPair pair;
  check_status(pair.finish({"--follow"}), 2, {"options that exclude each other", "--follow, --finish"});
  check_status(pair.finish({"--detach"}), 2, {"options that exclude each other", "--detach, --finish"});
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file(), "--freeze-limit", "3"}), 2,
               {"--freeze-limit is for --finish only"});
  check_status(pair.finish({"--freeze-limit", "0"}), 2, {"not usable as the time", "hint: give 1 to 3600 seconds"});
  check_status(pair.original.looseleaf({"copy", "--to", pair.other.file()}), 0, {"wrote "});
  check_status(pair.other.looseleaf({"copy", "--to", initialised(1).file(), "--finish"}), 2,
               {"error: this cluster is itself a copy\n"});
  cli::Process trigger = pair.original.start({"trigger", "run", "t", "--", "false"});
  wait_until("it fails", [&] { return contains(trigger.err(), "the command failed"); });
  check_status(pair.finish({"--freeze-limit", "1"}), 3,
               {"error: a trigger is behind, so the store does not move\n", "  trigger: t\n", "  changes: "});
  check_not_moved(pair);
  end_by(SIGTERM, trigger);
  check_status(pair.finish(), 3,
               {"error: a trigger is behind", "hint: no process runs it: let `looseleaf trigger run`"});
  check_status(pair.original.looseleaf({"trigger", "drop", "t"}), 0, {"dropped"});
  check_status(pair.original.looseleaf({"freeze", "--reason", "a holiday"}), 0, {"froze"});
  check_status(pair.finish(), 3,
               {"error: a store that is not open cannot be moved\n", "  reason: a holiday\n",
                "hint: run `looseleaf thaw` first"});
  check_status(pair.original.looseleaf({"thaw"}), 0, {"opened"});
  check_not_moved(pair);
}

}  // namespace
}  // namespace looseleaf::test
