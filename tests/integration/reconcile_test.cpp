// Reconcile, orphans, the purge of tombstones, clean's records, and drops beside long-running writers.
#include "reconcile/reconcile.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <looseleaf/index.hpp>

#include "clean/purge.hpp"
#include "job/job.hpp"
#include "reconcile/sweep.hpp"
#include "scan/changes.hpp"
#include "shard/fence.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/index_rows.hpp"
#include "shard/writable.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/store_fixture.hpp"
#include "verify/digest_comparison.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* index_size =
    R"({"table": "index_size", "properties": [{"name": "size", "type": "int"}], "shard_on": "size"})";
constexpr const char* index_tags =
    R"({"table": "index_tags", "properties": [{"name": "tags", "type": "string", "each": true}]})";

const std::string planted = "00000000000000000000000000000010";
const Uuid planted_id = *Uuid::parse(planted);

// One entity of size 8, whose row is on shard 0, with faults planted around it.
struct Planted : StoreFixture {
  Planted() {
    create_index(index_size);
    REQUIRE(put_one(datastore, entity(planted, R"("size":8)")) == WriteStatus::stored);
  }

  [[nodiscard]] std::vector<std::string> rows(std::uint32_t shard) const {
    return lines_of(cluster.sql(shard, "SELECT size FROM index_size ORDER BY size"));
  }
};

TEST_CASE("reconcile inserts what is missing and deletes what is stale or misplaced, and nothing else") {
  Planted fixture;
  fixture.cluster.sql(0, "DELETE FROM index_size");
  fixture.cluster.sql(0, "INSERT INTO index_size VALUES (4, x'" + planted + "'), (6, x'" + std::string(32, 'e') + "')");
  fixture.cluster.sql(1, "INSERT INTO index_size VALUES (8, x'" + planted + "')");
  shard::Shards shards = fixture.shards();
  const auto examined =
      reconcile::reconcile(shards, 0, std::vector{planted_id}, reconcile::ReconcileMode::examine, shards.deadline());
  CHECK(examined.differences.size() == 3);
  CHECK(fixture.rows(0) == std::vector<std::string>{"4", "6"});  // examining changes nothing
  reconcile::reconcile(shards, 0, std::vector{planted_id}, reconcile::ReconcileMode::repair, shards.deadline());
  CHECK(fixture.rows(0) == std::vector<std::string>{"6", "8"});
  CHECK(fixture.rows(1).empty());
}

std::uint64_t rows_read(const sql::Database& database) {
  const sql::Result status = database->query("SHOW SESSION STATUS LIKE 'Handler_read%'");
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < status.size(); ++i) {
    rows += status.unsigned_integer(i, 1);
  }
  return rows;
}

TEST_CASE("rows of a few entities are read and deleted without a look at all others, whatever statistics say") {
  const Planted fixture;
  // Statistics of a time when all rows were of one entity.
  fixture.cluster.sql(0,
                      "ALTER TABLE index_size STATS_PERSISTENT=1 STATS_AUTO_RECALC=0;"
                      "CREATE TABLE digits (d INT); INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
                      "CREATE TABLE numbers AS SELECT a.d + 10*b.d + 100*c.d + 1000*e.d AS n FROM digits a, digits b, "
                      "digits c, digits e;"
                      "DELETE FROM index_size; INSERT INTO index_size SELECT n, x'" +
                          planted +
                          "' FROM numbers; ANALYZE TABLE index_size; DELETE FROM index_size;"
                          "INSERT INTO index_size SELECT n % 10, UNHEX(LPAD(HEX(n), 32, '0')) FROM numbers");
  shard::Shards shards = fixture.shards();
  const auto catalog = shards.catalog(0, shards.deadline());
  const shard::Lease lease = shards.connect(0, shards.deadline());
  std::vector<Uuid> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(*Uuid::parse(fmt::format("{:032x}", 50 * i)));
  }
  const IndexDefinition& definition = catalog->find("index_size")->definition;
  std::uint64_t before = rows_read(*lease);
  const auto entries = shard::read_entries(*lease, definition, ids);
  CHECK(entries.size() == 200);
  CHECK(rows_read(*lease) - before < 1000);
  before = rows_read(*lease);
  shard::delete_entries(*lease, definition, entries);
  CHECK(rows_read(*lease) - before < 1000);
  CHECK(shard::read_entries(*lease, definition, ids).empty());
}

TEST_CASE("orphans are deleted only if their entity really does not exist") {
  Planted fixture;
  const Uuid orphan = *Uuid::parse(std::string(32, 'e'));
  fixture.cluster.sql(0, "INSERT INTO index_size VALUES (6, x'" + std::string(32, 'e') + "')");
  shard::Shards shards = fixture.shards();
  const auto found = reconcile::sweep_orphans(shards, 0, std::vector{planted_id, orphan},
                                              reconcile::ReconcileMode::repair, shards.deadline());
  CHECK(found.size() == 1);
  CHECK(fixture.rows(0) == std::vector<std::string>{"8"});
}

// query_test.cpp has a get, and queries of an index that the server knows.
TEST_CASE("a connection to a server that was demoted does not tell that there is no such index") {
  const Planted fixture;
  const Datastore reader = fixture.open(std::chrono::seconds(2));
  const auto query = [&](const char* index) { return Index(index).get_all(reader, {{"size", "8"}}); };
  CHECK(query("index_size").size() == 1);  // so that it has connections
  fixture.cluster.sql(0, "SET GLOBAL read_only = 1");
  const Error error = error_of([&] { return query("index_new"); });
  fixture.cluster.sql(0, "SET GLOBAL read_only = 0");
  CHECK(error.code() == ErrorCode::unavailable);
}

TEST_CASE("what a demoted server still tells a job does not count") {
  Planted fixture;
  const std::vector<shard::CatalogIndex> indexes =
      fixture.shards().catalog(0, base::Deadline(std::chrono::seconds(5)))->indexes;
  const auto reconcile_on = [](std::uint32_t entity_shard) {
    return [=](shard::Shards& shards) {
      reconcile::reconcile(shards, entity_shard, std::vector{planted_id}, reconcile::ReconcileMode::examine,
                           shards.deadline());
    };
  };
  const std::vector<std::pair<std::string, std::function<void(shard::Shards&)>>> reads = {
      {"what has changed",
       [](shard::Shards& shards) { scan::for_changed(shards, 0, {}, {1LL << 50}, [](const auto&, auto) {}); }},
      {"the catalogs",
       [](shard::Shards& shards) { static_cast<void>(shard::look_up_index(shards, "index_size", shards.deadline())); }},
      {"an entity and its rows", reconcile_on(0)},
      {"rows of another server's entity", reconcile_on(1)},
      {"digests", [&](shard::Shards& shards) {
         JobControl control;
         job::Job job(shards, control, {}, "verify", Error(ErrorCode::interrupted, "stopped"));
         verify::compare_digests(shards, indexes, job, {[](const auto&) {}, [](const auto&) {}});
       }}};
  for (const auto& [what, read] : reads) {
    CAPTURE(what);
    shard::Shards shards = fixture.shards(std::chrono::seconds(1));
    read(shards);  // so that it has sessions
    fixture.cluster.sql(0, "SET GLOBAL read_only = 1");
    CHECK_THROWS_AS(read(shards), sql::ServerError);
    fixture.cluster.sql(0, "SET GLOBAL read_only = 0");
  }
}

TEST_CASE("a tombstone is purged once it is settled, and not while an index row of it is left") {
  Planted fixture;
  fixture.datastore.remove({planted_id});
  const auto entities = [&] { return fixture.cluster.sql(0, "SELECT COUNT(*) FROM entities"); };
  CHECK(fixture.clean().purged == 0);  // younger than a day
  CHECK(entities() == "1\n");
  // As if two days had passed.
  fixture.cluster.sql(0, "UPDATE entities SET updated = updated - INTERVAL 2 DAY");
  fixture.cluster.sql(0, "UPDATE looseleaf_progress SET barrier = barrier - INTERVAL 2 DAY WHERE job = 'purge'");
  SUBCASE("settled") {}
  SUBCASE("with a row left behind, which goes first") {
    fixture.cluster.sql(1, "INSERT INTO index_size VALUES (9, x'" + planted + "')");
  }
  CHECK(fixture.clean().purged == 1);
  CHECK(entities() == "0\n");
  CHECK(fixture.findings().empty());
}

TEST_CASE("a tombstone younger than a running backfill stays, but not because of one that has ended") {
  Planted fixture;
  fixture.datastore.remove({planted_id});
  fixture.create_index(index_tags);  // is building, because of the tombstone
  fixture.cluster.sql(0, "UPDATE entities SET updated = updated - INTERVAL 2 DAY");
  const auto plant_cursor = [&](const std::string& table) {
    fixture.cluster.sql(
        0,
        "INSERT INTO looseleaf_progress (job, table_name, generation, barrier, token, holder, since, "
        "heartbeat) SELECT 'backfill', table_name, generation, NOW(6) - INTERVAL 3 DAY, 1, 'h', NOW(6), "
        "NOW(6) FROM looseleaf_index WHERE table_name = '" +
            table + "'");
  };
  SUBCASE("running") {
    plant_cursor("index_tags");
    CHECK(fixture.clean().purged == 0);
  }
  SUBCASE("it died when its index was ready already") {
    plant_cursor("index_size");
    CHECK(fixture.clean().purged == 1);
  }
}

TEST_CASE("clean handles every record once, also those that were written while the clock was ahead") {
  Planted fixture;
  CHECK(fixture.clean().checked == 0);
  fixture.cluster.sql(0, "UPDATE looseleaf_shard SET clock_floor = '2043-01-01 00:00:00'");
  REQUIRE(put_one(fixture.datastore, entity(planted, R"("size":8,"n":1)")) == WriteStatus::stored);
  fixture.cluster.sql(0, "INSERT INTO index_size VALUES (4, x'" + planted + "')");
  fixture.cluster.sql(0, cleanup_record({planted}) + "; " + cleanup_record({planted}) +
                             "; UPDATE looseleaf_cleanup SET since = '2043-01-01 00:00:00'");
  CleanOptions options;
  options.on_pass = [](const CleanPass& pass) { CHECK(pass.lags.front() == std::chrono::seconds(0)); };
  const CleanReport report = fixture.clean(options);
  CHECK(report.checked == 1);
  CHECK(report.deleted() == 1);
  CHECK(fixture.clean().checked == 0);
}

TEST_CASE("a record of an entity that was purged leads clean to its orphans") {
  Planted fixture;
  const std::string absent(32, 'e');
  fixture.cluster.sql(0, "INSERT INTO index_size VALUES (6, x'" + absent + "')");
  fixture.cluster.sql(0, cleanup_record({absent}));
  CHECK(fixture.clean().deleted() == 1);
  CHECK(fixture.rows(0) == std::vector<std::string>{"8"});
}

TEST_CASE("clean gets through entities with very many index rows, a time-out's worth at a time") {
  StoreFixture fixture;
  fixture.create_index(index_tags);
  std::vector<std::string> untagged, ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(std::string(26, '0') + std::to_string(100'000 + 2 * i));
    untagged.push_back(entity(ids.back(), "\"tags\":[]"));
  }
  fixture.datastore.put(untagged);
  std::string tags;
  for (int tag = 0; tag < 2000; ++tag) {
    tags += fmt::format("{}(_binary't{}',x'{}')", tag == 0 ? "" : ",", tag, ids.front());
  }
  fixture.cluster.sql(0, "INSERT INTO index_tags (tags, entity_id) VALUES " + tags);
  fixture.cluster.sql(0,
                      "INSERT INTO index_tags (tags, entity_id) SELECT tags, id FROM index_tags, entities"
                      " WHERE id <> entity_id");
  // With statistics from when the table was empty MySQL may scan all of it for every delete.
  fixture.cluster.sql(0, "ANALYZE TABLE index_tags; " + cleanup_record(ids));
  Datastore impatient = fixture.open(std::chrono::seconds(4));
  JobControl control;
  CHECK(impatient.clean({}, control).checked == 200);
  CHECK(fixture.cluster.sql(0, "SELECT COUNT(*) FROM index_tags") == "0\n");
  CHECK(fixture.findings().empty());
}

TEST_CASE("one writer goes on through create, backfill, drop and re-creation with another definition") {
  StoreFixture fixture;
  Datastore writer = fixture.open();
  const auto put = [&](std::uint64_t n) {
    CHECK(put_one(writer, entity(n, fmt::format(R"("size":{},"tags":["a","b"])", n))) == WriteStatus::stored);
  };
  put(1);
  fixture.create_index(index_size);
  put(2);
  CHECK(fixture.backfill().ready == std::vector<std::string>{"index_size"});
  put(3);
  CHECK(fixture.query("index_size", {"size>0"}).size() == 3);
  fixture.datastore.drop_index("index_size");
  put(4);
  CHECK_THROWS_AS(static_cast<void>(fixture.query("index_size", {})), Error);
  fixture.create_index(R"({"table": "index_size", "properties": [{"name": "tags", "type": "string", "each": true}]})");
  put(5);
  CHECK(fixture.backfill().rows >= 8);
  CHECK(fixture.query("index_size", {"tags=a"}).size() == 5);
  CHECK(fixture.findings().empty());
}

TEST_CASE("while an index is dropped on some shards only no query misses what is put" * needs_failpoints) {
  StoreFixture fixture;
  fixture.create_index(by_n_sharded);
  fixture.backfill();
  Datastore writer = fixture.open();
  const auto put = [&](std::uint64_t number) {
    const std::string id = fmt::format("{:032x}", number);
    CHECK(put_one(writer, fmt::format(R"({{"id":"{}","n":{}}})", id, number / 2)) == WriteStatus::stored);
    return id;
  };
  const std::vector<std::string> stops = {"drop.stop_queries:before@1", "drop.stop_writers:before@0",
                                          "drop.stop_writers:before@1", "drop.table:before@1"};
  for (std::uint64_t number = 0; number < 4; ++number) {  // on both shards, with rows on both
    put(number);
    CHECK_FALSE(fixture.query("by_n", {fmt::format("n={}", number / 2)}).empty());  // so it knows the index
  }
  for (std::size_t i = 0; i < stops.size(); ++i) {
    CAPTURE(stops[i]);
    fixture.cluster.die_at(stops[i], {"drop-index", "by_n", "--yes"});
    for (std::uint64_t number = 8 + 8 * i; number < 12 + 8 * i; ++number) {
      const std::string id = put(number);
      std::vector<std::string> found;
      bool refused = false;
      try {
        found = fixture.query("by_n", {fmt::format("n={}", number / 2)});
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::bad_index);
        refused = true;
      }
      CHECK((refused || std::find(found.begin(), found.end(), id) != found.end()));
    }
  }
  fixture.datastore.drop_index("by_n");
}

TEST_CASE("a backfill goes on from its cursor, but not from that of an earlier generation") {
  StoreFixture fixture(1);
  fixture.fill(3000, R"("size":{})");
  fixture.create_index(index_size);
  JobControl stop_soon;
  stop_soon.on_progress = [&](const Progress& now) { stop_soon.stop = now.done > 0; };
  CHECK_THROWS_AS(fixture.datastore.backfill({}, stop_soon), Error);
  const std::string position = fixture.cluster.sql(0, "SELECT position FROM looseleaf_progress WHERE job = 'backfill'");
  CHECK(position != "3001\n");
  SUBCASE("the same index") {
    const BackfillReport report = fixture.backfill();
    CHECK(report.entities > 0);
    CHECK(report.entities < 3000);
  }
  SUBCASE("an index of that name created anew") {
    fixture.datastore.drop_index("index_size");
    fixture.create_index(index_size);
    CHECK(fixture.backfill().entities == 3000);
  }
  CHECK(fixture.query("index_size", {}).size() == 3000);
  CHECK(fixture.findings().empty());
}

TEST_CASE("a backfill does not bring back an index that a drop has overtaken") {
  Planted fixture;
  fixture.cluster.everywhere("UPDATE looseleaf_index SET state = 'building'");
  JobControl control;
  control.on_progress = [&](const Progress& now) {
    if (now.done == 0) {
      return;
    }
    // Too late for the scan to notice: its chunk is done.
    fixture.cluster.everywhere("UPDATE looseleaf_index SET state = 'dropping'");
  };
  CHECK_THROWS_AS(fixture.datastore.backfill({}, control), Error);
  CHECK(fixture.cluster.everywhere("SELECT state FROM looseleaf_index") == "dropping\ndropping\n");
}

TEST_CASE("an index that became ready on some shards only is proven complete before it is ready on the others") {
  Planted fixture;
  fixture.cluster.sql(1, "UPDATE looseleaf_index SET state = 'building'");
  fixture.cluster.sql(0, "DELETE FROM index_size");
  fixture.cluster.everywhere(  // as if the scan had been through already
      "INSERT INTO looseleaf_progress (job, table_name, generation, position, barrier, token, holder, since, "
      "heartbeat) SELECT 'backfill', 'index_size', generation, 1, NOW(6), 1, 'h', NOW(6), NOW(6) FROM "
      "looseleaf_index");
  CHECK(fixture.backfill().ready == std::vector<std::string>{"index_size"});
  CHECK(fixture.findings().empty());
  CHECK(fixture.query("index_size", {"size=8"}) == std::vector<std::string>{planted});
}

TEST_CASE("a shard that joins empty leaves no index ready until it was filled again") {
  StoreFixture fixture(2);
  fixture.create_index(index_size);
  const std::string odd = "00000000000000000000000000000011";
  REQUIRE(put_one(fixture.datastore, entity(planted, R"("size":7)")) == WriteStatus::stored);  // its row is on shard 1
  fixture.cluster.server_sql(fixture.cluster.server_of(1), "DROP DATABASE " + fixture.cluster.database(1));
  Datastore store = fixture.open();
  CHECK_THROWS_AS(store.init(), Error);
  CHECK(store.init({1}).unready == std::vector<std::string>{"index_size"});
  REQUIRE(put_one(store, entity(odd, R"("size":8)")) == WriteStatus::stored);
  CHECK_THROWS_AS(static_cast<void>(fixture.query("index_size", {"size=8"})), Error);
  fixture.create_index(index_size);
  fixture.backfill();
  CHECK(fixture.query("index_size", {"size=7"}) == std::vector<std::string>{planted});
  CHECK(fixture.query("index_size", {"size=8"}) == std::vector<std::string>{odd});
  CHECK(fixture.findings().empty());
}

// It may lead to the server where the shard was before a failover, which another one has noticed.
TEST_CASE("a connection that is on loan while another to its shard breaks is not used again") {
  const StoreFixture fixture;
  shard::Shards shards = fixture.shards();
  const auto session = [](const shard::Lease& lease) { return lease->query("SELECT CONNECTION_ID()").text(0, 0); };
  std::string kept, kept_on_other;
  {
    const shard::Lease lease = shards.sessions().connect_once(0);
    kept = session(lease);
  }
  {
    const shard::Lease on_loan = shards.sessions().connect_once(0);
    CHECK(session(on_loan) == kept);
    const shard::Lease other_shard = shards.sessions().connect_once(1);
    kept_on_other = session(other_shard);
    shards.sessions().connect_once(0)->mark_broken();
  }
  CHECK(session(shards.sessions().connect_once(0)) != kept);
  CHECK(session(shards.sessions().connect_once(1)) == kept_on_other);
}

}  // namespace
}  // namespace looseleaf::test
