// The feed: what export and changes print, from which positions they continue, and what they refuse.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "feed/position.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/lock_holder.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

using Json = nlohmann::json;

// What a run of changes printed: the changes, by kind, and the position at the end.
struct Changes {
  std::vector<std::string> stored, deleted, no_match, unreadable;  // ids, in order
  std::map<std::string, std::string> stamps;                       // the last one of each id
  std::string position;

  explicit Changes(const cli::ProcessResult& result) {
    CHECK_MESSAGE(result.status == 0, result.err);
    for (const std::string& line : lines_of(result.out)) {
      const Json change = Json::parse(line);
      if (change.contains("position")) {
        position = change["position"];
        continue;
      }
      const std::string id = change["id"];
      (change.contains("entity")       ? stored
       : change.contains("deleted")    ? deleted
       : change.contains("unreadable") ? unreadable
                                       : no_match)
          .push_back(id);
      stamps[id] = change["stamp"];
    }
  }

  [[nodiscard]] std::size_t size() const {
    return stored.size() + deleted.size() + no_match.size() + unreadable.size();
  }
};

Changes changes_after(const TestCluster& cluster, const std::string& position,
                      const std::vector<std::string>& arguments = {}) {
  return Changes(cluster.looseleaf(joined({"changes", "--after", position}, arguments)));
}

std::string position_in(const cli::ProcessResult& exported) {
  const std::string line = lines_of(exported.err).back();
  CHECK(line.starts_with("position: "));
  return line.substr(line.find(' ') + 1);
}

TEST_CASE("an export holds every entity byte for byte, so that a put of it into other shards gives the same store") {
  const TestCluster cluster = initialised(2), other = initialised(3);
  std::string lines =
      entity_lines(1300, R"("n": {0},  "text":"caf\u00e9 \ud83d\ude00 {0}", "big":123456789012345678901234567890.10)");
  lines += entity(5000, fmt::format(R"("large":"{}")", std::string(300'000, 'x'))) + "\n";
  put_all(cluster, lines);
  const cli::ProcessResult exported = cluster.looseleaf({"export"});
  CHECK(exported.status == 0);
  CHECK(sorted(lines_of(exported.out)) == sorted(lines_of(lines)));
  put_all(other, exported.out);
  CHECK(sorted(lines_of(other.looseleaf({"export"}).out)) == sorted(lines_of(lines)));
  CHECK(sorted(lines_of(cluster.looseleaf({"export", "--ids"}).out)).size() == 1301);
  CHECK(lines_of(cluster.looseleaf({"export", "--where", "n=7"}).out) == std::vector<std::string>{lines_of(lines)[7]});
}

TEST_CASE("what is printed after a position is each later version and delete once, and an equal body is a version") {
  const TestCluster cluster = initialised();
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(10, R"("n":{})"));
  const Changes all = changes_after(cluster, "beginning");
  CHECK(sorted(all.stored) == sorted(lines_of(id_lines(10))));
  put_all(cluster, entity(3, R"("n":30)") + "\n" + entity(4, R"("n":4)") + "\n" + entity(11, R"("n":11)"));
  check_status(cluster.looseleaf({"delete", id_of(5)}), 0);
  cluster.sql(0, "DELETE FROM by_n WHERE n = 2");
  check_status(cluster.looseleaf({"clean", "--full"}), 0, {"missing from a ready index", "inserted 1"});
  const Changes later = changes_after(cluster, all.position);
  CHECK(sorted(later.stored) == ids_of({3, 4, 11}));
  CHECK(later.deleted == ids_of({5}));
  CHECK(later.stamps.at(id_of(4)) > all.stamps.at(id_of(4)));
  CHECK(changes_after(cluster, later.position).size() == 0);
  CHECK(changes_after(cluster, changes_after(cluster, "now").position).size() == 0);
  const Changes limited = changes_after(cluster, all.position, {"--limit", "4"});
  CHECK(limited.size() == 4);
  const cli::ProcessResult begun = cluster.looseleaf({"export", "--ids", "--limit", "2", "--quiet"});
  cluster.everywhere(  // as a purge does a day later
      "INSERT INTO looseleaf_progress (job, table_name, generation, barrier, detail, token, holder, since, heartbeat) "
      "SELECT 'purged', '', 0, MAX(updated) + INTERVAL 1 MICROSECOND, '', 0, '', NOW(6), NOW(6) FROM entities; "
      "DELETE FROM entities WHERE body IS NULL");
  CHECK(changes_after(cluster, limited.position).size() == 0);
  const std::string position = begun.err.substr(begun.err.find("position: ") + 10);  // an export needs no deletes
  const cli::ProcessResult rest =
      cluster.looseleaf({"export", "--ids", "--after", position.substr(0, position.find('\n'))});
  check_status(rest, 0, {"position: "});
  CHECK(sorted(lines_of(begun.out + rest.out)) == ids_of({0, 1, 2, 3, 4, 6, 7, 8, 9, 11}));
}

TEST_CASE("who reads one shard asks no other one, and gets a position that says that nothing was read of the others") {
  const TestCluster cluster = initialised_alone(2);
  put_all(cluster, entity_lines(6));
  cluster.sandbox().kill_server(1);
  const std::string position = changes_after(cluster, "now", {"--shard", "0", "--timeout", "5"}).position;
  cluster.sandbox().start_server(1);
  CHECK(sorted(changes_after(cluster, position).stored) == ids_of({1, 3, 5}));
}

TEST_CASE("an export and the changes after it are complete, and either continues where a limit or a signal ended it") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(1200, R"("n":{})"));
  std::vector<std::string> ids;
  std::string position = "beginning";
  for (bool more = true; more;) {
    const cli::ProcessResult part = cluster.looseleaf({"export", "--ids", "--limit", "350", "--after", position});
    ids = joined(ids, lines_of(part.out));
    position = position_in(part);
    more = !part.out.empty();
  }
  CHECK(sorted(ids) == sorted(lines_of(id_lines(1200))));
  put_all(cluster, entity_lines(20, R"("n":-{})"));
  std::vector<std::string> changed;
  for (bool more = true; more;) {
    const Changes some = changes_after(cluster, position, {"--limit", "7"});
    changed = joined(changed, some.stored);
    position = some.position;
    more = some.size() > 0;
  }
  CHECK(sorted(changed) == sorted(lines_of(id_lines(20))));
}

TEST_CASE("with many shards, the positions take no more room than the changes, and none is late") {
  const TestCluster cluster = initialised(64);
  put_all(cluster, entity_lines(640));
  const cli::ProcessResult printed = cluster.looseleaf({"changes"});
  std::size_t positions = 0, changes = 0;
  for (const std::string& line : lines_of(printed.out)) {
    (line.starts_with(R"({"position")") ? positions : changes) += line.size();
  }
  const std::string position = Changes(printed).position;
  CHECK(times(R"("entity")", printed.out) == 640);
  CHECK(positions <= changes + 2 * position.size());
  put_all(cluster, entity(1));
  cli::Process follower = cluster.start({"changes", "--follow", "--after", position});
  wait_until("the change is printed, and its position", [&] {
    return holds_in_order(follower.out(), {R"("entity")", R"({"position":")", "\"}\n"});
  });
  check_status(end_by(SIGTERM, follower), 143);
}

TEST_CASE("many rows with one stamp are printed once each, over several pages, and from a position among them on") {
  const TestCluster cluster = initialised(1);
  const std::string start = changes_after(cluster, "now").position;
  put_all(cluster, entity_lines(1700));
  cluster.sql(0, "UPDATE entities SET updated = (SELECT s FROM (SELECT MAX(updated) AS s FROM entities) AS m)");
  const Changes all = changes_after(cluster, start);
  CHECK(sorted(all.stored) == sorted(lines_of(id_lines(1700))));
  CHECK(std::ranges::adjacent_find(all.stamps, [](auto& a, auto& b) { return a.second != b.second; }) ==
        all.stamps.end());
  const Changes some = changes_after(cluster, start, {"--limit", "700"});
  const Changes others = changes_after(cluster, some.position);
  CHECK(others.size() == 1000);
  CHECK(sorted(joined(some.stored, others.stored)) == sorted(lines_of(id_lines(1700))));
}

TEST_CASE("a row that changes between two pages is printed by the next round" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  const std::string start = changes_after(cluster, "now").position;
  put_all(cluster, entity_lines(600));
  cli::Process reader = cluster.stop_at("feed.read:before#2", {"changes", "--after", start});
  put_all(cluster, entity(599) + "\n" + entity(1));
  const Changes first(resume(reader));
  CHECK(first.size() == 599);
  CHECK(sorted(changes_after(cluster, first.position).stored) == ids_of({1, 599}));
}

// Entity 1 is put, but not committed, while entity 2 is, and changes run. With failpoints they do not wait for it.
std::vector<std::string> ids_beside_slow_put(const TestCluster& cluster, const std::string& failpoints) {
  const std::string start = changes_after(cluster, "now").position;
  cli::Process put = cluster.stop_at("put.commit:before", {"put"}, entity(1));
  put_all(cluster, entity(2));
  TracedProcess reader(cluster, {"changes", "--after", start}, failpoints);
  cli::ProcessResult read;
  if (failpoints.empty()) {
    reader.wait_for("barrier.take:before@0");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK_FALSE(reader.has_passed("barrier.take:after@0"));
  } else {
    read = reader->wait();
  }
  CHECK(resume(put).status == 0);
  const Changes first(failpoints.empty() ? reader->wait() : read);
  static_cast<void>(changes_after(cluster, "now"));  // raises the clock floor, which would betray a left-out barrier
  return sorted(joined(first.stored, changes_after(cluster, first.position).stored));
}

TEST_CASE("a put in flight is never skipped, and without a barrier it is" * needs_failpoints) {
  CHECK(ids_beside_slow_put(initialised(1), "") == ids_of({1, 2}));
  CHECK(ids_beside_slow_put(initialised(1), "barrier.take=skip,feed.conclude=skip") == ids_of({2}));
}

TEST_CASE("a shard that is an older copy is refused, also when its clock floor has been raised since") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(4));
  for (const char* table : {"entities", "looseleaf_shard"}) {
    cluster.sql(0, fmt::format("CREATE TABLE copy_{0} LIKE {0}; INSERT INTO copy_{0} SELECT * FROM {0}", table));
  }
  put_all(cluster, entity(6) + "\n" + entity(2, R"("n":1)"));
  const std::string position = changes_after(cluster, "beginning").position;
  for (const char* table : {"entities", "looseleaf_shard"}) {
    cluster.sql(0, fmt::format("DELETE FROM {0}; INSERT INTO {0} SELECT * FROM copy_{0}", table));
  }
  const std::vector<std::string> refusal = {"error: the shard has lost changes that were delivered\n",
                                            "  position: ", "  shard: 0\n", "hint: it was restored from an older copy"};
  check_status(cluster.looseleaf({"changes", "--after", position}), 2, refusal);
  static_cast<void>(changes_after(cluster, "now"));  // raises the clock floor
  put_all(cluster, entity(8));
  check_status(cluster.looseleaf({"changes", "--after", position, "--follow"}), 2, refusal);
}

TEST_CASE("a page does not count on a server that lacks its barrier, and whose stamps may therefore be older" *
          needs_failpoints) {
  const TestCluster cluster = initialised(1);
  const std::string position = changes_after(cluster, "beginning").position;
  put_all(cluster, entity(1));
  cli::Process reader = cluster.stop_at("feed.read:before@0", {"changes", "--after", position});
  cluster.sql(0, "UPDATE looseleaf_shard SET clock_floor = clock_floor - INTERVAL 1 MICROSECOND");
  check_status(
      resume(reader), 3,
      {"error: another server has taken over the shard without its last commit\n", "hint: run the command again"});
  CHECK(changes_after(cluster, position).stored == ids_of({1}));
}

// A position on all shards as it was so long ago.
std::string old_position(const StoreFixture& store, int hours) {
  shard::Shards shards = store.shards();
  feed::Position position{shards.cluster_id(), {}};
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const std::string then = store.cluster.sql(shard, fmt::format("SELECT NOW(6) - INTERVAL {} HOUR", hours));
    position.shards.push_back(feed::ShardPosition{{base::parse_stamp(then.substr(0, 26)), 0}});
  }
  return to_text(position);
}

TEST_CASE("a purge that overtakes a reader is told to it, and without a note it would not be" * needs_failpoints) {
  for (const bool noted : {true, false}) {
    CAPTURE(noted);
    const StoreFixture store;
    put_all(store.cluster, entity_lines(3));
    check_status(store.cluster.looseleaf({"delete", id_of(0)}), 0);
    store.cluster.sql(0, "UPDATE entities SET updated = updated - INTERVAL 3 DAY");
    const std::string before = old_position(store, 96), behind = old_position(store, 48);
    CHECK(changes_after(store.cluster, before).deleted == ids_of({0}));
    cli::Process clean = store.cluster.start({"clean"}, {}, noted ? "" : "purge.note=skip");
    check_status(clean.wait(), 0, {"purged 1 tombstone"});
    if (noted) {
      check_status(store.cluster.looseleaf({"changes", "--after", before}), 2,
                   {"error: deletes that were not delivered have been purged\n", "  shard: 0\n",
                    "hint: let the consumer start again with `--after beginning`"});
    } else {
      CHECK(changes_after(store.cluster, before).deleted.empty());
    }
    CHECK(sorted(changes_after(store.cluster, behind).stored) == ids_of({1}));
  }
}

TEST_CASE("with a filter deletes pass, and entities that do not match are told without their text") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(4, R"("kind":"cat")"));
  const Changes all = changes_after(cluster, "beginning", {"--where", "kind=cat"});
  CHECK(all.stored.size() == 4);
  put_all(cluster, entity(1, R"("kind":"dog")") + "\n" + entity(9, R"("kind":"cat")"));
  check_status(cluster.looseleaf({"delete", id_of(2)}), 0);
  const Changes later = changes_after(cluster, all.position, {"--where", "kind=cat"});
  CHECK(later.stored == ids_of({9}));
  CHECK(later.deleted == ids_of({2}));
  CHECK(later.no_match == ids_of({1}));
}

TEST_CASE("a damaged entity is named, and the others are printed") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(4));
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'damaged' WHERE id = x'{}'", id_of(2)));
  const std::vector<std::string> message = {"looseleaf: error: ", fmt::format("  id: {}\n", id_of(2)), "  shard: 0\n",
                                            "hint: delete it, and put it again"};
  const std::string exported = check_status(cluster.looseleaf({"export", "--ids"}), 3, message);
  CHECK(sorted(lines_of(exported)) == ids_of({0, 1, 3}));
  cli::ProcessResult changed = cluster.looseleaf({"changes"});
  check_status(changed, 3, message);
  changed.status = 0;
  CHECK(Changes(changed).unreadable == ids_of({2}));
  cluster.sql(0, fmt::format("UPDATE entities SET body = COMPRESS('not json') WHERE id = x'{}'", id_of(2)));
  CHECK(cluster.looseleaf({"export"}).status == 3);
  cluster.sql(0, fmt::format("UPDATE entities SET body = COMPRESS('{}') WHERE id = x'{}'", entity(4), id_of(2)));
  check_status(cluster.looseleaf({"export"}), 3, {"error: a stored body has another entity's id\n"});
}

TEST_CASE("a follower prints changes within two seconds, and a server that fails does not hold up the others") {
  const TestCluster cluster = initialised_alone();
  cli::Process follower = cluster.start({"changes", "--follow", "--timeout", "5"});
  // Puts entities, with which a shard goes on in the order of their numbers, until one is printed so soon, which it may
  // not be while the machine is busy; all of them are printed.
  const auto check_soon_printed = [&](std::uint64_t first, std::uint64_t step) {
    bool soon = false;
    for (std::uint64_t number = first; !soon && number < first + 5 * step; number += step) {
      put_all(cluster, entity(number));
      const auto stored = std::chrono::steady_clock::now();
      wait_until("it is printed", [&] { return contains(follower.out(), id_of(number)); });
      soon = std::chrono::steady_clock::now() - stored < std::chrono::seconds(2);
    }
    CHECK(soon);
  };
  check_soon_printed(11, 2);
  check_soon_printed(12, 2);
  cluster.sandbox().kill_server(0);
  check_soon_printed(31, 2);
  wait_until("the failure is told", [&] { return contains(follower.err(), "  shard: 0\n"); });
  cluster.sandbox().start_server(0);
  put_all(cluster, entity(4));
  wait_until("it is printed", [&] { return contains(follower.out(), id_of(4)); });
  const cli::ProcessResult result = end_by(SIGTERM, follower);
  check_status(result, 143, {"looseleaf: error: ", "  shard: 0\n", "looseleaf: shard 0 works again\n"});
  CHECK(times("  shard: 0\n", result.err) == 1);
}

TEST_CASE("a follower ends when nobody reads what it prints any more, although nothing changes") {
  const StoreFixture store(1);
  CHECK(
      run({"bash", "-c", R"(timeout 20 "$0" --cluster "$1" changes --follow --after now | true; exit ${PIPESTATUS[0]})",
           looseleaf_program(), store.cluster.file()})
          .status == 0);
}

TEST_CASE("a shard whose changes cannot be read for a while is told of once, and once when they are read") {
  const StoreFixture store(1);
  cli::Process follower = store.cluster.start({"changes", "--follow", "--timeout", "3"});
  const auto failures = [&] { return times("looseleaf: error: ", follower.err()); };
  const auto recoveries = [&] { return times("works again", follower.err()); };
  put_all(store.cluster, entity(1));
  wait_until("it is printed", [&] { return contains(follower.out(), id_of(1)); });
  LockHolder writer(store, 0, "SELECT * FROM looseleaf_shard LOCK IN SHARE MODE");  // the barrier waits for it
  put_all(store.cluster, entity(2));
  wait_until("the failure is told", [&] { return failures() > recoveries(); });
  const std::size_t told = failures();                   // more than one if the machine stood still before
  std::this_thread::sleep_for(std::chrono::seconds(7));  // two rounds, each of which finds that there are changes
  CHECK(failures() == told);
  CHECK(recoveries() == told - 1);
  writer.release();
  wait_until("it works again", [&] { return recoveries() == told; });
  CHECK(contains(follower.err(), "looseleaf: shard 0 works again\n"));
  CHECK(contains(follower.out(), id_of(2)));
  end_by(SIGTERM, follower);
}

TEST_CASE("a page of a server that became read-only meanwhile does not count" * needs_failpoints) {
  const TestCluster cluster = initialised_alone(1);
  put_all(cluster, entity_lines(3));
  cli::Process reader = cluster.stop_at("feed.scan:before", {"changes", "--timeout", "4"});
  cluster.server_sql(0, "SET GLOBAL read_only = 1");
  const cli::ProcessResult result = resume(reader);
  CHECK(result.status == 3);
  CHECK(!contains(result.out, id_of(0)));
  cluster.server_sql(0, "SET GLOBAL read_only = 0");
}

TEST_CASE("a batch that the caller did not take, because it threw, comes again after the position in the report") {
  const StoreFixture store(1);
  put_all(store.cluster, entity_lines(1200));
  int batches = 0;
  std::vector<std::string> taken;
  FeedReport report;
  CHECK_THROWS_WITH(store.datastore.export_entities(
                        {},
                        [&](const ChangeBatch& batch) {
                          if (++batches == 2) {
                            throw std::runtime_error("full");
                          }
                          for (const Change& change : batch.changes) {
                            taken.push_back(to_string(change.id));
                          }
                          return true;
                        },
                        report),
                    "full");
  CHECK(report.stored == taken.size());
  const std::string end = position_in(store.cluster.looseleaf({"export", "--ids"}));
  check_run(store.cluster.looseleaf({"export", "--after", end}), 0, "",
            {"warning: nothing is left of this export: the position is that of its end\n",
             "hint: `looseleaf changes --after POSITION` gives what has changed since\n", "position: "});
  taken = joined(taken, changes_after(store.cluster, report.position).stored);
  CHECK(sorted(taken) == sorted(lines_of(id_lines(1200))));
}

TEST_CASE("the position of a batch stays the one after this batch, whenever it is asked for") {
  StoreFixture fixture;
  fixture.fill(10);
  std::vector<ChangeBatch> batches;
  std::vector<std::string> positions;
  const auto on_batch = [&](const ChangeBatch& batch) {
    positions.push_back(batch.position());
    batches.push_back({{}, batch.position});
    CHECK(batches.front().position() == positions.front());
    return true;
  };
  FeedReport report;
  fixture.datastore.export_entities({}, on_batch, report);
  REQUIRE(batches.size() == 2);  // one for each shard
  for (std::size_t i = 0; i < batches.size(); ++i) {
    CHECK(batches[i].position() == positions[i]);
  }
  CHECK(positions[0] != positions[1]);
}

TEST_CASE("a call that cannot reach the store reports the position that it was given") {
  Cluster nowhere;
  nowhere.shards.resize(1);
  nowhere.shards.front().address.socket = "/nonexistent";
  const Datastore store = Datastore::open(nowhere, StoreFixture::options(std::chrono::milliseconds(100)));
  FeedReport report;
  ChangesOptions options;
  options.after = "AQGiFPez1Xy_jPMhsjRu";
  const auto on_batch = [](const ChangeBatch&) { return true; };
  CHECK(error_of([&] { store.export_entities(options, on_batch, report); }).code() == ErrorCode::unavailable);
  CHECK(report.position == options.after);
  for (const char* const start : {"now", "beginning"}) {
    report = {};
    options.after = start;
    CHECK(error_of([&] { store.changes(options, on_batch, report); }).code() == ErrorCode::unavailable);
    CHECK(report.position.empty());
  }
}

TEST_CASE("an error that the caller's function throws ends a follower, and is not taken for one of the shard") {
  const StoreFixture store(1);
  put_all(store.cluster, entity(1));
  FeedReport report;
  ChangesOptions options;
  options.follow = true;
  int failures = 0;
  options.on_failure = [&](std::uint32_t, const Error*) { ++failures; };
  CHECK_THROWS_WITH(
      store.datastore.changes(
          options, [](const ChangeBatch&) -> bool { throw Error(ErrorCode::unavailable, "another service is down"); },
          report),
      "another service is down");
  CHECK(failures == 0);
}

TEST_CASE("a position that is not one of this cluster is refused") {
  const TestCluster cluster = initialised(2), other = initialised(2);
  std::string position = changes_after(cluster, "now").position;
  check_status(
      other.looseleaf({"changes", "--after", position}), 2,
      {"error: the position belongs to another cluster\n", "  expected: ", "  found: ", "hint: give a position"});
  const std::string printed = cluster.looseleaf({"changes"}).out, said = cluster.looseleaf({"export"}).err;
  for (const std::string& text : {position + "\n", printed, said, printed + "{\"id\":\"0123"}) {
    CAPTURE(text);
    CHECK(changes_after(cluster, "@" + cluster.directory().write("position", text)).size() == 0);
  }
  for (const std::string& line : {lines_of(printed).back(), lines_of(said).back()}) {
    CAPTURE(line);
    CHECK(changes_after(cluster, line).size() == 0);
  }
  const std::string without = cluster.directory().write("without", "{}\n{}\n");
  check_status(cluster.looseleaf({"changes", "--after", "@" + without}), 2,
               {"error: the end of a file has no position\n", "  file: " + without + "\n", "hint: give the file that"});
  position[20] = position[20] == 'A' ? 'B' : 'A';
  check_status(cluster.looseleaf({"export", "--after", position}), 2, {"error: not a position\n", "hint: "});
  for (const char* const reader : {"export", "changes"}) {
    check_status(cluster.looseleaf({reader, "--shard", "7"}), 2, {"error: there is no such shard\n", "  shard: 7\n"});
  }
  const std::string empty = cluster.directory().write("empty", "\n");
  check_status(cluster.looseleaf({"changes", "--after", "@/nowhere"}), 3,
               {"error: the file cannot be read\n", "file: /nowhere\n", "hint: name files that exist"});
  check_status(cluster.looseleaf({"changes", "--after", "@" + empty}), 2, {"error: an empty position\n", "  value: @"});
}

}  // namespace
}  // namespace looseleaf::test
