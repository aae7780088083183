// A backfill that is killed again and again ends as one that ran in one go.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "job/jobs.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* killed = R"({"table": "killed", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";
constexpr const char* undisturbed =
    R"({"table": "undisturbed", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";

struct KilledBackfill : StoreFixture {
  explicit KilledBackfill(std::uint32_t shards) : StoreFixture(shards), view(StoreFixture::shards()) {}

  void fill(std::uint64_t entities) {
    std::uint64_t stored = 0;
    WriteStream stream(datastore, [&](const WriteResult& result) { stored += result.status == WriteStatus::stored; });
    for (std::uint64_t i = 0; i < entities; ++i) {
      stream.put(fmt::format("{{\"n\":{}}}", i % 1000));
    }
    stream.finish();
    REQUIRE(stored == entities);
  }

  // How many entities lie behind the cursors of all shards.
  std::uint64_t done() {
    std::uint64_t sum = 0;
    for (std::uint32_t shard = 0; shard < view.count(); ++shard) {
      shard::with_shard(view, shard, view.deadline(), [&](const sql::Database& database) {
        const auto job = job::read_job(database, "backfill", "killed");
        sum += job ? job->done : 0;
      });
    }
    return sum;
  }

  // Runs `backfill killed OPTION…` until it kills itself at the failpoint, or to its end.
  void die_at(const std::string& failpoint, const std::vector<std::string>& options = {}) const {
    cluster.die_at(failpoint, backfill(options));
  }
  void finish(const std::vector<std::string>& options = {}) const {
    const cli::ProcessResult result = cluster.looseleaf(backfill(options));
    REQUIRE_MESSAGE(result.status == 0, result.err);
  }
  [[nodiscard]] static std::vector<std::string> backfill(const std::vector<std::string>& options) {
    return joined({"backfill", "killed", "--quiet"}, options);
  }

  std::string rows(const std::string& table) const {
    return cluster.everywhere("SELECT DATABASE(), n, HEX(entity_id) FROM " + table);
  }

  shard::Shards view;
};

// Changes the indexed values of a few entities all the time.
class Writer {
 public:
  static constexpr std::uint64_t entities = 500;

  explicit Writer(const StoreFixture& fixture)
      : thread_([store = fixture.open()](const std::stop_token& stop) mutable {
          for (std::uint64_t n = 0; !stop.stop_requested(); ++n) {
            std::set<std::uint64_t> some;
            for (std::uint64_t i = n % 25; i < entities; i += 25) {
              some.insert(i);
            }
            write(store, some, n % 1000);
          }
        }) {}

  static void write(Datastore& store, const std::set<std::uint64_t>& numbers, std::uint64_t value) {
    std::vector<std::string> texts;
    for (const std::uint64_t number : numbers) {
      texts.push_back(fmt::format(R"({{"id":"018f2c4e1a2b7c3d8e4f{:012x}","n":{}}})", number, value + number % 2));
    }
    store.put(texts);
  }

 private:
  std::jthread thread_;
};

// Kills it `kills` times, each time as soon as a cursor has moved, and twice a few commits later: the first rows are
// stored soon, the next ones are many.
void kill_on_its_way(const KilledBackfill& test, int kills) {
  for (int i = 0; i < kills; ++i) {
    CAPTURE(i);
    const int commits = i == 10 || i == 30 ? 4 : 1;
    test.die_at(fmt::format("backfill.commit:after#{}", commits));
  }
}

void check(std::uint32_t shards, std::uint64_t entities, int kills) {
  KilledBackfill test(shards);
  constexpr std::uint64_t parts = 50;  // those that change are spread over all
  for (std::uint64_t part = 0; part < parts; ++part) {
    test.fill(entities / parts);
    std::set<std::uint64_t> some;
    for (std::uint64_t i = part; i < Writer::entities; i += parts) {
      some.insert(i);
    }
    Writer::write(test.datastore, some, part);
  }
  test.create_index(killed);
  {
    const Writer writer(test);
    kill_on_its_way(test, kills);
    const std::uint64_t done = test.done();
    CHECK(done > 0);
    CHECK(done < entities);  // so the last run had something to resume, and something to do
    test.finish();
  }
  CHECK(test.findings().empty());
  test.create_index(undisturbed);
  JobControl control;
  BackfillOptions options;
  options.tables = {"undisturbed"};
  CHECK(test.datastore.backfill(options, control).entities == entities + Writer::entities);
  CHECK((test.rows("killed") == test.rows("undisturbed")));
  CHECK(test.findings().empty());
}

TEST_CASE("a backfill that was killed fifty times on its way makes the index that one in one go makes" *
          needs_failpoints) {
  check(2, 300'000, 50);
}

TEST_CASE("the same with eight shards on two servers" * needs_failpoints) {
  check(8, 80'000, 10);
}

TEST_CASE("the cursor moves only when all rows are in that were gathered together" * needs_failpoints) {
  KilledBackfill test(1);
  std::vector<int> numbers(25'000);  // more than two transactions insert
  std::iota(numbers.begin(), numbers.end(), 0);
  REQUIRE(put_one(test.datastore, fmt::format("{{\"n\":[{}]}}", fmt::join(numbers, ","))) == WriteStatus::stored);
  CHECK(test.cluster.sql(0, "SELECT LENGTH(body) > 32768 FROM entities") == "1\n");  // read by itself, not in a chunk
  test.create_index(R"({"table": "killed", "properties": [{"name": "n", "type": "int", "each": true}]})");
  test.die_at("backfill.commit:before#2");
  CHECK(test.done() == 0);
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM killed") == "20000\n");
  test.finish();
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM killed") == "25000\n");
  CHECK(test.findings().empty());
}

TEST_CASE("a backfill with a limit that dies between its inserts on one server and the next has moved no cursor" *
          needs_failpoints) {
  KilledBackfill test(2);
  test.fill(2000);
  test.create_index(killed);
  const std::vector<std::string> limit{"--max-rate", "100000"};
  test.die_at("backfill.insert_index_rows:before@1", limit);
  CHECK(test.done() == 0);
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) > 0 FROM killed") == "1\n");
  CHECK(test.cluster.sql(1, "SELECT COUNT(*) FROM killed") == "0\n");
  test.finish(limit);
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM killed") == "1000\n");
  CHECK(test.cluster.sql(1, "SELECT COUNT(*) FROM killed") == "1000\n");
  CHECK(test.findings().empty());
}

TEST_CASE("a backfill with a limit that dies between its inserts for one index and the next has moved no cursor" *
          needs_failpoints) {
  KilledBackfill test(2);
  test.fill(2000);
  test.create_index(killed);
  test.create_index(undisturbed);
  const std::vector<std::string> both{"undisturbed", "--max-rate", "100000"};
  test.die_at("backfill.insert_index_rows:before@0#2", both);
  CHECK(test.done() == 0);
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) > 0 FROM killed") == "1\n");
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM undisturbed") == "0\n");
  test.finish(both);
  CHECK((test.rows("killed") == test.rows("undisturbed")));
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM killed") == "1000\n");
  CHECK(test.findings().empty());
}

TEST_CASE("what changed while a backfill that died was at its work is looked at again by the one that goes on" *
          needs_failpoints) {
  KilledBackfill test(1);
  Writer::write(test.datastore, {0}, 5);
  test.create_index(killed);
  cli::Process process =
      test.cluster.stop_at("backfill.commit:after#1=kill,backfill.fence:before#1", test.backfill({}));
  Writer::write(test.datastore, {0}, 6);  // it has been read already
  process.signal(SIGCONT);
  REQUIRE(process.wait().status == 128 + SIGKILL);
  REQUIRE(test.cluster.sql(0, "SELECT n FROM killed ORDER BY n") == "5\n6\n");
  test.finish();
  CHECK(test.cluster.sql(0, "SELECT n FROM killed") == "6\n");
  CHECK(test.findings().empty());
}

TEST_CASE("the cursor passes entities that call for no rows, though they fill no buffer" * needs_failpoints) {
  KilledBackfill test(1);
  test.fill(2000);
  test.create_index(R"({"table": "killed", "properties": [{"name": "rare", "type": "int"}]})");
  cli::Process process = test.cluster.stop_at("backfill.read:before#3=kill,backfill.read:before#2", test.backfill({}));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  process.signal(SIGCONT);
  REQUIRE(process.wait().status == 128 + SIGKILL);
  CHECK(test.done() > 500);
}

TEST_CASE("a signal that comes while a backfill reads loses nothing of what it has gathered" * needs_failpoints) {
  KilledBackfill test(1);
  test.fill(2000);
  test.create_index(killed);
  cli::Process process = test.cluster.stop_at("backfill.read:after#1", test.backfill({}));
  process.signal(SIGTERM);
  process.signal(SIGCONT);
  CHECK(process.wait().status == 128 + SIGTERM);
  CHECK(test.done() >= 500);
}

TEST_CASE("what a backfill has gathered when it is stopped is stored") {
  KilledBackfill test(1);
  test.fill(1000);
  test.create_index(killed);
  JobControl control;
  control.on_progress = [&](const Progress& now) { control.stop = now.done > 0; };
  CHECK_THROWS_AS(test.datastore.backfill({}, control), Error);
  CHECK(test.done() == 500);
  CHECK(test.cluster.sql(0, "SELECT COUNT(*) FROM killed") == "500\n");
}

}  // namespace
}  // namespace looseleaf::test
