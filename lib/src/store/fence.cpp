// The fence row and the barrier.
#include "store/fence.hpp"

#include <chrono>
#include <thread>

#include "base/random.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::store {
namespace {

constexpr const char* select_fence =
    "SELECT epoch, NOW(6), clock_floor, @@global.read_only FROM looseleaf_shard WHERE only_row = 1 ";
constexpr int polite_tries = 5;
constexpr int max_jitter_ms = 20;

// A server that became read-only is being replaced by another one: what its locks say counts no longer.
void require_writable(sql::Connection& connection, const std::string& read_only) {
  if (read_only != "0" && read_only != "OFF") {
    connection.mark_broken();
    throw sql::ServerError(sql::ErrorClass::failing_over, 0, ErrorCode::unavailable,
                           "server became read-only, as in a failover", {{"server", to_string(connection.address())}},
                           "the cluster file must lead to the server that is writable now");
  }
}

Fence read_fence(sql::Connection& connection, const char* lock) {
  const sql::Result row = connection.query(std::string(select_fence) + lock);
  if (row.empty()) {
    throw Error(ErrorCode::wrong_cluster, "shard is not initialised", {}, "run `looseleaf init` first");
  }
  require_writable(connection, row.text(0, 3));
  return {row.unsigned_integer(0, 0), base::parse_stamp(row.text(0, 1)), base::parse_stamp(row.text(0, 2))};
}

bool is_conflict(const sql::ServerError& error) {
  return error.error_class() == sql::ErrorClass::conflict;
}

// One try: locks the fence in a transaction of its own, works, commits. (Never two tries in one transaction: with
// innodb_rollback_on_timeout a lock wait time-out ends it, and the next lock would be gone with its statement.)
void try_exclusive(sql::Connection& connection, const char* lock,
                   const std::function<void(sql::Connection&, const Fence&)>& work) {
  sql::Transaction transaction(connection);
  const Fence fence = read_fence(connection, lock);
  work(connection, fence);
  transaction.commit();
}

// First without waiting, since a waiting exclusive request holds up every new shared one; then for 1 s at most.
void work_exclusively(sql::Connection& connection, const std::function<void(sql::Connection&, const Fence&)>& work) {
  for (int i = 0; i < polite_tries; ++i) {
    try {
      return try_exclusive(connection, "FOR UPDATE NOWAIT", work);
    } catch (const sql::ServerError& error) {
      if (!is_conflict(error)) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + base::random_u64() % max_jitter_ms));
  }
  const char* restore = "SET SESSION innodb_lock_wait_timeout = 2";
  connection.execute("SET SESSION innodb_lock_wait_timeout = 1");
  try {
    try_exclusive(connection, "FOR UPDATE", work);
  } catch (const sql::ServerError&) {
    if (!connection.broken()) {
      connection.execute(restore);
    }
    throw;
  }
  connection.execute(restore);
}

}  // namespace

Fence lock_fence_shared(sql::Connection& connection) {
  return read_fence(connection, "LOCK IN SHARE MODE");
}

void with_fence_exclusive(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                          const std::function<void(sql::Connection&, const Fence&)>& work) {
  on_shard(shards, shard, [&] {
    sql::with_retries(deadline, [&] {
      const Lease lease = shards.connect(shard, deadline);
      work_exclusively(*lease, work);
    });
  });
}

base::Stamp take_barrier(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  base::Stamp barrier;
  with_fence_exclusive(shards, shard, deadline, [&](sql::Connection& connection, const Fence&) {
    connection.execute(
        "UPDATE looseleaf_shard SET clock_floor = GREATEST(NOW(6), clock_floor + INTERVAL 1 MICROSECOND) "
        "WHERE only_row = 1");
    barrier =
        base::parse_stamp(connection.query("SELECT clock_floor FROM looseleaf_shard WHERE only_row = 1").text(0, 0));
  });
  return barrier;
}

void validate_locks(sql::Connection& connection) {  // MySQL's super_read_only implies read_only
  require_writable(connection, connection.query("SELECT @@global.read_only").text(0, 0));
}

}  // namespace looseleaf::store
