// Who may write to a shard: everybody without a token, or, while it is frozen or once it has moved, only a process that
// has the shard's token. The state is in the fence row, so that every writer reads it together with the fence.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "shard/fence.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

struct Access {
  AccessState state = AccessState::open;
  std::uint64_t token = 0;  // a process that has it may write; 0 if the shard is open
  std::string reason;       // why it is frozen or moves, or where it has moved to
  std::string holder;       // the process that has changed the state
  std::string since;        // in UTC, formatted like DATETIME(6)
};

[[nodiscard]] Access read_access(const sql::Database& database);

// Changes the state if it still has the token `from`. Sets `since` to the server's time. Returns false if it has not.
// If it already has the state and the token of `to`, an earlier attempt has changed it, and the result is true. The
// state `moved` never changes.
[[nodiscard]] bool change_access(Shards& shards, std::uint32_t shard, std::uint64_t from, const Access& to,
                                 const base::Deadline& deadline);

// Throws unless this process may write to a shard whose fence it holds: Error(frozen) or Error(moved), while the store
// is about to move a retryable ServerError, and Error(busy) if it has a token and the shard is open.
void require_write_access(const Shards& shards, const sql::Database& database, const Fence& fence);

// Does the same for these shards, without a lock, before an operation of many steps changes anything. The state may
// change after that, so each step must check it again under the fence. Waits while the store is about to move.
void require_write_access(Shards& shards, std::span<const std::uint32_t> some, const base::Deadline& deadline);

// Throws Error(moved) if one of these shards, which are on the session's server, has moved.
void require_not_moved(Lease& lease, std::span<const std::uint32_t> shards);

// Returns Error(moved), for a shard that has moved.
[[nodiscard]] Error has_moved(const Access& access);

// Returns the context of an error about a shard that is not open: who has changed the state, when and why.
[[nodiscard]] Error::Context facts(const Access& access);

}  // namespace looseleaf::shard
