// The fence: one row on each shard, locked shared by whoever writes index rows for that shard's entities, exclusively
// by whoever changes the catalog, takes the barrier or deletes orphans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/shards.hpp"
#include "sql/connection.hpp"

namespace looseleaf::shard {

struct Fence {
  std::uint64_t epoch = 0;
  base::Stamp now;          // the server's clock when the lock was asked for
  base::Stamp clock_floor;  // no stamp may be smaller

  // The smallest stamp that a write under this fence may have.
  [[nodiscard]] base::Stamp earliest() const { return std::max(now, clock_floor); }
};

// Locks the fence row shared until the connection's transaction ends.
[[nodiscard]] Fence lock_fence_shared(sql::Connection& connection);

// Runs `work` in a transaction of shard's that holds the fence exclusively, and commits. Steps aside, and tries again
// until the deadline, rather than hold up writers for more than a second; replays everything after transient errors,
// so `work` must be repeatable, also after a COMMIT whose outcome is unknown. Before each try, when nothing is locked,
// calls `prepare`: for what may take its time.
void with_fence_exclusive(
    Shards& shards, std::uint32_t shard, const base::Deadline& deadline,
    const std::function<void(sql::Connection&, const Fence&)>& work, const std::function<void()>& prepare = [] {});

// Waits for every transaction in flight on a shard and returns H: every entity row with a stamp below H is visible
// now, and no later commit can have a smaller one, whatever the clocks do.
[[nodiscard]] base::Stamp take_barrier(Shards& shards, std::uint32_t shard, const base::Deadline& deadline);

// Throws a retryable ServerError if `read_only`, the server's @@global.read_only, says that it was demoted: another one
// may have taken over, so neither its locks nor its data count any longer. Ends the connection.
void require_writable(sql::Connection& connection, const std::string& read_only);

// Throws a retryable ServerError if the connection was lost or its server demoted since: then its locks cannot be
// trusted, and whatever was done on their strength must be rolled back.
void validate_locks(sql::Connection& connection);

}  // namespace looseleaf::shard
