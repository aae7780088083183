// The fence is one row on each shard. Writers of index rows for that shard's entities lock it shared. Operations that
// change the catalog, take the barrier or delete orphans lock it exclusively.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/access_state.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

struct Fence {
  std::uint64_t epoch = 0;
  base::Stamp now;          // the server's clock when the lock was requested
  base::Stamp clock_floor;  // no stamp may be smaller
  AccessState access = AccessState::open;
  std::uint64_t access_token = 0;  // see access.hpp

  // Returns a stamp that no write under this fence may fall short of.
  [[nodiscard]] base::Stamp earliest() const { return std::max(now, clock_floor); }
};

// What happens while another session holds or wants a fence exclusively: the statement waits for a moment, or it throws
// a retryable ServerError(conflict) at once.
enum class Busy { wait, refuse };

// Locks the fence row shared until the connection's transaction ends.
[[nodiscard]] Fence lock_fence_shared(const sql::Database& database, Busy busy = Busy::wait);
// Locks the fence rows of several shards on the session's server, in one statement and in ascending order. If there is
// more than one, it does not wait: it leaves out shards whose fence another session holds or wants exclusively, and
// throws a retryable ServerError(conflict) if none is left.
[[nodiscard]] std::map<std::uint32_t, Fence> lock_fences_shared(Lease& lease, std::span<const std::uint32_t> shards,
                                                                Busy busy);

struct FenceAndEntity {
  Fence fence;
  std::optional<EntityRow> entity;  // absent: there is no row
};
// Locks the fence row shared and then the row of an id, in one statement. A body is read only if it has at most
// `max_body` bytes.
[[nodiscard]] FenceAndEntity lock_fence_and_entity(const sql::Database& database, const Uuid& id, Lock lock,
                                                   std::uint64_t max_body);

// Runs `work` in a transaction on the shard that holds the fence shared, and commits. It repeats everything after
// transient errors until the deadline, so `work` must be repeatable, even after a COMMIT whose outcome is unknown. If
// `work` is refused because of a move that is overdue, that is undone first.
void with_fence_shared(Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
                       const std::function<void(const sql::Database&, const Fence&)>& work);
// The same with the fence held exclusively. Rather than block writers for more than a second, it gives up an attempt
// and retries. Before each attempt, while nothing is locked, it calls `prepare`, which may take long.
void with_fence_exclusive(
    Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
    const std::function<void(const sql::Database&, const Fence&)>& work, const std::function<void()>& prepare = [] {});

// Waits for every transaction in flight on a shard and returns a stamp H: every entity row with a stamp below H is
// visible now, and no later commit can have a smaller stamp, whatever the clocks do.
[[nodiscard]] base::Stamp take_barrier(Shards& shards, std::uint32_t shard, const base::Deadline& deadline);

// No stamp of a later commit is smaller than this one.
void raise_clock_floor(Shards& shards, std::uint32_t shard, base::Stamp floor, const base::Deadline& deadline);

}  // namespace looseleaf::shard
