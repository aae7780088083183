// The fence row and the barrier.
#include "shard/fence.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "shard/schema.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::shard {
namespace {

constexpr const char* select_fence =
    "SELECT epoch, NOW(6), clock_floor, @@global.read_only FROM looseleaf_shard WHERE only_row = 1 ";
constexpr int polite_tries = 5;
constexpr int max_jitter_ms = 20;

Fence read_fence(sql::Connection& connection, const char* lock) {
  const sql::Result row = connection.query(sql::Statement(select_fence).add(lock));
  if (row.empty()) {
    throw NotInitialised();
  }
  require_writable(connection, row.text(0, 3));
  return {row.unsigned_integer(0, 0), base::parse_stamp(row.text(0, 1)), base::parse_stamp(row.text(0, 2))};
}

// Makes one attempt: locks the fence in its own transaction, runs `work` and commits. Returns false if the fence was
// not free. One transaction never contains two attempts: with innodb_rollback_on_timeout, a lock wait timeout ends the
// transaction, and the next lock would last only for its own statement.
bool try_exclusive(sql::Connection& connection, std::uint32_t shard, const char* lock,
                   const std::function<void(sql::Connection&, const Fence&)>& work) {
  sql::Transaction transaction(connection);
  std::optional<Fence> fence;
  try {
    fence = read_fence(connection, lock);
  } catch (const sql::ServerError& error) {
    if (error.error_class() != sql::ErrorClass::conflict) {
      throw;
    }
    return false;
  }
  work(connection, *fence);
  const Step step(steps::fence_commit, shard);
  transaction.commit();
  return true;
}

// Shortens the lock wait timeout as long as this object lives.
class ShortWait {
 public:
  explicit ShortWait(sql::Connection& connection) : connection_(connection) {
    connection_.execute("SET SESSION innodb_lock_wait_timeout = 1");
  }
  ~ShortWait() {
    try {
      if (!connection_.broken()) {
        connection_.execute("SET SESSION innodb_lock_wait_timeout = 2");
      }
    } catch (const Error&) {
      connection_.mark_broken();
    }
  }
  ShortWait(const ShortWait&) = delete;
  ShortWait& operator=(const ShortWait&) = delete;

 private:
  sql::Connection& connection_;
};

// Tries first without waiting, because a waiting exclusive request blocks every new shared one. Then waits for at most
// 1 s. Returns false if it could not lock the fence.
bool work_exclusively(sql::Connection& connection, std::uint32_t shard,
                      const std::function<void(sql::Connection&, const Fence&)>& work) {
  for (int i = 0; i < polite_tries; ++i) {
    if (try_exclusive(connection, shard, "FOR UPDATE NOWAIT", work)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + base::random_u64() % max_jitter_ms));
  }
  const ShortWait short_wait(connection);
  return try_exclusive(connection, shard, "FOR UPDATE", work);
}

}  // namespace

Fence lock_fence_shared(sql::Connection& connection) {
  return read_fence(connection, "LOCK IN SHARE MODE");
}

void with_fence_exclusive(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                          const std::function<void(sql::Connection&, const Fence&)>& work,
                          const std::function<void()>& prepare) {
  on_shard(shards, shard, [&] {
    sql::with_retries(deadline, [&] {
      prepare();
      const Lease lease = shards.connect(shard, deadline);
      if (!work_exclusively(*lease, shard, work)) {
        throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                               "could not lock the fence before the timeout", {}, "retry, or use a longer --timeout");
      }
    });
  });
}

base::Stamp take_barrier(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  const Step step(steps::barrier_take, shard);
  base::Stamp barrier;
  with_fence_exclusive(shards, shard, deadline, [&](sql::Connection& connection, const Fence&) {
    // The barrier must also exceed stamps that were written while the clock was ahead. Otherwise those rows would not
    // be below any barrier until the clock reached their stamps.
    const auto latest = connection.query("SELECT MAX(updated) + INTERVAL 1 MICROSECOND FROM entities").cell(0, 0);
    connection.execute(
        fmt::format("UPDATE looseleaf_shard SET clock_floor = GREATEST(NOW(6), clock_floor + INTERVAL 1 MICROSECOND{}) "
                    "WHERE only_row = 1",
                    latest ? ", " + sql::stamp_literal(base::parse_stamp(*latest)) : std::string()));
    barrier =
        base::parse_stamp(connection.query("SELECT clock_floor FROM looseleaf_shard WHERE only_row = 1").text(0, 0));
  });
  return barrier;
}

void require_writable(sql::Connection& connection, const std::string& read_only) {
  if (read_only != "0" && read_only != "OFF") {
    connection.mark_broken();
    throw sql::ServerError(sql::ErrorClass::failing_over, 0, ErrorCode::unavailable,
                           "server became read-only, as in a failover", {{"server", to_string(connection.address())}},
                           "make the cluster file lead to the server that is writable now");
  }
}

void validate_locks(sql::Connection& connection) {  // MySQL's super_read_only implies read_only
  require_writable(connection, connection.query("SELECT @@global.read_only").text(0, 0));
}

}  // namespace looseleaf::shard
