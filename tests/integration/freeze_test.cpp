// A freeze beside writers: what they are told is true.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "shard/access.hpp"
#include "shard/fence.hpp"
#include "sql/literals.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint32_t total_shards = 4;  // on two servers

// Puts batches of new entities until it is told to stop, and again and again while they are refused.
class Writer {
 public:
  Writer(const StoreFixture& fixture, std::uint64_t number)
      : datastore_(fixture.open()), next_(number << 32U), thread_([this] { run(); }) {}
  ~Writer() { stop(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  std::atomic<std::uint64_t> stored = 0, refused = 0, otherwise = 0;

 private:
  void run() {
    WriteStream stream(datastore_, [this](const WriteResult& result) {
      if (result.status == WriteStatus::stored) {
        ++stored;
      } else if (result.status == WriteStatus::failed && result.error->code() == ErrorCode::frozen &&
                 context_of(*result.error, "reason") == "a test") {
        ++refused;
      } else {
        ++otherwise;
      }
    });
    while (!stop_) {
      for (int i = 0; i < 10; ++i, ++next_) {
        stream.put(entity(next_, fmt::format(R"("n":{})", next_ % 7)));
      }
      stream.flush();
    }
    stream.finish();
  }

  Datastore datastore_;
  std::uint64_t next_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

std::uint64_t sum_over(const std::vector<std::unique_ptr<Writer>>& writers, std::atomic<std::uint64_t> Writer::*count) {
  std::uint64_t sum = 0;
  for (const auto& writer : writers) {
    sum += (*writer).*count;
  }
  return sum;
}

void wait_for_more(const std::vector<std::unique_ptr<Writer>>& writers, std::atomic<std::uint64_t> Writer::*count) {
  const std::uint64_t before = sum_over(writers, count);
  wait_until("there are more", [&] { return sum_over(writers, count) >= before + 200; });
}

TEST_CASE("when a freeze has returned no other write is stored, writers are told, and a thaw lets them go on") {
  StoreFixture fixture(total_shards);
  fixture.create_index(by_n_sharded);
  shard::Shards shards = fixture.shards();
  std::vector<std::unique_ptr<Writer>> writers;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    writers.push_back(std::make_unique<Writer>(fixture, number));
  }
  for (int round = 0; round < 3; ++round) {
    wait_for_more(writers, &Writer::stored);
    fixture.datastore.freeze("a test");
    std::vector<std::string> barriers;
    for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
      barriers.push_back(sql::stamp_literal(shard::take_barrier(shards, shard, shards.deadline())));
    }
    wait_for_more(writers, &Writer::refused);
    for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
      CHECK(fixture.cluster.sql(shard, "SELECT COUNT(*) FROM entities WHERE updated >= " + barriers[shard]) == "0\n");
    }
    CHECK(fixture.datastore.thaw() == total_shards);
  }
  wait_for_more(writers, &Writer::stored);
  for (const auto& writer : writers) {
    writer->stop();
  }
  CHECK(sum_over(writers, &Writer::otherwise) == 0);
  CHECK(rows_of(fixture.cluster, "entities") == sum_over(writers, &Writer::stored));
  CHECK(fixture.findings().empty());
}

TEST_CASE("of freezes at the same time one freezes all shards, and the others change nothing") {
  const StoreFixture fixture(total_shards);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> frozen = 0, refused = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
          try {
            fixture.open().freeze(fmt::format("freeze {}", i));
            ++frozen;
          } catch (const Error& error) {
            refused += error.code() == ErrorCode::frozen ? 1 : 0;
          }
        });
      }
    }
    CHECK(frozen == 1);
    CHECK(refused == 2);
    const std::string of_first = fixture.cluster.sql(0, "SELECT access, access_token FROM looseleaf_shard");
    for (std::uint32_t shard = 0; shard < total_shards; ++shard) {
      CHECK(fixture.cluster.sql(shard, "SELECT access, access_token FROM looseleaf_shard") == of_first);
    }
    CHECK(fixture.open().thaw() == total_shards);
  }
}

// docs/protocol.md takes it for granted.
TEST_CASE("the parts of a UNION see the same moment") {
  const StoreFixture fixture(1);
  fixture.cluster.sql(0, "INSERT INTO entities (id, updated, body) VALUES (x'" + id_of(1) + "', NOW(6), NULL)");
  std::string seen;
  std::jthread reader([&] {
    shard::Shards shards = fixture.shards();
    const shard::Lease lease = shards.connect(0, shards.deadline());
    const sql::Result found = lease->query("SELECT SLEEP(4), 'slow' FROM " + (*lease).table("entities") +
                                           " UNION ALL SELECT 0, access FROM " + (*lease).table("looseleaf_shard"));
    seen = found.text(1, 1);
  });
  const auto is_sleeping = [&] {
    return fixture.cluster.sql(0, "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(4)%'") ==
           "1\n";
  };
  wait_until("the statement runs", is_sleeping);
  fixture.cluster.sql(0, "UPDATE looseleaf_shard SET access = 'moved'");
  CHECK(is_sleeping());
  reader.join();
  CHECK(seen == "open");
}

TEST_CASE("a shard that has moved stays so, even for a process that has the token") {
  const StoreFixture fixture(2);
  shard::Shards shards = fixture.shards();
  const auto change = [&](const shard::Access& from, AccessState state, std::uint64_t token) {
    return shard::change_access(shards, 0, from, {state, token, "a test", "a test", {}}, shards.deadline());
  };
  CHECK(change({}, AccessState::moving, 7));
  CHECK(change({}, AccessState::moving, 7));  // repeated
  CHECK_FALSE(change({}, AccessState::frozen, 8));
  CHECK(change({.state = AccessState::moving, .token = 7}, AccessState::moved, 7));
  CHECK_FALSE(change({.state = AccessState::moved, .token = 7}, AccessState::open, 0));
  CHECK(fixture.cluster.sql(0, "SELECT access, access_token FROM looseleaf_shard") == "moved\t7\n");
}

}  // namespace
}  // namespace looseleaf::test
