// The fence row and the barrier.
#include "shard/fence.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "shard/access.hpp"
#include "shard/schema.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/literals.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::shard {
namespace {

constexpr int polite_tries = 5;
constexpr int max_jitter_ms = 20;

constexpr std::string_view fence_columns = "epoch, NOW(6), clock_floor, @@global.read_only, access, access_token";

// Converts these columns of a row, of which the first is the one at `column`.
Fence to_fence(const sql::Database& database, const sql::Result& rows, std::size_t row, std::size_t column) {
  require_writable(database, rows.text(row, column + 3));
  return {rows.unsigned_integer(row, column), base::parse_stamp(rows.text(row, column + 1)),
          base::parse_stamp(rows.text(row, column + 2)), parse_access_state(rows.text(row, column + 4)),
          rows.unsigned_integer(row, column + 5)};
}

Fence read_fence(const sql::Database& database, const std::string& lock) {
  const sql::Result rows = database->query(sql::Statement(
      fmt::format("SELECT {} FROM {} WHERE only_row = 1 {}", fence_columns, database.table("looseleaf_shard"), lock)));
  if (rows.empty()) {
    throw NotInitialised();
  }
  return to_fence(database, rows, 0, 0);
}

// Returns the end of a SELECT that locks its row shared. `hurry` is NOWAIT, SKIP LOCKED or nothing.
std::string lock_shared(const sql::Connection& session, std::string_view hurry) {
  return fmt::format("{} {}", session.facts().flavour == sql::Flavour::mariadb ? "LOCK IN SHARE MODE" : "FOR SHARE",
                     hurry);
}

std::string lock_shared(const sql::Database& database, Busy busy) {
  return lock_shared(*database, busy == Busy::refuse ? "NOWAIT" : "");
}

sql::ServerError fence_busy() {
  return {
      sql::ErrorClass::conflict,         0, ErrorCode::unavailable, "could not lock the fence before the timeout", {},
      "retry, or use a longer --timeout"};
}

// Makes one attempt: locks the fence in its own transaction, runs `work` and commits. Returns false if the fence was
// not free. One transaction never contains two attempts: with innodb_rollback_on_timeout, a lock wait timeout ends the
// transaction, and the next lock would last only for its own statement.
bool try_exclusive(const sql::Database& database, std::uint32_t shard, const char* lock,
                   const std::function<void(const sql::Database&, const Fence&)>& work) {
  sql::Transaction transaction(database);
  std::optional<Fence> fence;
  try {
    fence = read_fence(database, lock);
  } catch (const sql::ServerError& error) {
    if (error.error_class() != sql::ErrorClass::conflict) {
      throw;
    }
    return false;
  }
  work(database, *fence);
  const Step step(steps::fence_commit, shard);
  transaction.commit();
  return true;
}

// Shortens the lock wait timeout as long as this object lives.
class ShortWait {
 public:
  explicit ShortWait(const sql::Database& database) : database_(database) {
    database_->execute("SET SESSION innodb_lock_wait_timeout = 1");
  }
  ~ShortWait() {
    try {
      if (!database_->broken()) {
        database_->execute("SET SESSION innodb_lock_wait_timeout = 2");
      }
    } catch (...) {
      database_->mark_broken();
    }
  }
  ShortWait(const ShortWait&) = delete;
  ShortWait& operator=(const ShortWait&) = delete;

 private:
  const sql::Database& database_;
};

// Tries first without waiting, because a waiting exclusive request blocks every new shared one. Then waits for at most
// 1 s. Returns false if it could not lock the fence.
bool work_exclusively(const sql::Database& database, std::uint32_t shard,
                      const std::function<void(const sql::Database&, const Fence&)>& work) {
  for (int i = 0; i < polite_tries; ++i) {
    if (try_exclusive(database, shard, "FOR UPDATE NOWAIT", work)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + base::random_u64() % max_jitter_ms));
  }
  const ShortWait short_wait(database);
  return try_exclusive(database, shard, "FOR UPDATE", work);
}

// Repeats the attempt, which ends with no fence locked, until the deadline. If it is refused because of a move that is
// overdue, that is undone first.
void attempt_until_it_works(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                            const std::function<void()>& attempt) {
  on_shard(shards, shard, [&] {
    sql::with_retries(deadline, [&] {
      try {
        attempt();
      } catch (const AboutToMove& move) {
        undo_if_overdue(shards, move, deadline);
        throw;
      }
    });
  });
}

}  // namespace

Fence lock_fence_shared(const sql::Database& database, Busy busy) {
  return read_fence(database, lock_shared(database, busy));
}

std::map<std::uint32_t, Fence> lock_fences_shared(Lease& lease, std::span<const std::uint32_t> shards, Busy busy) {
  if (shards.size() == 1) {
    try {
      return {{shards.front(), lock_fence_shared(lease.on(shards.front()), busy)}};
    } catch (const sql::ServerError& error) {
      if (busy == Busy::refuse && error.error_class() == sql::ErrorClass::conflict) {
        throw fence_busy();
      }
      throw;
    }
  }
  std::string select;
  for (const std::uint32_t shard : shards) {
    select += fmt::format("{}(SELECT {}, {} FROM {} WHERE only_row = 1 {})", select.empty() ? "" : " UNION ALL ", shard,
                          fence_columns, lease.on(shard).table("looseleaf_shard"), lock_shared(**lease, "SKIP LOCKED"));
  }
  const sql::Result rows = lease->query(select);
  std::map<std::uint32_t, Fence> fences;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fences.emplace(rows.unsigned_integer(i, 0), to_fence(*lease, rows, i, 1));
  }
  if (fences.empty()) {
    throw fence_busy();
  }
  return fences;
}

// Servers execute the parts of a UNION in order, so the fence is locked first. On MariaDB, NOWAIT in one part would
// hold for the whole statement.
FenceAndEntity lock_fence_and_entity(const sql::Database& database, const Uuid& id, Lock lock, std::uint64_t max_body) {
  const sql::Result rows = database->query(
      fmt::format("(SELECT 0, {} FROM {} WHERE only_row = 1 {}) UNION ALL "
                  "(SELECT 1, added_id, updated, SYSDATE(6), 0, IF(LENGTH(body) <= {}, body, NULL), LENGTH(body) "
                  "FROM {} WHERE id = {} {})",
                  fence_columns, database.table("looseleaf_shard"), lock_shared(database, Busy::wait), max_body,
                  database.table("entities"), id_literal(id),
                  lock == Lock::shared ? lock_shared(database, Busy::wait) : "FOR UPDATE"));
  if (rows.empty() || rows.text(0, 0) != "0") {
    throw NotInitialised();
  }
  FenceAndEntity locked{to_fence(database, rows, 0, 1), {}};
  if (rows.size() > 1) {
    const auto& size = rows.cell(1, 6);
    locked.entity = EntityRow{.id = id,
                              .added_id = rows.unsigned_integer(1, 1),
                              .updated = base::parse_stamp(rows.text(1, 2)),
                              .locked = base::parse_stamp(rows.text(1, 3)),
                              .body_size = size ? std::optional(rows.unsigned_integer(1, 6)) : std::nullopt,
                              .body = rows.cell(1, 5)};
  }
  return locked;
}

void with_fence_exclusive(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                          const std::function<void(const sql::Database&, const Fence&)>& work,
                          const std::function<void()>& prepare) {
  attempt_until_it_works(shards, shard, deadline, [&] {
    prepare();
    const Lease lease = shards.connect(shard, deadline);
    if (!work_exclusively(*lease, shard, work)) {
      throw fence_busy();
    }
  });
}

void with_fence_shared(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                       const std::function<void(const sql::Database&, const Fence&)>& work) {
  attempt_until_it_works(shards, shard, deadline, [&] {
    const Lease lease = shards.connect(shard, deadline);
    sql::Transaction transaction(*lease);
    const Fence fence = lock_fence_shared(*lease);
    work(*lease, fence);
    transaction.commit();
  });
}

base::Stamp take_barrier(Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  const Step step(steps::barrier_take, shard);
  if (step.left_out()) {  // for a test: do not wait for anybody
    return with_shard(shards, shard, deadline, [](const sql::Database& database) {
      return base::parse_stamp(database->query("SELECT NOW(6)").text(0, 0));
    });
  }
  base::Stamp barrier;
  with_fence_exclusive(shards, shard, deadline, [&](const sql::Database& database, const Fence&) {
    // The barrier must also exceed stamps that were written while the clock was ahead. Otherwise those rows would not
    // be below any barrier until the clock reached their stamps.
    const std::string fence = database.table("looseleaf_shard");
    const auto latest =
        database->query("SELECT MAX(updated) + INTERVAL 1 MICROSECOND FROM " + database.table("entities")).cell(0, 0);
    database->execute(
        fmt::format("UPDATE {} SET clock_floor = GREATEST(NOW(6), clock_floor + INTERVAL 1 MICROSECOND{}) "
                    "WHERE only_row = 1",
                    fence, latest ? ", " + sql::stamp_literal(base::parse_stamp(*latest)) : std::string()));
    barrier = base::parse_stamp(database->query("SELECT clock_floor FROM " + fence + " WHERE only_row = 1").text(0, 0));
  });
  return barrier;
}

void raise_clock_floor(Shards& shards, std::uint32_t shard, base::Stamp floor, const base::Deadline& deadline) {
  with_fence_exclusive(shards, shard, deadline, [&](const sql::Database& database, const Fence&) {
    // It changes the row each time, because a commit that changes nothing would not wait for the disk.
    database->execute(
        fmt::format("UPDATE {} SET clock_floor = GREATEST(clock_floor + INTERVAL 1 MICROSECOND, {}) WHERE only_row = 1",
                    database.table("looseleaf_shard"), sql::stamp_literal(floor)));
  });
}

}  // namespace looseleaf::shard
