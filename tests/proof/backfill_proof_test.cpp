// What a backfill has to find before it calls an index ready, when something went wrong behind its scan.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <looseleaf/datastore.hpp>
#include <string>

#include "backfill/scan_record.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t entities = 100;

// Entities 0 to 99, which have their numbers as n, and an index that is building.
TestCluster with_entities() {
  TestCluster cluster = initialised(1);
  put_all(cluster, entity_lines(entities, "\"n\":{}"));
  create_index(cluster, by_n_sharded);
  return cluster;
}

// A backfill that has scanned them all, and stands still.
struct StoppedBackfill {
  StoppedBackfill()
      : cluster(with_entities()), backfill(cluster.stop_at("backfill.commit:after", {"backfill", "by_n"})) {
    REQUIRE(cluster.sql(0, "SELECT COUNT(*) FROM by_n") == "100\n");
  }

  void finish() {
    backfill.signal(SIGCONT);
    check_status(backfill.wait(), 0, {"by_n: ready"});
  }
  [[nodiscard]] bool has_row(std::uint64_t n) const {
    return !cluster.sql(0, fmt::format("SELECT 1 FROM by_n WHERE n = {} AND entity_id = x'{}'", n, id_of(n))).empty();
  }

  TestCluster cluster;
  cli::Process backfill;
};

TEST_CASE("an entity that the scan passed over is found" * needs_failpoints) {
  StoppedBackfill test;
  test.cluster.sql(0,
                   fmt::format("INSERT INTO entities (id, updated, body) VALUES (x'{}', '2020-01-01', COMPRESS('{}'))",
                               id_of(entities), entity(entities, fmt::format("\"n\":{}", entities))));
  test.finish();
  CHECK(test.has_row(entities));
}

TEST_CASE("a row that went away again is found" * needs_failpoints) {
  StoppedBackfill test;
  test.cluster.sql(0, "DELETE FROM by_n WHERE n = 7");
  test.finish();
  CHECK(test.has_row(7));
}

TEST_CASE("a row that went away again is found, even if the report is to name nothing") {
  const TestCluster cluster = with_entities();
  bool deleted = false;
  JobControl control;
  control.on_progress = [&](const Progress&) {
    if (!deleted && cluster.sql(0, "SELECT COUNT(*) FROM by_n") == "100\n") {
      cluster.sql(0, "DELETE FROM by_n WHERE n = 7");
      deleted = true;
    }
  };
  Datastore store = Datastore::open(Cluster::load(cluster.file()));
  CHECK(store.backfill({.tables = {}, .samples = 0}, control).ready == std::vector<std::string>{"by_n"});
  CHECK(deleted);
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM by_n") == "100\n");
}

TEST_CASE("what was put, changed and deleted behind the scan is right" * needs_failpoints) {
  StoppedBackfill test;
  put_all(test.cluster, entity(3, "\"n\":-3") + entity(entities, fmt::format("\"n\":{}", entities)));
  check_status(test.cluster.looseleaf({"delete", "--quiet", id_of(5)}), 0, {});
  test.finish();
  CHECK(test.has_row(entities));
  CHECK_FALSE(test.has_row(3));
  CHECK_FALSE(test.has_row(5));
  check_run(test.cluster.looseleaf({"query", "by_n", "n=-3", "--ids"}), 0, id_of(3) + "\n");
  CHECK(test.cluster.looseleaf({"verify", "--quiet", "--grace", "0"}).status == 0);
}

// Two ranges, with 1,000 entities in each.
struct Record {
  Record() : record(verify::DigestGrid({*Uuid::parse(id_of(1000))}, 1), 1, 1) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      record.add_row(0, 0, record.add_entity(*Uuid::parse(id_of(i))), i);
    }
  }
  [[nodiscard]] bool can_replace_rescan(std::uint64_t first, std::uint64_t second) const {
    return record.can_replace_rescan(std::vector<std::uint64_t>{first, second});
  }

  backfill::ScanRecord record;
};

TEST_CASE("a record suffices if nothing can have been passed over") {
  Record test;
  CHECK(test.can_replace_rescan(1000, 1000));
  CHECK(test.can_replace_rescan(1000, 990));  // tombstones were purged
  CHECK_FALSE(test.can_replace_rescan(1000, 1001));
  CHECK_FALSE(test.can_replace_rescan(1001, 999));
  test.record.add_changed(std::vector<Uuid>{*Uuid::parse(id_of(1000))});
  CHECK(test.can_replace_rescan(1000, 1001));
  CHECK_FALSE(test.can_replace_rescan(1001, 1000));
}

TEST_CASE("a record does not suffice if an entity could not be read") {
  Record test;
  test.record.invalidate();
  CHECK_FALSE(test.can_replace_rescan(1000, 1000));
}

TEST_CASE("a record does not suffice if so much changed that to read everything again is cheaper") {
  Record test;
  const std::vector<Uuid> changed(100, *Uuid::parse(id_of(1)));
  test.record.add_changed(changed);
  CHECK(test.can_replace_rescan(1000, 1000));
  test.record.add_changed(std::span(changed).first(1));
  CHECK_FALSE(test.can_replace_rescan(1000, 1000));
}

TEST_CASE("a record does not suffice if a range has more rows than should be digested at once") {
  Record test;
  for (std::uint64_t i = 0; i < verify::DigestGrid::many_rows; ++i) {
    test.record.add_row(0, 0, 0, i);
  }
  CHECK_FALSE(test.can_replace_rescan(1000, 1000));
}

}  // namespace
}  // namespace looseleaf::test
