// freeze and thaw, and what commands make of a store that is frozen, about to move, or has moved.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> freeze = {"freeze", "--reason", "a new server"};
constexpr const char* is_frozen = "looseleaf: error: the store is frozen, and takes no writes\n";
constexpr const char* has_moved = "looseleaf: error: the store has moved\n";
constexpr const char* use_the_new_store = "hint: use the cluster file of the new store\n";
constexpr const char* by_m = R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})";

// Sets the state of a shard as another command will. A store that has moved has announced it to reads before.
void set_state(const TestCluster& cluster, std::uint32_t shard, const std::string& state, const std::string& reason) {
  const bool announced = !contains(cluster.sql(shard, "SHOW CREATE TABLE entities"), "KEY `updated`");
  if (announced != (state == "moved")) {
    cluster.sql(shard, announced ? "ALTER TABLE entities RENAME INDEX may_have_moved TO updated"
                                 : "ALTER TABLE entities RENAME INDEX updated TO may_have_moved");
  }
  cluster.sql(shard, fmt::format("UPDATE looseleaf_shard SET access = '{}', access_token = {}, access_reason = '{}', "
                                 "access_holder = 'elsewhere pid 7', access_since = NOW(6)",
                                 state, state == "open" ? 0 : 77, state == "open" ? "" : reason));
}

void set_state_everywhere(const TestCluster& cluster, const std::string& state, const std::string& reason) {
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    set_state(cluster, shard, state, reason);
  }
}

// What commands have begun and not ended.
std::string intents(const TestCluster& cluster) {
  return cluster.everywhere("SELECT job, table_name FROM looseleaf_progress");
}

// Entities 0 to 9, of which 4 has a body that is not read together with others.
TestCluster filled(std::uint32_t shards = 2) {
  TestCluster cluster = initialised(shards);
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(10, "\"n\":{}"));
  put_all(cluster, entity(4, fmt::format(R"("n":4,"noise":"{}")", noise(200'000))));
  return cluster;
}

TEST_CASE("a frozen store refuses puts and deletes with the reason, and takes them again once it is thawed") {
  const TestCluster cluster = filled();
  check_run(cluster.looseleaf(freeze), 0, "", {"froze 2 shards; `looseleaf thaw` opens the store again\n"});
  const cli::ProcessResult put = cluster.looseleaf({"put"}, entity_lines(50, "\"n\":{}"));
  check_run(put, 3, "",
            {is_frozen, "reason: a new server\n", "by: ", " pid ", "since: ", " UTC\n", "hint: wait until it is open",
             "`looseleaf thaw` opens it\n", is_frozen, "entities: 49 more\n", "stored 0 entities, failed 50\n"});
  CHECK(times(is_frozen, put.err) == 2);
  check_run(cluster.looseleaf({"delete", id_of(1)}), 3, "", {is_frozen, "failed 1\n"});
  CHECK(cluster.looseleaf({"get", id_of(1)}).status == 0);
  CHECK(lines_of(cluster.looseleaf({"query", "by_n", "--ids"}).out).size() == 10);
  for (const char* const command : {"verify", "clean", "export", "changes"}) {
    CAPTURE(command);
    CHECK(cluster.looseleaf({command}).status == 0);
  }
  check_run(cluster.looseleaf({"thaw"}), 0, "", {"looseleaf: opened 2 shards\n"});
  check_run(cluster.looseleaf({"thaw"}), 0, "", {"looseleaf: the store is open already\n"});
  put_all(cluster, entity(1, "\"n\":1"));
}

TEST_CASE(
    "freeze needs one line as its reason, and is refused while the store is frozen, about to move, or has moved") {
  const TestCluster cluster = initialised();
  check_run(cluster.looseleaf({"freeze"}), 2, "", {"freeze needs a reason\n", "hint: give `--reason TEXT`"});
  for (const std::string& reason :
       {std::string(), std::string("two\nlines"), std::string(1001, 'x'), std::string("\xff")}) {
    check_run(cluster.looseleaf({"freeze", "--reason", reason}), 2, "",
              {"not usable as a reason\n", "hint: give one line"});
  }
  CHECK(states(cluster) == "open open");
  CHECK(cluster.looseleaf({"freeze", "--reason", "it's \\ \"quoted\" \u00e4"}).status == 0);
  check_run(cluster.looseleaf(freeze), 3, "",
            {"the store is frozen already\n", "reason: it's \\ \"quoted\" \u00e4\n",
             "by: ", "hint: run `looseleaf thaw` first\n"});
  set_state(cluster, 0, "open", "");
  check_run(cluster.looseleaf(freeze), 3, "",
            {"a part of the store is frozen already\n", "shards: 1\n", "an earlier freeze or thaw did not complete\n"});
  CHECK(states(cluster) == "open frozen");
  set_state_everywhere(cluster, "moving", "to new.json");
  check_run(cluster.looseleaf(freeze), 3, "", {"the store is about to move\n", "reason: to new.json\n", "hint: wait;"});
  check_run(cluster.looseleaf({"thaw"}), 0, "", {"opened 2 shards\n"});
  set_state_everywhere(cluster, "moving", "to new.json");
  set_state(cluster, 0, "moved", "new.json");
  for (const auto& command : std::vector<std::vector<std::string>>{freeze, {"thaw"}, {"thaw", "--force"}}) {
    check_run(cluster.looseleaf(command), 2, "",
              {has_moved, "to: new.json\n", "by: elsewhere pid 7\n", use_the_new_store});
  }
  CHECK(states(cluster) == "moved moving");
}

TEST_CASE("writers wait while the store is about to move, until it is open again or their time has passed") {
  const TestCluster cluster = initialised();
  set_state_everywhere(cluster, "moving", "to new.json");
  check_run(cluster.looseleaf({"--timeout", "2", "put"}, entity(1)), 3, "",
            {"the store is about to move, and takes no writes\n", "reason: to new.json\n",
             "hint: retry; if the process that moves the store has died, `looseleaf thaw` opens it\n"});
  cluster.everywhere(  // a move that has begun long ago
      "UPDATE looseleaf_shard SET access_since = '2026-01-01 00:00:00', access_until = '2038-01-01 00:00:10'");
  check_run(cluster.looseleaf({"--timeout", "1", "put"}, entity(1)), 3, "",
            {"warning: the store is about to move, and takes no writes\n",
             "has died, `looseleaf thaw` opens it, and writers do so themselves after 2038-01-01 00:00:10.000000 UTC\n",
             "error: the store is about to move, and takes no writes\n"});
  set_state_everywhere(cluster, "moving", "to new.json");
  cli::Process put = cluster.start({"put"}, entity(1));
  cli::Process create = cluster.start({"create-index", cluster.directory().write("by_n.json", by_n)});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  set_state_everywhere(cluster, "open", "");
  const cli::ProcessResult waited = put.wait();  // it warns if that takes longer than two seconds
  CHECK_MESSAGE(waited.status == 0, waited.err);
  CHECK(waited.out == id_of(1) + "\n");
  CHECK(create.wait().status == 0);
}

TEST_CASE("a frozen store refuses every change of its indexes before anything is written") {
  const TestCluster cluster = filled();
  const std::string definition = cluster.directory().write("by_m.json", by_m);
  const TemporaryDirectory folder;
  folder.write("by_m.json", by_m);
  CHECK(cluster.looseleaf({"create-index", definition}).status == 0);
  const std::string before = intents(cluster);
  CHECK(cluster.looseleaf(freeze).status == 0);
  check_status(cluster.looseleaf({"create-index", definition}), 0, {"by_m is already active: building"});
  check_status(cluster.looseleaf({"backfill"}), 3,
               {is_frozen, "reason: a new server\n", "hint: a backfill cannot finish while the store is frozen; wait"});
  const std::string other =
      cluster.directory().write("by_k.json", R"({"table": "by_k", "properties": [{"name": "k", "type": "int"}]})");
  folder.write("by_k.json", R"({"table": "by_k", "properties": [{"name": "k", "type": "int"}]})");
  for (const auto& command : std::vector<std::vector<std::string>>{{"create-index", other},
                                                                   {"create-index", "--dry-run", other},
                                                                   {"apply", folder.path()},
                                                                   {"drop-index", "by_n", "--yes"}}) {
    CAPTURE(command[0]);
    check_status(cluster.looseleaf(command), 3, {is_frozen, "reason: a new server\n"});
  }
  CHECK(intents(cluster) == before);
  CHECK(cluster.looseleaf({"query", "by_n"}).status == 0);
  cluster.server_sql(cluster.server_of(1), "DROP DATABASE " + cluster.database(1));
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "1"}), 3, {is_frozen, "shard: 0\n"});
  CHECK(cluster.sql(0, "SELECT state FROM looseleaf_index WHERE table_name = 'by_n'") == "ready\n");
}

TEST_CASE("a backfill that began before a freeze cannot make its index ready, and completes it after the thaw" *
          needs_failpoints) {
  const TestCluster cluster = filled();
  CHECK(cluster.looseleaf({"create-index", cluster.directory().write("by_m.json", by_m)}).status == 0);
  cli::Process backfill = cluster.stop_at("backfill.prove:before", {"backfill"});
  CHECK(cluster.looseleaf(freeze).status == 0);
  check_status(resume(backfill), 3, {is_frozen, "reason: a new server\n"});
  check_status(cluster.looseleaf({"query", "by_m"}), 2, {"index is still building\n"});
  CHECK(cluster.looseleaf({"thaw"}).status == 0);
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_m: ready"});
}

TEST_CASE("if a shard cannot be frozen the others are open again, and thaw opens what answers" * needs_failpoints) {
  const TestCluster cluster = initialised_alone();
  const std::vector<std::string> impatient_freeze = joined({"--timeout", "2"}, freeze);
  cli::Process command = cluster.stop_at("freeze.change:before@1#1", impatient_freeze);
  CHECK(cluster.sql(0, "SELECT access FROM looseleaf_shard") == "frozen\n");
  set_state(cluster, 1, "frozen", "another freeze");
  check_run(resume(command), 3, "",
            {"could not freeze every shard\n", "reason: another freeze\n",
             "cause: a part of the store is frozen already\n", "opened again: 0\n"});
  CHECK(states(cluster) == "open frozen");
  CHECK(cluster.looseleaf({"thaw"}).status == 0);

  cli::Process checks = cluster.stop_at("freeze.change:after@1#1", impatient_freeze);
  cluster.sandbox().kill_server(0);
  check_run(resume(checks), 3, "", {"could not freeze every shard\n", "opened again: 1\n", "may be frozen: 0\n"});
  cluster.sandbox().start_server(0);
  CHECK(states(cluster) == "frozen open");
  CHECK(cluster.looseleaf({"thaw"}).status == 0);

  CHECK(cluster.looseleaf({"freeze", "--reason", "a new server"}).status == 0);
  cluster.sandbox().kill_server(0);
  check_run(cluster.looseleaf({"--timeout", "2", "thaw"}), 3, "",
            {"could not open every shard\n", "opened: 1\n", "not opened: 0\n"});
  cluster.sandbox().start_server(0);
  CHECK(states(cluster) == "frozen open");
  CHECK(cluster.looseleaf({"thaw"}).status == 0);

  cli::Process again = cluster.stop_at("freeze.change:before@1#1", impatient_freeze);
  cluster.sandbox().kill_server(1);
  const cli::ProcessResult failed = resume(again);
  check_run(failed, 3, "", {"could not freeze every shard\n", "cause: ", "opened again: 0\n"});
  CHECK(!contains(failed.err, "may be frozen"));  // nothing was written there
  CHECK(cluster.sql(0, "SELECT access FROM looseleaf_shard") == "open\n");

  set_state(cluster, 0, "frozen", "a new server");
  check_run(cluster.looseleaf({"--timeout", "2", "thaw"}), 3, "",
            {"could not open every shard\n", "opened: 0\n", "not opened: 1\n", "hint: run the command again"});
  CHECK(cluster.sql(0, "SELECT access FROM looseleaf_shard") == "open\n");
}

TEST_CASE("a shard whose COMMIT may have frozen it is named, whatever the repetition meets" * needs_failpoints) {
  const TestCluster cluster = initialised();
  cli::Process command = cluster.stop_at("fence.commit:before@0#1", freeze);
  std::string session;
  wait_until("its transaction is seen", [&] {  // the server's table is up to 100 ms old
    session = cluster.sql(0,
                          "SELECT id FROM information_schema.processlist JOIN information_schema.innodb_trx ON "
                          "trx_mysql_thread_id = id WHERE db = DATABASE() AND trx_rows_modified > 0");
    return !session.empty();
  });
  cluster.sql(0, "KILL " + session);
  cluster.sql(0, "RENAME TABLE looseleaf_shard TO away");
  check_run(resume(command), 2, "",
            {"could not freeze every shard\n", "cause: shard is not initialised\n", "may be frozen: 0\n",
             "hint: run `looseleaf thaw` when every server answers"});
  cluster.sql(0, "RENAME TABLE away TO looseleaf_shard");
  CHECK(states(cluster) == "open open");
}

TEST_CASE("a store that is a copy in progress is thawed only by force, and then the copier writes nothing to it") {
  const TestCluster cluster = filled();
  const TestCluster other = initialised();
  cli::Process copy = cluster.start({"copy", "--to", other.file(), "--follow"});
  const auto has = [&](std::uint64_t number) { return other.looseleaf({"get", id_of(number)}).status == 0; };
  wait_until("an entity is copied", [&] { return has(1); });
  put_all(cluster, entity(50));
  wait_until("the copy follows", [&] { return has(50); });
  check_run(other.looseleaf({"thaw"}), 3, "",
            {"the store is frozen because it is a copy in progress\n",
             "by: ", "`looseleaf --cluster ORIGINAL copy --to " + other.file() + " --detach`", "`--force`"});
  CHECK(states(other) == "frozen frozen");
  check_run(other.looseleaf({"thaw", "--force"}), 0, "", {"opened 2 shards\n"});
  put_all(other, entity(1, "\"here\":1"));
  put_all(cluster, entity(1, "\"there\":1") + entity(51));
  wait_until("the copier is refused",
             [&] { return contains(copy.err(), "the store was thawed, and takes the writes of others"); });
  end_by(SIGTERM, copy);  // unless it has ended by itself
  CHECK_FALSE(has(51));
  CHECK(contains(other.looseleaf({"get", id_of(1)}).out, "here"));
  // It is a store as any other now.
  check_status(other.looseleaf({"freeze", "--reason", "a new server", "--quiet"}), 0);
  check_run(other.looseleaf({"thaw"}), 0, "", {"opened 2 shards\n"});
  check_status(other.looseleaf({"copy", "--to", initialised(1).file()}), 0, {"wrote "});
}

TEST_CASE("status says since when, by whom and why a store takes no writes") {
  const TestCluster cluster = initialised();
  CHECK(!contains(cluster.looseleaf({"status"}).out, "since 2"));
  CHECK(cluster.looseleaf(freeze).status == 0);
  cli::ProcessResult status = cluster.looseleaf({"status"});
  CHECK(status.status == 0);
  CHECK(holds_in_order(status.out, {"cluster ", "\nfrozen since 2", " UTC by ", " pid ", ": a new server\n\nshard "}));
  set_state(cluster, 0, "moved", "new.json");
  CHECK(holds_in_order(cluster.looseleaf({"status"}).out,
                       {"shard 1: frozen since ", ": a new server\n", "shard 0: moved since ",
                        " UTC by elsewhere pid 7, to: new.json\n"}));
  set_state(cluster, 1, "open", "");
  status = cluster.looseleaf({"status", "--output", "json"});
  CHECK(status.status == 0);
  const Json moved = Json::parse(lines_of(status.out).at(0)).at("access");
  CHECK(moved.at("state") == "moved");
  CHECK(moved.at("reason") == "new.json");
  CHECK(moved.at("by") == "elsewhere pid 7");
  const Json open = Json::parse(lines_of(status.out).at(1)).at("access");
  CHECK(open == Json{{"state", "open"}, {"reason", nullptr}, {"by", nullptr}, {"since", nullptr}, {"overdue", false}});
  set_state(cluster, 0, "open", "");
  set_state(cluster, 1, "moving", "to new.json");
  cluster.sql(1, "UPDATE looseleaf_shard SET access_until = NOW(6) - INTERVAL 1 SECOND");  // shard 0 was written since
  CHECK(holds_in_order(cluster.looseleaf({"status"}).out,
                       {"\nshard 1: moving since ",
                        ": to new.json; overdue, so the next write, or `looseleaf thaw`, "
                        "opens it\n"}));
  CHECK(contains(cluster.looseleaf({"status", "--output", "json"}).out, "\"overdue\":true"));
  check_run(cluster.looseleaf({"thaw"}), 0, "", {"looseleaf: opened 1 shard\n"});
}

TEST_CASE("a backfill that meets a move that is overdue undoes it, as a put does, and ends" * needs_failpoints) {
  const TestCluster cluster = filled();
  create_index(cluster, R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}]})");
  cli::Process backfill = cluster.stop_at("backfill.publish:before@0", {"backfill", "by_m"});
  set_state_everywhere(cluster, "moving", "to new.json");
  static_cast<void>(cluster.everywhere("UPDATE looseleaf_shard SET access_until = NOW(6) - INTERVAL 1 SECOND"));
  check_status(resume(backfill), 0, {"by_m: ready\n"});
  CHECK(states(cluster) == "open open");
}

TEST_CASE("a store that has moved refuses writes and the rest of the input") {
  const TestCluster cluster = filled();
  set_state_everywhere(cluster, "moved", "new.json");
  const cli::ProcessResult put = cluster.looseleaf({"put"}, entity(1));
  check_run(
      put, 2, "",
      {"the store has moved, and takes no writes\n", "to: new.json\n", use_the_new_store,
       "error: all of the input was read, but not all of it was taken\nhint: put the input again with the cluster "
       "file of the new store, if its entities have ids of their own; ",
       "looseleaf: stored 0 entities, failed 1\n"});
  CHECK(!contains(put.err, "was not read"));
  check_run(cluster.looseleaf({"delete", id_of(1)}), 2, "",
            {"the store has moved, and takes no writes\n", use_the_new_store});
  check_status(cluster.looseleaf({"put", "--merge"}, entity(1, R"("n":1)")), 2,
               {"error: the store has moved\n", "to: new.json\n", "error: all of the input was read", "failed 1\n"});
  check_status(
      cluster.looseleaf({"update", id_of(1), id_of(2), "--", "cat"}), 2,
      {"error: the store has moved\n", "to: new.json\n",
       "error: the rest of the input was not read\nhint: run the command again with the cluster file of the new "
       "store, with the ids that were not printed\n",
       "failed 1; the rest of the input was not read\n"});
  check_status(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 2, {"the store has moved, and takes no writes\n"});
}

TEST_CASE("a put that is told that the store has moved says from which line on nothing was read, and how to go on") {
  const TestCluster cluster = filled();
  set_state_everywhere(cluster, "moved", "new.json");
  const std::string rejects = cluster.directory().path() + "/rejects", other = cluster.directory().write("other", "{}");
  const std::string file = cluster.directory().write("all.jsonl", entity_lines(100'000));
  const cli::ProcessResult put = cluster.looseleaf({"put", "--quiet", "--rejects", rejects, file, other});
  const std::size_t read = lines_of(read_text(rejects)).size();
  CHECK(read < 100'000);
  check_run(
      put, 2, "",
      {"the store has moved, and takes no writes\n",
       fmt::format("error: the rest of the input was not read\n  file: {}\n  line: {}\n  column: 1\n"
                   "  not read at all: {}\n"
                   "hint: put the rejects file, and then the input from line {} on, with the same options and the "
                   "cluster file of the new store\n",
                   file, read + 1, other, read + 1)});
  check_status(cluster.looseleaf({"put", "--quiet", "--rejects", rejects, other}), 2,
               {"error: all of the input was read, but not all of it was taken\nhint: put the rejects file, with the "
                "same options and the "});
  CHECK(read_text(rejects) == "{}\n");
  const std::string ids = id_lines(50'000);
  check_status(cluster.looseleaf({"delete", "-"}, ids), 2,
               {"error: the rest of the input was not read\n  line: ",
                "hint: run the command again with the cluster file of the new store, with the ids",
                "; the rest of the input was not read\n"});
}

TEST_CASE("a follower of a store that has moved gets what is left, and then an error") {
  const TestCluster cluster = filled();
  const std::string file = cluster.directory().path() + "/out";
  const std::vector<std::string> trigger = {"trigger", "run", "t", "--", "sh", "-c", "cat >> $0", file};
  cli::Process before = cluster.start(trigger);
  wait_until("the trigger delivers", [&] { return lines_of(read_text(file)).size() == 10; });
  set_state(cluster, 0, "moved", "new.json");
  set_state(cluster, 1, "moving", "to new.json");  // it may have been written since
  cli::Process changes = cluster.start({"changes", "--follow"});
  wait_until("everything is printed", [&] { return times("entity", changes.out()) == 10; });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  CHECK(changes.err().empty());
  set_state(cluster, 1, "moved", "new.json");
  const cli::ProcessResult changed = changes.wait();
  check_status(changed, 2,
               {has_moved, "to: new.json\n",
                "hint: everything was delivered; follow the new store with its cluster "
                "file, from `--after beginning` on: a position of this store is not valid there\n"});
  CHECK(contains(lines_of(changed.out).back(), "position"));
  check_status(before.wait(), 2,
               {has_moved, "hint: everything was delivered; run the trigger with the cluster file of"});
  check_status(cluster.looseleaf(trigger), 2, {has_moved});
  check_status(cluster.looseleaf({"trigger", "run", "new", "--", "true"}), 2, {has_moved, use_the_new_store});
  CHECK(!contains(cluster.looseleaf({"trigger", "list"}).out, "new"));
  CHECK(lines_of(read_text(file)).size() == 10);
}

TEST_CASE("a store that has moved refuses get and query, however they read, and nothing else that reads") {
  for (const std::uint32_t shards : {2U, 8U}) {  // a shard on each server, and four
    CAPTURE(shards);
    const TestCluster cluster = filled(shards);
    CHECK(cluster.looseleaf({"get", id_of(4), id_of(1)}).status == 0);
    set_state(cluster, 1, "moved", "new.json");
    CHECK(cluster.looseleaf({"get", id_of(4)}).status == 0);  // on a shard that has not moved
    for (const auto& command :
         std::vector<std::vector<std::string>>{{"get", id_of(1)},
                                               {"get", id_of(99 * shards + 1)},  // is not there
                                               {"get", id_of(4), id_of(1)},
                                               joined({"get"}, lines_of(id_lines(10))),
                                               {"query", "by_n"},
                                               {"query", "by_n", "--count"},
                                               {"query", "by_n", "--ids", "--limit", "3"},
                                               {"query", "by_n", "n=1"},
                                               {"query", "by_n", "n=2"},  // has no row on the shard that has moved
                                               {"query", "by_n", "n>100"},
                                               {"query", "by_n", "--partial"}}) {
      CAPTURE(command.back());
      check_run(cluster.looseleaf(command), 2, "", {has_moved, "to: new.json\n", use_the_new_store});
    }
    set_state_everywhere(cluster, "moved", "new.json");
    check_run(cluster.looseleaf({"get", id_of(4)}), 2, "", {has_moved});
    for (const char* const command : {"verify", "clean", "export", "changes", "status"}) {
      CAPTURE(command);
      CHECK(cluster.looseleaf({command}).status == 0);
    }
    CHECK(lines_of(cluster.looseleaf({"export", "--ids"}).out).size() == 10);
    if (base::failpoints_enabled) {  // the control: nothing else notices it where there is no row
      CHECK(cluster.start({"query", "by_n", "n>100"}, "", "query.check_index=skip").wait().status == 0);
    }
  }
}

TEST_CASE("a query that may be incomplete is refused by a store that has moved, although no entity can be read") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n_sharded);
  std::uint64_t n = 0;
  for (; cluster.sql(0, "SELECT n FROM by_n").empty(); ++n) {  // the entity on shard 1, its row on shard 0
    put_all(cluster, entity(1, fmt::format(R"("n":{})", n)));
  }
  const std::vector<std::string> query = {"query", "by_n", fmt::format("n={}", n - 1), "--partial", "--timeout", "2"};
  set_state_everywhere(cluster, "moved", "new.json");
  cluster.sandbox().kill_server(1);
  check_run(cluster.looseleaf(query), 2, "", {has_moved, use_the_new_store});
  set_state(cluster, 0, "open", "");
  check_run(cluster.looseleaf(query), 3, "", {"warning: results from shard 1 are missing\n"});
}

TEST_CASE("a query that began before the store has moved gives nothing that it reads afterwards" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(300, "\"n\":{}"));  // a query reads 100 rows, then 200
  const std::vector<std::pair<std::string, std::size_t>> cases = {{"query.read_index_rows:before#1", 0},
                                                                  {"query.read_entities:before#1", 0},
                                                                  {"query.read_index_rows:before#2", 100},
                                                                  {"query.read_entities:before#2", 100}};
  for (const auto& [place, given] : cases) {
    CAPTURE(place);
    cli::Process query = cluster.stop_at(place, {"query", "by_n", "--ids"});
    set_state_everywhere(cluster, "moved", "new.json");
    const std::string result = check_status(resume(query), 2, {has_moved, use_the_new_store});
    CHECK(lines_of(result).size() == given);
    set_state_everywhere(cluster, "open", "");
  }
  cli::Process query = cluster.stop_at("query.look_again:before#1", {"query", "by_n", "--ids"});
  set_state_everywhere(cluster, "moved", "new.json");
  CHECK(lines_of(check_status(resume(query), 0)).size() == 300);  // all of which was read before
}

}  // namespace
}  // namespace looseleaf::test
