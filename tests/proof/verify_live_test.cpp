// Verifies beside heavy traffic and a cleaner, each with one fault planted: that one is found, and nothing else.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "tests/support/expectations.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t quiet_entities = 3000, busy_entities = 500;
constexpr int writers = 3;

// Entity `number` is on shard number % 2. The quiet ones are never written again.
std::string entity_of(std::uint64_t number, std::uint64_t value) {
  return entity(number,
                fmt::format(R"("n":{},"owner":"o{}","tags":["t{}","u{}"])", value, number, value % 7, value % 11));
}

class Traffic {
 public:
  explicit Traffic(StoreFixture& fixture, std::uint64_t seed) : fixture_(fixture) {
    for (int i = 0; i < writers; ++i) {
      threads_.emplace_back([this, seed, i] { write(seed + static_cast<std::uint64_t>(i)); });
    }
    threads_.emplace_back([this] { clean(); });
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  ~Traffic() { stop_ = true; }

  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  [[nodiscard]] std::uint64_t cleans() const { return cleans_; }

 private:
  void write(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Datastore store = fixture_.open();
    while (!stop_) {
      std::vector<std::string> texts;
      std::vector<Uuid> ids;
      for (int i = 0; i < 20; ++i) {
        texts.push_back(entity_of(quiet_entities + random() % busy_entities, random() % 5));
        ids.push_back(*Uuid::parse(id_of(quiet_entities + random() % busy_entities)));
      }
      writes_ += stored(store.put(texts));
      ids.resize(3);
      writes_ += stored(store.remove(ids));
    }
  }

  static std::uint64_t stored(const std::vector<WriteResult>& results) {
    return static_cast<std::uint64_t>(std::count_if(results.begin(), results.end(), [](const WriteResult& result) {
      return result.status == WriteStatus::stored;
    }));
  }

  void clean() {
    Datastore store = fixture_.open();
    while (!stop_) {
      JobControl control;
      try {
        store.clean({}, control);
        ++cleans_;
      } catch (const Error& error) {  // in the writers' way for too long
        if (error.code() != ErrorCode::unavailable) {
          throw;
        }
      }
    }
  }

  StoreFixture& fixture_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> writes_ = 0, cleans_ = 0;
  std::vector<std::jthread> threads_;  // last, so that they end first
};

// What is done on a shard to a quiet entity, what verify must say of it, and how it is undone.
struct Fault {
  std::uint32_t shard;
  std::string sql, found, undo;
};

constexpr std::size_t kinds_of_faults = 6;

// `number` is even, so that the entity is on shard 0, as its rows are.
Fault fault(std::size_t kind, std::uint64_t number) {
  const std::string id = id_of(number), nobody = id_of(0xffff0000 + number);
  const auto more = [](std::uint32_t shard, const char* table, const std::string& values, const std::string& found) {
    return Fault{shard, fmt::format("INSERT INTO {} VALUES ({})", table, values), found,
                 fmt::format("DELETE FROM {0} WHERE ({0}.{1}, entity_id) = ({2})", table, table + 3, values)};
  };
  switch (kind) {
    case 0: {
      const Fault right = more(0, "by_n", fmt::format("1000000, x'{}'", id), "missing by_n " + id);
      return {right.shard, right.undo, right.found, right.sql};
    }
    case 1:
      return more(0, "by_n", fmt::format("3, x'{}'", id), "stale by_n " + id);
    case 2:
      return more(0, "by_tags", fmt::format("'t3', x'{}'", nobody), "orphan by_tags " + nobody);
    case 3:
      return more(1, "by_n", fmt::format("1000000, x'{}'", id), "misplaced by_n " + id);
    case 4:
      return more(1, "by_owner", fmt::format("'somebody', x'{}'", id), "duplicate by_owner " + id);
    default:
      return {0, fmt::format("UPDATE entities SET body = CONCAT('x', body) WHERE id = x'{}'", id), "unreadable  " + id,
              fmt::format("UPDATE entities SET body = SUBSTRING(body, 2) WHERE id = x'{}'", id)};
  }
}

// Beside the traffic it may be the victim of a deadlock.
void change(const TestCluster& cluster, std::uint32_t shard, const std::string& statement) {
  for (int tries = 1;; ++tries) {
    try {
      cluster.sql(shard, statement);
      return;
    } catch (const std::runtime_error& error) {
      if (tries == 20 || std::string_view(error.what()).find("error 1213") == std::string_view::npos) {
        throw;
      }
    }
  }
}

// A writer that stands still for longer than the grace, as on a machine that is busy, leaves superfluous rows for so
// long. True if these were found beside the fault, and nothing else.
bool has_rows_of_slow_writer(const std::vector<std::string>& found, const std::string& planted) {
  return found.size() > 1 && std::count(found.begin(), found.end(), planted) == 1 &&
         std::all_of(found.begin(), found.end(), [&](const std::string& one) {
           return one == planted || one.starts_with("stale ") || one.starts_with("orphan ");
         });
}

TEST_CASE("beside heavy puts, deletes and a cleaner verify finds exactly the fault that was planted") {
  const std::uint64_t seed = run_seed();
  CAPTURE(seed);
  StoreFixture fixture;
  fixture.create_index(by_n_sharded);
  fixture.create_index(
      R"({"table": "by_owner", "properties": [{"name": "owner", "type": "string"}], "immutable": true})");
  fixture.create_index(R"({"table": "by_tags", "properties": [{"name": "tags", "type": "string", "each": true}]})");
  std::vector<std::string> quiet;
  for (std::uint64_t number = 0; number < quiet_entities; ++number) {
    quiet.push_back(entity_of(number, 1'000'000));
  }
  fixture.datastore.put(quiet);
  constexpr std::size_t runs = 10;
  std::uint64_t looked_again = 0, in_flight = 0, repeated = 0;
  Traffic traffic(fixture, seed);
  wait_until("the first put is done", [&] { return traffic.writes() > 0; });
  for (std::size_t run = 0; run < runs; ++run) {
    const Fault planted = fault(run % kinds_of_faults, 2 * (seed % 1000 + run));
    CAPTURE(planted.found);
    change(fixture.cluster, planted.shard, planted.sql);
    const std::uint64_t written = traffic.writes();
    std::vector<std::string> found;
    VerifyOptions options;
    options.on_finding = [&](const Finding& finding) {
      found.push_back(fmt::format("{} {} {}", to_string(finding.kind), finding.index, to_string(finding.entity_id)));
    };
    JobControl control;
    VerifyReport report;
    for (const std::uint32_t grace : {full_run() ? 10U : 3U, 30U}) {
      found.clear();
      options.grace_seconds = grace;
      report = fixture.datastore.verify(options, control);
      if (!has_rows_of_slow_writer(found, planted.found)) {
        break;
      }
      repeated += grace == 30U ? 0 : 1;
    }
    CHECK(found == std::vector<std::string>{planted.found});
    CHECK(report.looked_again > 0);
    CHECK(traffic.writes() > written);
    looked_again += report.looked_again;
    in_flight += report.in_flight;
    change(fixture.cluster, planted.shard, planted.undo);
  }
  CHECK(in_flight > 0);
  CHECK(repeated <= 1 + runs / 5);  // otherwise writers that are not slow leave such rows, too
  CHECK(traffic.cleans() > 0);
  log_proof("verify_live", {{"verifies, each with one fault planted", fmt::format("{}", runs)},
                            {"puts and deletes meanwhile", fmt::format("{}", traffic.writes())},
                            {"cleans meanwhile", fmt::format("{}", traffic.cleans())},
                            {"entities compared again", fmt::format("{}", looked_again)},
                            {"of these in flight", fmt::format("{}", in_flight)}});
}

}  // namespace
}  // namespace looseleaf::test
