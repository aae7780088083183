// Copies to another cluster: they are complete although stores change and processes die, and are refused where they
// must be.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <looseleaf/datastore.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sql/reserved_words.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_owner =
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner", "immutable": true})";

// A store of two shards with 58 entities and two deleted ones, and a cluster of three to copy it to.
struct Pair {
  TestCluster original = initialised(2), other = initialised(3);

  Pair() {
    create_index(original, by_n_sharded);
    create_index(original, by_owner);
    put_all(original, entity_lines(60, R"("n":{0},"owner":{0})"));
    check_status(original.looseleaf({"delete", id_of(7), id_of(8)}), 0);
  }

  [[nodiscard]] std::vector<std::string> copy_command(const std::vector<std::string>& options = {}) const {
    return joined({"copy", "--to", other.file()}, options);
  }
  [[nodiscard]] cli::ProcessResult copy(const std::vector<std::string>& options = {}) const {
    return original.looseleaf(copy_command(options));
  }
};

// Every entity as it is stored, in the order of ids.
std::vector<std::string> entities_of(const TestCluster& cluster) {
  const cli::ProcessResult exported = cluster.looseleaf({"export"});
  CHECK_MESSAGE(exported.status == 0, exported.err);
  return sorted(lines_of(exported.out));
}

void check_same(const Pair& pair) {
  CHECK(entities_of(pair.original) == entities_of(pair.other));
  const char* const catalog = "SELECT table_name, state, definition FROM looseleaf_index ORDER BY table_name";
  for (std::uint32_t shard = 0; shard < pair.other.shards(); ++shard) {
    CHECK(pair.original.sql(0, catalog) == pair.other.sql(shard, catalog));
  }
  const cli::ProcessResult verified = pair.other.looseleaf({"verify", "--grace", "0"});
  CHECK_MESSAGE(verified.status == 0, verified.out, verified.err);
}

// Changes values, deletes, and adds entities.
void change(const TestCluster& store) {
  put_all(store, entity_lines(6, R"("n":100,"owner":{0})"));
  check_status(store.looseleaf({"delete", id_of(20), id_of(21)}), 0);
  put_all(store, entity(70, R"("n":5,"owner":70)"));
}

TEST_CASE(
    "a copy has the same entities and indexes, follows what changes, and is a store of its own once it is detached") {
  const Pair pair;
  check_run(pair.copy(), 0, "", {"looseleaf: created 2 indexes, dropped 0 indexes, wrote 58 versions\n"});
  check_same(pair);
  CHECK(contains(pair.original.looseleaf({"status"}).out, "\ncopied to cluster "));
  CHECK(contains(pair.original.looseleaf({"status"}).out, ": everything up to 2"));
  CHECK(holds_in_order(pair.original.looseleaf({"status"}).out, {": everything up to 2", " UTC, as of 2", " UTC\n"}));
  pair.original.sql(1, "DELETE FROM looseleaf_progress WHERE job = 'copied_to'");
  CHECK(contains(pair.original.looseleaf({"status"}).out, ": nothing was copied yet from shard 1, as of 2"));
  change(pair.original);
  check_run(pair.copy(), 0, "", {"looseleaf: created 0 indexes, dropped 0 indexes, wrote 9 versions\n"});
  check_same(pair);
  check_status(pair.other.looseleaf({"put"}, "{}"), 3,
               {"looseleaf: error: the store is frozen, and takes no writes\n", "  reason: a copy of cluster ",
                "hint: this is a copy: write to the original; `looseleaf --cluster ORIGINAL copy --to " +
                    pair.other.file() + " --detach` makes the copy a store of its own\n"});
  check_status(pair.other.looseleaf({"freeze", "--reason", "a test"}), 3,
               {"error: the store is frozen already\n", "hint: this is a copy: write to the original; "});
  put_all(pair.original, entity(80, R"("n":8,"owner":8)"));
  check_status(pair.copy({"--detach"}), 0,
               {"wrote 1 version\n", "looseleaf: the other cluster is a store of its own now, and open\n"});
  check_same(pair);
  put_all(pair.other, "{}");
}

TEST_CASE("indexes that are created and dropped in the original follow with the next run") {
  const Pair pair;
  check_status(pair.copy(), 0, {"created 2 indexes"});
  check_status(pair.original.looseleaf({"drop-index", "--yes", "by_owner"}), 0, {"dropped"});
  create_index(pair.original, R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}]})");
  check_status(pair.original.looseleaf({"backfill"}), 0, {"by_m"});
  check_status(pair.copy(), 0, {"created 1 index, dropped 1 index, wrote 0 versions\n"});
  check_same(pair);
}

TEST_CASE("a copy fills indexes in the other cluster no faster than --max-rate") {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote 58 versions"});
  create_index(pair.original, R"({"table": "by_m", "properties": [{"name": "n", "type": "int"}]})");
  check_status(pair.original.looseleaf({"backfill"}), 0, {"by_m: ready"});
  const auto start = std::chrono::steady_clock::now();
  check_status(pair.copy({"--max-rate", "100"}), 0, {"created 1 index, "});
  CHECK(std::chrono::steady_clock::now() - start > std::chrono::seconds(1));
  check_same(pair);
}

TEST_CASE("an entity that was deleted and put again with another immutable value replaces the one in the copy") {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote 58 versions"});
  check_status(pair.original.looseleaf({"delete", id_of(3)}), 0);
  put_all(pair.original, entity(3, R"("n":3,"owner":300)"));
  check_status(pair.copy(), 0, {"wrote 1 version\n"});
  check_same(pair);
}

// The copier has deleted the old entity, and is about to put the new one, when a later version comes by the feed.
TEST_CASE("a later version that comes while an entity is replaced is not lost" * needs_failpoints) {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote 58 versions"});
  check_status(pair.original.looseleaf({"delete", id_of(3)}), 0);
  put_all(pair.original, entity(3, R"("n":3,"owner":300)"));
  cli::Process follower = pair.original.start(pair.copy_command({"--follow"}), {}, "put.fence:before@0#3=sleep:4000");
  wait_until("the old entity is deleted", [&] { return pair.other.looseleaf({"get", id_of(3)}).status == 1; });
  put_all(pair.original, entity(3, R"("n":4,"owner":300)"));
  wait_until("the later version is there", [&] { return pair.other.looseleaf({"get", id_of(3)}).status == 0; });
  std::this_thread::sleep_for(std::chrono::seconds(5));
  check_status(end_by(SIGTERM, follower), 143, {"wrote "});
  check_same(pair);
}

TEST_CASE("an entity that is to be replaced when the copier is stopped is replaced by the next run" *
          needs_failpoints) {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote 58 versions"});
  check_status(pair.original.looseleaf({"delete", id_of(3)}), 0);
  put_all(pair.original, entity(3, R"("n":3,"owner":300)"));
  cli::Process follower = pair.original.stop_at("put.fence:before@0#1", pair.copy_command({"--follow"}));
  follower.signal(SIGTERM);
  check_status(resume(follower), 143, {"wrote "});
  check_status(pair.copy(), 0, {"wrote "});
  check_same(pair);
}

TEST_CASE("a copy that follows has every change within seconds, and what it has at its end is complete") {
  const Pair pair;
  cli::Process follower = pair.original.start(pair.copy_command({"--follow"}));
  wait_until("the entities are there", [&] { return rows_of(pair.other, "entities") == 58; });
  change(pair.original);
  wait_until("the changes are there", [&] { return pair.other.looseleaf({"get", id_of(70)}).status == 0; });
  const cli::ProcessResult followed = end_by(SIGTERM, follower);
  check_status(followed, 143, {"looseleaf: the copy has caught up, and follows what changes\n", "wrote "});
  CHECK(times("caught up", followed.err) == 1);
  check_status(pair.copy(), 0, {"wrote "});
  check_same(pair);
}

TEST_CASE("a shard of the copy that fails is told of once, though others take writes, and once that it is well again") {
  const Pair pair;
  cli::Process follower = pair.original.start(pair.copy_command({"--follow"}));
  wait_until("it has caught up", [&] { return contains(follower.err(), "caught up"); });
  pair.other.sql(1, "RENAME TABLE entities TO away");
  put_all(pair.original, entity_lines(60, R"("n":1,"owner":{0})"));
  wait_until("it fails", [&] { return contains(follower.err(), "a table does not exist"); });
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    put_all(pair.original, entity_lines(60, fmt::format(R"("n":{},"owner":{{0}})", i)));
  }
  CHECK(times("a table does not exist", follower.err()) == 1);
  CHECK(times("goes on", follower.err()) == 0);
  pair.other.sql(1, "RENAME TABLE away TO entities");
  wait_until("it is well again", [&] { return contains(follower.err(), "goes on"); });
  CHECK(times("goes on", end_by(SIGTERM, follower).err) == 1);
  check_status(pair.copy(), 0, {"wrote "});
  check_same(pair);
}

TEST_CASE("whatever step the copier dies at, the next run completes the copy" * needs_failpoints) {
  for (const char* const step : {"copy.claim", "copy.store"}) {
    for (const char* const phase : {"before", "after"}) {
      for (const int shard : {0, 1}) {
        const Pair pair;
        const std::string place = fmt::format("{}:{}@{}", step, phase, shard);
        INFO(place);
        pair.original.die_at(place, pair.copy_command());
        change(pair.original);
        check_status(pair.copy(), 0, {"wrote "});
        check_same(pair);
      }
    }
  }
}

TEST_CASE("an index that a copier was creating or dropping when it died does not stop the next run" *
          needs_failpoints) {
  const auto die_and_repeat = [](const Pair& pair, const std::string& place) {
    INFO(place);
    pair.original.die_at(place, pair.copy_command());
    check_status(pair.copy(), 0, {"wrote "});
    check_same(pair);
  };
  for (const char* const step : {"create.intent", "create.table", "create.publish", "create.ready"}) {
    for (const int shard : {0, 1}) {
      const Pair pair;
      die_and_repeat(pair, fmt::format("{}:after@{}", step, shard));
    }
  }
  for (const char* const step :
       {"drop.intent", "drop.stop_queries", "drop.stop_writers", "drop.table", "drop.catalog"}) {
    const Pair pair;
    check_status(pair.copy(), 0, {"created 2 indexes"});
    check_status(pair.original.looseleaf({"drop-index", "--yes", "by_owner"}), 0, {"dropped"});
    die_and_repeat(pair, fmt::format("{}:after@0", step));
  }
  const Pair pair;  // of an index that is created again at once
  check_status(pair.copy(), 0, {"created 2 indexes"});
  check_status(pair.original.looseleaf({"drop-index", "--yes", "by_owner"}), 0, {"dropped"});
  create_index(pair.original, R"({"table": "by_owner", "properties": [{"name": "other", "type": "string"}]})");
  check_status(pair.original.looseleaf({"backfill"}), 0, {"by_owner: ready"});
  die_and_repeat(pair, "drop.finish:before@0");
}

TEST_CASE("hints of what fails in the copy name its cluster file") {
  const Pair pair;
  pair.other.sql(0, "CREATE TABLE by_owner (mine INT)");
  check_run(
      pair.copy(), 2, "",
      {"error: a table with this name exists and does not belong to this index\n",
       "cluster_file: " + pair.other.file() + "\n", "`looseleaf --cluster " + pair.other.file() + " drop-index by_"});
}

// What is deleted after the first position of a shard was stored must reach the copy, so that one is stored before
// anything of the shard is written.
TEST_CASE("deletes after a copier died while it read all entities are in the copy" * needs_failpoints) {
  for (int store = 1; store <= 3; ++store) {
    INFO(store);
    const Pair pair;
    pair.original.die_at(fmt::format("copy.store:before#{}", store), pair.copy_command());
    change(pair.original);
    check_status(pair.copy(), 0, {"wrote "});
    check_same(pair);
  }
}

// Stops a copier there, lets another one take the copy over and complete it, with a later version, and wakes the first.
void take_over_from(const std::string& place) {
  INFO(place);
  const Pair pair;
  cli::Process asleep = pair.original.stop_at(place, pair.copy_command());
  pair.original.kill_sessions();
  pair.other.kill_sessions();
  change(pair.original);
  check_status(pair.copy(), 0, {"wrote "});
  const std::string position =
      pair.other.sql(0, "SELECT table_name, barrier FROM looseleaf_progress WHERE job = 'copy'");
  const cli::ProcessResult result = resume(asleep);
  check_status(result, 3, {"looseleaf: error: another process has taken over the copy\n", "hint: let that one go on"});
  CHECK(pair.other.sql(0, "SELECT table_name, barrier FROM looseleaf_progress WHERE job = 'copy'") == position);
  check_same(pair);
}

TEST_CASE("a copier that was asleep while another one took the copy over writes nothing" * needs_failpoints) {
  take_over_from("copy.claim:after@0#1");
  take_over_from("copy.claim:after@2#1");
  take_over_from("put.fence:before@0#1");
  take_over_from("put.commit:before@0#1");
  take_over_from("copy.store:before#1");
}

TEST_CASE("a copier that slept while another one ended the copy leaves the new store as it is" * needs_failpoints) {
  const auto sleep_and_wake = [](const std::string& place, bool has_begun) {
    INFO(place);
    CAPTURE(has_begun);
    const Pair pair;
    if (has_begun) {
      check_status(pair.copy(), 0, {"wrote "});
    }
    cli::Process asleep = pair.original.stop_at(place, pair.copy_command());
    pair.other.kill_sessions();
    check_status(pair.copy({"--detach"}), 0, {"the other cluster is a store of its own now"});
    check_status(resume(asleep), 3, {"looseleaf: error: another process has taken over the copy\n"});
    CHECK(states(pair.other) == "open open open");
    CHECK(pair.other.everywhere("SELECT job FROM looseleaf_progress").empty());
    // Its deletes can be purged.
    CHECK(pair.original.everywhere("SELECT job FROM looseleaf_progress WHERE job = 'copied_to'").empty());
  };
  for (const bool has_begun : {false, true}) {
    sleep_and_wake("copy.claim:before@0#1", has_begun);
    sleep_and_wake("copy.claim:after@0#1", has_begun);
    sleep_and_wake("copy.claim:after@2#1", has_begun);
  }
}

TEST_CASE("an entity that cannot be read is named and not copied, and the next run copies it once it is repaired") {
  const Pair pair;
  pair.original.sql(0, "UPDATE entities SET body = 'x' WHERE id = x'" + id_of(4) + "'");
  check_status(pair.copy(), 1,
               {"looseleaf: error: an entity was not copied, because it cannot be read\n", "  id: " + id_of(4) + "\n",
                "hint: put or delete this entity; the next run copies that", "wrote 57 versions\n"});
  put_all(pair.original, entity(4, R"("n":4,"owner":4)"));
  check_status(pair.copy(), 0, {"wrote 1 version\n"});
  check_same(pair);
  pair.original.sql(1, "UPDATE entities SET body = 'x', updated = NOW(6) WHERE id = x'" + id_of(5) + "'");
  check_status(pair.copy({"--detach"}), 1,
               {"looseleaf: error: an entity was not copied", "  id: " + id_of(5) + "\n",
                "hint: repair what cannot be read here, and put it into the other cluster, too", "store of its own"});
}

TEST_CASE("deletes that a copy needs are not purged until it has them") {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote "});
  check_status(pair.original.looseleaf({"delete", id_of(11)}), 0);
  // Ten days later.
  pair.original.everywhere(
      "UPDATE entities SET updated = updated - INTERVAL 10 DAY;"
      "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 10 DAY WHERE job = 'copied_to'");
  const auto is_there = [&] {
    return pair.original.sql(1, "SELECT COUNT(*) FROM entities WHERE id = x'" + id_of(11) + "'") == "1\n";
  };
  check_status(pair.original.looseleaf({"clean"}), 0, {"purged 2 "});
  CHECK(is_there());
  check_status(pair.copy({"--detach", "--force"}), 0, {"store of its own"});
  check_status(pair.original.looseleaf({"clean"}), 0, {"purged 1 "});
  CHECK(!is_there());
}

// A store can be copied to the other vendor's servers, and this test runs on both: neither refuses what the other has.
// Only the names that InnoDB itself uses, such as DB_ROW_ID, are refused, and both refuse them.
TEST_CASE("servers accept definitions of reserved words, longest names and widest keys") {
  constexpr std::size_t properties = 8, longest_name = 64;
  std::vector<IndexDefinition> definitions;
  const auto define = [&](std::string_view table, const std::vector<std::string>& columns, const char* more = "") {
    definitions.push_back(IndexDefinition::parse(
        fmt::format(R"({{"table": "{}", "properties": [{}]{}}})", table, fmt::join(columns, ", "), more), "test"));
  };
  const auto column = [](std::string_view name, const char* type) {
    return fmt::format(R"({{"name": "{}", "type": {}}})", name, type);
  };
  for (std::size_t first = 0; first < sql::reserved_words.size(); first += properties) {
    std::vector<std::string> columns;
    for (std::size_t i = first; i < std::min(first + properties, sql::reserved_words.size()); ++i) {
      columns.push_back(column(sql::reserved_words[i], R"("int")"));
    }
    define(sql::reserved_words[first], columns);
  }
  std::string long_name;
  for (std::size_t i = 0; i < longest_name; ++i) {
    long_name += "\u20ac";
  }
  define(std::string(longest_name, 't'),
         {column(long_name, R"("string", "max_length": 735)"), column("`a\\\"", R"("uuid")"),
          column("row_start", R"("double")"), column("row_end", R"("bool")"), column("my_row_id", R"("bool")")});
  define("widest",
         {column("a.b", R"("string", "max_length": 734)"), column(" c", R"("uuid")"), column("e", R"("bool")"),
          column("\u00e9", R"("bool")")},
         R"(, "immutable": true)");
  const TestCluster cluster = initialised(1);
  Datastore store = Datastore::open(Cluster::load(cluster.file()));
  CHECK(store.create_indexes(definitions).size() == definitions.size());
}

TEST_CASE("a copy is not detached without the buffered writes of the original, and refused writes are named" *
          needs_failpoints) {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote "});
  put_all(pair.original, entity(81, R"("n":8,"owner":8)"));
  cli::Process late = pair.original.stop_at("copy.store:before#1", pair.copy_command({"--detach"}));
  pair.original.sql(1, fmt::format("INSERT INTO looseleaf_buffer VALUES (7, NOW(6), x'{}', 1, NULL, COMPRESS('{}'))",
                                   id_of(80), entity(80)));
  const std::vector<std::string> refused = {"error: there are buffered writes, which the other cluster would not get\n",
                                            "  copies: 1\n", "hint: run `looseleaf flush` first"};
  check_status(resume(late), 3, refused);
  check_run(pair.copy({"--detach"}), 3, "", refused);
  CHECK(states(pair.other) == "frozen frozen frozen");
  put_all(pair.original, entity(80, R"("n":8)"));
  check_status(pair.original.looseleaf({"flush"}), 1, {"refused 1"});
  check_status(pair.copy({"--detach"}), 0,
               {"warning: there are refused writes, which the other cluster does not get\n", "  writes: 1\n",
                "store of its own"});
}

TEST_CASE("what cannot be copied, or cannot be copied to, is refused and stays as it was") {
  const Pair pair;
  const auto refused = [&](const TestCluster& from, const TestCluster& to, const std::vector<std::string>& err) {
    check_run(from.looseleaf({"copy", "--to", to.file()}), 2, "", err);
  };
  check_status(pair.original.looseleaf({"copy"}), 2,
               {"which cluster to copy to?", "hint: give its cluster file: --to FILE"});
  check_status(pair.copy({"--follow", "--detach"}), 2, {"options that exclude each other", "--follow, --detach"});
  check_status(pair.copy({"--force"}), 2, {"--force is for --detach only"});
  check_status(pair.original.looseleaf({"copy", "--to", "/nowhere.json"}), 2,
               {"error: cannot read the other cluster's file", "  file: /nowhere.json\n", "hint: check the name"});
  refused(pair.original, TestCluster::shared(2),
          {"error: shard is not initialised", "hint: run `looseleaf --cluster ",
           ".json init` first; if the other shards are initialised"});
  refused(pair.original, pair.original,
          {"error: this cluster cannot be copied to itself", "hint: check --cluster and --to"});
  const TestCluster full = initialised(2);
  put_all(full, "{}");
  refused(pair.original, full, {"error: the other cluster is not empty", "nothing was copied"});
  put_all(full, "{}");
  const TestCluster with_index = initialised(2);
  create_index(with_index, R"({"table": "by_x", "properties": [{"name": "x", "type": "int"}]})");
  refused(pair.original, with_index,
          {"error: the other cluster has an index that this store does not have", "  index: by_x\n"});
  put_all(with_index, "{}");
  check_status(pair.copy(), 0, {"wrote "});
  refused(full, pair.other, {"error: the other cluster is a copy of another store"});
  refused(pair.other, initialised(2), {"error: this cluster is itself a copy\n"});
  check_status(pair.copy({"--detach"}), 0, {"store of its own"});
  refused(pair.original, pair.other, {"error: the other cluster is not empty"});
  check_status(pair.copy({"--detach"}), 2, {"error: the other cluster is not a copy that is in progress"});
}

TEST_CASE("a copy that others may have written to is refused, and can still be detached") {
  const Pair pair;
  check_status(pair.copy(), 0, {"wrote "});
  check_status(pair.other.looseleaf({"thaw", "--force"}), 0, {"3 shards"});
  const std::vector<std::string> opened = {"error: the copy was opened before it was complete\n", "hint: others may"};
  check_status(pair.copy(), 2, opened);
  check_status(pair.other.looseleaf({"freeze", "--reason", "why not"}), 0, {"3 shards"});
  check_status(pair.copy(), 2, opened);
  check_status(pair.other.looseleaf({"thaw", "--force"}), 0, {"3 shards"});
  check_status(pair.copy({"--detach"}), 2, opened);
  check_status(pair.copy({"--detach", "--force"}), 0, {"store of its own"});
  put_all(pair.other, "{}");
  CHECK(pair.original.sql(0, "SELECT COUNT(*) FROM looseleaf_progress WHERE job = 'copied_to'") == "0\n");
}

}  // namespace
}  // namespace looseleaf::test
