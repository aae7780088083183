// What verify rests on: digests that client and server agree about, ranges that cover all ids, and scans that pass
// nothing over.
#include "verify/verify.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "model/expected_rows.hpp"
#include "model/json/strict_json.hpp"
#include "scan/entity_scan.hpp"
#include "shard/row_digest.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"
#include "verify/digest_comparison.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::test {
namespace {

shard::RowDigest expected_digest(const IndexDefinition& definition, const std::vector<std::string>& entities) {
  shard::RowDigest digest;
  shard::RowMixer mixer;
  for (const std::string& text : entities) {
    const auto json = model::parse_strict(text);
    for (const model::Row& row : model::expected_rows(definition, json)) {
      ++digest.rows;
      digest.mix ^= mixer.mix(row, *Uuid::parse(json["id"].get<std::string>()));
    }
  }
  return digest;
}

struct Digested : StoreFixture {
  explicit Digested(const std::string& text) : StoreFixture(1), definition(IndexDefinition::parse(text, "test")) {
    create_index(text);
  }

  [[nodiscard]] shard::RowDigest digest(const shard::IdRange& range = {}) {
    shard::Shards all = shards();
    shard::Lease lease = all.connect(0, all.deadline());
    return shard::digest_entries(lease, std::vector<std::uint32_t>{0}, definition, range).front();
  }

  IndexDefinition definition;
};

constexpr const char* by_s = R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 9}]})";

TEST_CASE("the tool's own tables are verified, too") {
  StoreFixture fixture;
  CHECK(fixture.findings().empty());
  fixture.cluster.sql(1,
                      "ALTER TABLE entities DROP KEY id, ENGINE=MyISAM; ALTER TABLE looseleaf_cleanup MODIFY ids BLOB");
  JobControl control;
  const VerifyReport report = fixture.datastore.verify({}, control);
  std::set<std::string> found;
  for (const Finding& finding : report.findings) {
    CHECK(finding.kind == FindingKind::table_differs);
    CHECK(finding.shard == 1);
    found.insert(finding.index + ": " + finding.values);
  }
  CHECK(found == std::set<std::string>{"entities: it lacks UNIQUE (id)",
                                       "entities: its engine is MyISAM instead of InnoDB",
                                       "looseleaf_cleanup: column 3 is ids blob instead of ids mediumblob"});
  fixture.cluster.sql(0, "RENAME TABLE entities TO gone");
  VerifyOptions definitions;
  definitions.definitions_only = true;
  definitions.definitions.emplace();
  const VerifyReport compared = fixture.datastore.verify(definitions, control);
  CHECK(std::any_of(compared.findings.begin(), compared.findings.end(), [](const Finding& finding) {
    return finding.index == "entities" && finding.shard == 0 && finding.values == "the table does not exist";
  }));
  check_status(fixture.cluster.looseleaf({"init"}), 3,
               {"error: a table of the store does not exist\n", "  shard: 0\n", "  table: entities\n",
                "hint: restore it from a backup"});
}

TEST_CASE("client and server digest rows of every type alike that servers can digest") {
  Digested fixture(R"({"table": "mixed", "properties": [{"name": "u", "type": "uuid"},
      {"name": "s", "type": "string", "max_length": 5}, {"name": "n", "type": "int"}, {"name": "b", "type": "bool"},
      {"name": "e", "type": "string", "each": true}]})");
  const std::vector<std::string> entities = {
      entity(1, R"("u":"000102030405060708090a0b0c0d0e0f","s":"","n":0,"b":false,"e":["",":","1:",","])"),
      entity(
          2,
          R"("u":"ffffffffffffffffffffffffffffffff","s":"größer als fünf","n":-9223372036854775808,"b":true,"e":["\u0000","'"])"),
      entity(
          3,
          R"("u":"00000000-0000-0000-0000-000000000000","s":"😀😀😀😀😀😀","n":9223372036854775807,"b":true,"e":["a ","A "])"),
  };
  fixture.datastore.put(entities);
  const shard::RowDigest expected = expected_digest(fixture.definition, entities);
  CHECK(expected.rows == 8);
  CHECK(fixture.digest() == expected);
  CHECK(fixture.digest({uuid_of(2), uuid_of(3)}) == expected_digest(fixture.definition, {entities[1]}));
  CHECK(fixture.digest({std::nullopt, uuid_of(1)}) == shard::RowDigest{});
}

TEST_CASE("rows whose values run into each other have different digests") {
  shard::RowMixer mixer;
  std::set<std::uint64_t> mixes;
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"ab", ""}, {"a", "b"}, {"", "ab"}, {"a1:b", ""}, {"a", "1:b"}};
  for (const auto& [s, t] : rows) {
    mixes.insert(mixer.mix({std::string(s), std::string(t)}, uuid_of(1)));
  }
  CHECK(mixes.size() == rows.size());
}

// Changes that leave the number of rows as it was, and the XOR of their bytes, or of CRCs of their bytes, too.
TEST_CASE("changes that cancel out under plain CRCs and XORs change the digest") {
  struct Case {
    const char *name, *definition, *before, *after;
  };
  const std::vector<Case> cases = {
      {"two values swapped", by_s, "('one', 1), ('two', 2)", "('two', 1), ('one', 2)"},
      {"two ids swapped, of rows among others", by_n, "(100, 1), (200, 2), (300, 3)", "(100, 2), (200, 1), (300, 3)"},
      {"two pairs with the same XOR", by_s, "('aaaa', 1), ('bbbb', 1)", "('abab', 1), ('baba', 1)"},
      {"four ids with the XOR 0", by_n, "(7, 1), (7, 2)", "(7, 4), (7, 7)"},
      {"one row twice as another one twice", by_n, "(7, 1), (8, 1), (7, 2), (8, 2)", "(5, 1), (6, 1), (5, 2), (6, 2)"},
      {"a value with the same CRC-32", by_s, "('plumless', 1)", "('buckeroo', 1)"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.name);
    Digested fixture(test.definition);
    const std::string table = fixture.definition.table;
    const auto fill = [&](const std::string& rows) {
      fixture.cluster.sql(
          0, fmt::format("DELETE FROM {0}; CREATE TEMPORARY TABLE t (v VARCHAR(20), i INT); "
                         "INSERT INTO t VALUES {1}; INSERT INTO {0} SELECT v, UNHEX(LPAD(HEX(i), 32, '0')) FROM t",
                         table, rows));
      return fixture.digest();
    };
    const shard::RowDigest before = fill(test.before), after = fill(test.after);
    CHECK(before.rows == after.rows);
    CHECK(before.mix != after.mix);
  }
}

TEST_CASE("a digest of a range reads the key on entity_id and nothing else") {
  Digested fixture(by_n);
  fixture.fill(2000);
  fixture.cluster.sql(0, "ANALYZE TABLE by_n");
  const char* const explain = looseleaf_flavour() == "mysql" ? "EXPLAIN FORMAT=TRADITIONAL " : "EXPLAIN ";
  const std::string plan = fixture.cluster.sql(
      0, fmt::format("{}SELECT COUNT(*), BIT_XOR(CRC32(CONCAT(n, entity_id))) FROM by_n FORCE INDEX (entity_id) "
                     "WHERE entity_id >= x'{}' AND entity_id < x'{}'",
                     explain, id_of(5), id_of(500)));
  CHECK(plan.find("\trange\t") != std::string::npos);
  CHECK(plan.find("Using index") != std::string::npos);
  shard::Shards shards = fixture.shards();
  const auto lease = shards.connect(0, shards.deadline());
  const std::uint64_t estimate = shard::estimate_entries(*lease, fixture.definition, {uuid_of(500), uuid_of(1500)});
  CHECK(estimate > 300);
  CHECK(estimate < 3000);
}

TEST_CASE("the next bound of a range is an id that enough rows come before, and greater than the range's first") {
  Digested fixture(R"({"table": "by_e", "properties": [{"name": "e", "type": "int", "each": true}]})");
  fixture.datastore.put({entity(1, "\"e\":[1,2,3,4]"), entity(2, "\"e\":[1]"), entity(3, "\"e\":[1]")});
  shard::Shards shards = fixture.shards();
  const auto lease = shards.connect(0, shards.deadline());
  const auto next = [&](const shard::IdRange& range, std::size_t skip) {
    return shard::entity_id_after(*lease, fixture.definition, range, skip);
  };
  CHECK(next({}, 4) == uuid_of(2));
  CHECK(next({uuid_of(1), std::nullopt}, 2) == uuid_of(2));  // not 1, which has more rows than that
  CHECK(next({uuid_of(2), std::nullopt}, 1) == uuid_of(3));
  CHECK(next({uuid_of(2), uuid_of(3)}, 1) == std::nullopt);
  CHECK(next({uuid_of(3), std::nullopt}, 1) == std::nullopt);
}

TEST_CASE("ranges cover every id once, the bounds belong to the ranges that they begin") {
  const verify::DigestGrid grid({uuid_of(10), uuid_of(20)}, 2);
  CHECK(grid.ranges() == 3);
  CHECK(grid.range_of(uuid_of(0)) == 0);
  CHECK(grid.range_of(uuid_of(9)) == 0);
  CHECK(grid.range_of(uuid_of(10)) == 1);
  CHECK(grid.range_of(uuid_of(19)) == 1);
  CHECK(grid.range_of(uuid_of(20)) == 2);
  CHECK_FALSE(grid.range(0).from);
  CHECK(grid.range(0).until == uuid_of(10));
  CHECK(grid.range(1).from == uuid_of(10));
  CHECK(grid.range(2).from == uuid_of(20));
  CHECK_FALSE(grid.range(2).until);
}

TEST_CASE("a grid stays small however many ranges and tables there are, and spreads ids that only count up") {
  std::vector<Uuid> bounds;
  for (std::uint64_t i = 1; i < 25'000; ++i) {
    bounds.push_back(uuid_of(i));
  }
  CHECK(verify::DigestGrid(bounds, 20).cells() == 2);
  const verify::DigestGrid grid({}, 1);
  std::set<std::size_t> cells;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    cells.insert(grid.cell_of(uuid_of(i)));
    cells.insert(grid.cell_of(*Uuid::parse(fmt::format("{:012x}70008000000000000000", i))));
  }
  CHECK(grid.cells() == 2048);
  CHECK(cells.size() > 900);
}

TEST_CASE(
    "a job with a limited rate divides the ids so that servers digest 500 rows of a table at once, on however many "
    "shards, and is heard of meanwhile") {
  std::uint32_t count = 1;
  SUBCASE("one shard") {}
  SUBCASE("eight shards") {
    count = 8;
  }
  StoreFixture fixture(count);
  constexpr std::size_t stored = 12'000;
  fixture.fill(stored);
  shard::Shards shards = fixture.shards();
  Throttle limits;
  limits.max_rate = 1000;
  int heard = 0;
  JobControl control;
  control.on_progress = [&](const Progress&) { ++heard; };
  const Error stopped(ErrorCode::interrupted, "stopped");
  job::Job limited(shards, control, limits, "verify", stopped);
  const std::size_t steps = stored / 250 / count, ranges = verify::make_grid(shards, {}, limited).ranges();
  CHECK(ranges >= steps / 2);
  CHECK(ranges <= steps);
  CHECK(heard >= 24);
  job::Job unlimited(shards, control, {}, "verify", stopped);
  CHECK(verify::make_grid(shards, {}, unlimited).ranges() <= 3);
}

TEST_CASE("a row that a local index lacks casts doubt on entities of its own shard only") {
  StoreFixture fixture(8);
  fixture.create_index(by_n);
  fixture.fill(16'000);
  fixture.cluster.sql(3, "DELETE FROM by_n ORDER BY n LIMIT 1");
  JobControl control;
  const VerifyReport report = fixture.datastore.verify({}, control);
  CHECK(report.found == 1);
  CHECK(report.looked_again >= 1);
  CHECK(report.looked_again <= 4);  // of the 16,000 / 2,048 in its cell, an eighth
}

TEST_CASE("a job's progress counts each shard by itself") {
  StoreFixture fixture(2);
  fixture.create_index(by_n);
  fixture.fill(40);
  for (std::uint64_t i = 0; i < 40; ++i) {
    fixture.cluster.sql(i % 2, cleanup_record({id_of(i)}));
  }
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> done;
  JobControl control;
  control.on_progress = [&](const Progress& progress) {
    done[{std::string(progress.job), progress.shard}] = progress.done;
  };
  fixture.datastore.clean({}, control);
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    CHECK(done[{"clean", shard}] == std::stoull(fixture.cluster.sql(shard, "SELECT COUNT(*) FROM entities")));
  }
}

// Runs a backfill, checks that each shard's bar only goes on, and returns the phases. `look` sees each report.
std::vector<std::string> phases_of_backfill(StoreFixture& fixture, const std::function<void(const Progress&)>& look) {
  std::vector<std::string> phases;
  std::map<std::uint32_t, double> parts;
  JobControl control;
  control.on_progress = [&](const Progress& progress) {
    CHECK(progress.job == "backfill");
    REQUIRE(progress.estimate > 0);
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.estimate);
    CHECK(part >= parts[progress.shard]);
    CHECK(part < 1);
    parts[progress.shard] = part;
    if (phases.empty() || phases.back() != progress.phase) {
      phases.emplace_back(progress.phase);
    }
    look(progress);
  };
  fixture.datastore.backfill({}, control);
  CHECK(parts.size() == 2);
  return phases;
}

TEST_CASE("a backfill has one bar over all its phases, which status shows, too") {
  using Phases = std::vector<std::string>;
  StoreFixture fixture;
  fixture.fill(6'000);
  fixture.create_index(by_n);
  JobControl stopped_soon;
  stopped_soon.on_progress = [&](const Progress& now) { stopped_soon.stop = now.done > 0; };
  CHECK_THROWS_AS(fixture.datastore.backfill({}, stopped_soon), Error);
  // A run that continues another one must read everything again in the end.
  CHECK(phases_of_backfill(fixture, [](const Progress&) {}) == Phases{"backfill", "verify", "compare"});
  fixture.datastore.drop_index("by_n");
  fixture.create_index(by_n);
  const auto stored_parts = [&] {
    const char* const part = "SELECT done / estimate FROM looseleaf_progress WHERE job = 'backfill'";
    return std::stod(fixture.cluster.sql(0, part)) + std::stod(fixture.cluster.sql(1, part));
  };
  double after_scan = 0, while_comparing = 0;
  const auto look = [&](const Progress& progress) {
    if (progress.phase == "compare" && after_scan == 0) {
      after_scan = stored_parts();
      std::this_thread::sleep_for(std::chrono::milliseconds(5100));  // each row is written every 5 s
    } else if (progress.phase == "compare") {
      while_comparing = stored_parts();
    }
  };
  CHECK(phases_of_backfill(fixture, look) == Phases{"backfill", "compare"});
  CHECK(after_scan > 1);
  CHECK(while_comparing > after_scan);
  CHECK(while_comparing < 2);
}

TEST_CASE("a scan ends although an entity is stored for each one that it reads") {
  StoreFixture fixture(1);
  fixture.fill(300);
  shard::Shards shards = fixture.shards();
  JobControl control;
  job::Job job(shards, control, {}, "verify", Error(ErrorCode::interrupted, "stopped"));
  scan::EntityScan scan(shards, 0, job);
  std::uint64_t read = 0;
  scan.read_rows([&](const shard::EntityRow&) {
    REQUIRE(++read <= 300);
    put_one(fixture.datastore, entity(300 + read));
  });
  CHECK(read == 300);
}

TEST_CASE("verify does not look one by one at the entities that are stored while it runs") {
  StoreFixture fixture;
  fixture.create_index(by_n);
  fixture.fill(100);
  Datastore writer = fixture.open();
  JobControl control;
  bool stored = false;
  control.on_progress = [&](const Progress& progress) {
    for (std::uint64_t i = 100; !stored && progress.phase == "compare" && i < 200; ++i) {
      put_one(writer, entity(i, R"("n":1)"));
    }
    stored = stored || progress.phase == "compare";
  };
  const VerifyReport report = fixture.datastore.verify({}, control);
  CHECK(stored);
  CHECK(report.found == 0);
  CHECK(report.entities == 100);
  CHECK(report.looked_again == 0);
  fixture.cluster.sql(0, "DELETE FROM by_n WHERE entity_id = x'" + id_of(199) + "'");
  fixture.cluster.sql(1, "DELETE FROM by_n WHERE entity_id = x'" + id_of(199) + "'");
  CHECK(fixture.datastore.verify({}, control).found == 1);  // the greatest id
}

TEST_CASE("a scan sees every entity once, whatever gaps there are and however large its body is") {
  StoreFixture fixture(1);
  fixture.fill(300);
  fixture.datastore.put({entity(300, fmt::format(R"("large":"{}")", noise(200'000)))});
  fixture.cluster.sql(0, "DELETE FROM entities WHERE added_id BETWEEN 100 AND 250");
  fixture.cluster.sql(0, "UPDATE entities SET added_id = added_id + 1000000000 WHERE added_id BETWEEN 280 AND 290");
  fixture.datastore.remove({uuid_of(0)});
  shard::Shards shards = fixture.shards();
  JobControl control;
  job::Job job(shards, control, {}, "verify", Error(ErrorCode::interrupted, "stopped"));
  scan::EntityScan scan(shards, 0, job);
  std::multiset<Uuid> seen;
  scan.run([&](const Uuid& id, const model::ParsedEntity&) { seen.insert(id); }, [](const Finding&) { CHECK(false); });
  CHECK(scan.entities() == 150);  // the tombstone too
  CHECK(seen.size() == 149);
  CHECK(std::set<Uuid>(seen.begin(), seen.end()).size() == 149);
  CHECK(seen.contains(uuid_of(300)));
}

// An entity with a row too many, which a put that changes nothing that is indexed leaves there.
struct Superfluous : Digested {
  Superfluous() : Digested(by_n), all(shards()) {
    rewrite();
    cluster.sql(0, "INSERT INTO by_n VALUES (2, x'" + id_of(1) + "')");
  }

  void rewrite() {
    REQUIRE(put_one(datastore, entity(1, fmt::format("\"n\":1,\"writes\":{}", ++writes))) == WriteStatus::stored);
  }

  VerifyReport verify(std::uint32_t grace_seconds, const std::function<void()>& heartbeat) {
    VerifyOptions options;
    options.grace_seconds = grace_seconds;
    JobControl control;
    job::Job job(all, control, {}, "verify", Error(ErrorCode::interrupted, "stopped"));
    const auto keep_alive = job.keep_alive_with(heartbeat);
    return verify::verify(all, options, job, {.wait_for_shards = false});
  }

  shard::Shards all;
  int writes = 0;
};

TEST_CASE("a row that is too many after a put as it was after an earlier one is no finding") {
  Superfluous fixture;
  const auto start = std::chrono::steady_clock::now();
  const auto after = [&](int milliseconds) {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(milliseconds);
  };
  bool mended = false;
  const VerifyReport report = fixture.verify(3, [&] {
    if (after(1500) && fixture.writes == 1) {
      fixture.rewrite();
    }
    if (after(4500) && !mended) {
      fixture.cluster.sql(0, "DELETE FROM by_n WHERE n = 2");
      mended = true;
    }
  });
  CHECK(report.found == 0);
  CHECK(report.in_flight == 1);
}

TEST_CASE("a row that is too many however often its entity is written is a finding at last") {
  Superfluous fixture;
  const VerifyReport report = fixture.verify(0, [&] { fixture.rewrite(); });
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings.front().kind == FindingKind::stale);
  CHECK(fixture.writes > 5);
}

TEST_CASE("a report keeps as many samples as were asked for, counts all, and hands each on") {
  Digested fixture(by_n);
  fixture.fill(30);
  fixture.cluster.sql(0, "DELETE FROM by_n");
  std::uint64_t handed_on = 0;
  VerifyOptions options;
  options.samples = 7;
  options.on_finding = [&](const Finding&) { ++handed_on; };
  JobControl control;
  const VerifyReport found = fixture.datastore.verify(options, control);
  CHECK(found.findings.size() == 7);
  CHECK(found.found == 30);
  CHECK(found.counts.at({"by_n", 0}).findings.at(FindingKind::missing) == 30);
  CHECK(handed_on == 30);
  options.repair = true;
  const VerifyReport mended = fixture.datastore.verify(options, control);
  CHECK(mended.found == 0);
  CHECK(mended.mended.size() == 7);
  CHECK(mended.counts.at({"by_n", 0}).mended.at(FindingKind::missing) == 30);
  CHECK(mended.repaired == 30);
  CHECK(handed_on == 30);
}

}  // namespace
}  // namespace looseleaf::test
