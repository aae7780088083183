// Who may write to a shard: everybody without a token, or, while it is frozen or once it has moved, only a process that
// has the shard's token. The state is in the fence row, so that every writer reads it together with the fence.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "shard/fence.hpp"
#include "shard/shards.hpp"
#include "sql/errors.hpp"

namespace looseleaf::shard {

struct Access {
  AccessState state = AccessState::open;
  std::uint64_t token = 0;  // a process that has it may write; 0 if the shard is open
  std::string reason = {};  // why it is frozen or moves, or where it has moved to
  std::string holder = {};  // the process that has changed the state
  std::string since = {};   // in UTC, formatted like DATETIME(6)
  // Of the state `moving`: how long others must wait before they may open the store again.
  std::chrono::seconds limit = {};
  std::string until = {};  // when they may, in UTC; empty if nobody has set it
  bool overdue = false;    // they may now
  bool lasts = false;      // the state is no longer new
};

// The store is about to move. Whoever waits for that may open it once the process that moves it has had its time.
class AboutToMove : public sql::ServerError {
 public:
  AboutToMove(std::uint32_t shard, const Access& access);
  AboutToMove(const AboutToMove&) = default;
  AboutToMove& operator=(const AboutToMove&) = default;
  ~AboutToMove() override;

  [[nodiscard]] std::uint32_t shard() const { return shard_; }
  [[nodiscard]] const Access& access() const { return access_; }

 private:
  std::uint32_t shard_;
  Access access_;
};

[[nodiscard]] Access read_access(const sql::Database& database);
// Warns if the store has moved, as one shard says. For what reads a whole store, which stays as it was then.
void warn_if_moved(Shards& shards, std::uint32_t shard, const base::Deadline& deadline);

// Changes the state if it still has the state and the token of `from`. Every open shard has the same token, so one that
// was closed and opened again since `from` was read is told by `since`, if that is there. Counts times from now on.
// Returns false if nothing was changed. If it already has the state and the token of `to`, an earlier attempt has
// changed it, and the result is true. The state `moved` never changes. If given, `before_commit` is called before each
// COMMIT that may change the state: once it was, an error leaves unknown whether it has changed.
[[nodiscard]] bool change_access(Shards& shards, std::uint32_t shard, const Access& from, const Access& to,
                                 const base::Deadline& deadline, const std::function<void()>& before_commit = nullptr);
// Reads the state, and makes it durable: another process may have changed it just now.
[[nodiscard]] Access read_durable_access(Shards& shards, std::uint32_t shard, const base::Deadline& deadline);
// Returns what the reason of a store begins with, after "to " as long as it is moving, that moves or has moved to this
// cluster.
[[nodiscard]] std::string name_of_cluster(const Uuid& cluster);
[[nodiscard]] bool is_to(const Access& access, const Uuid& cluster);
// Returns the reason of a cluster that is a copy of another one as long as the copy is in progress.
[[nodiscard]] std::string reason_of_copy(const Uuid& origin);
// Returns the command with these options, in quotes for a hint. An empty name stands for a cluster file that is not
// known.
[[nodiscard]] std::string copy_command(const std::string& from, const std::string& to, const std::string& options);

// Gives up a move of the store that has this token, unless it is decided: opens shard 0, and then this shard. Returns
// false if the store has moved. Does nothing to a shard whose token is another one.
[[nodiscard]] bool undo_move(Shards& shards, std::uint32_t shard, std::uint64_t token, const base::Deadline& deadline);
// Does that with every shard that is `moving` to this cluster, or that is overdue. Returns false if the store has
// moved. Throws Error(busy) if it is about to move to another cluster.
[[nodiscard]] bool undo_moves(Shards& shards, const Uuid& cluster, const base::Deadline& deadline);
// Undoes a move if it is overdue, and warns of it if it lasts. Call this with no fence locked.
void undo_if_overdue(Shards& shards, const AboutToMove& move, const base::Deadline& deadline);

// Throws unless this process may write to a shard whose fence it holds: Error(frozen) or Error(moved), while the store
// is about to move AboutToMove, which is retryable, and Error(busy) if it has a token and the shard is open.
void require_write_access(const Shards& shards, std::uint32_t shard, const sql::Database& database, const Fence& fence);

// Does the same for these shards, without a lock, before an operation of many steps changes anything. The state may
// change after that, so each step must check it again under the fence. Waits while the store is about to move, and
// undoes that if it is overdue.
void require_write_access(Shards& shards, std::span<const std::uint32_t> some, const base::Deadline& deadline);

// Throws Error(moved) if the store has moved, which shard 0 decides.
void require_not_moved(Shards& shards);
// Throws Error(moved) if one of these shards, which are on the session's server, has moved.
void require_not_moved(Lease& lease, std::span<const std::uint32_t> shards);

// Returns Error(moved), for a shard that has moved.
[[nodiscard]] Error has_moved(const Access& access);

// Returns how to make a copy of another store a store of its own; absent if that is not why the shard is frozen.
[[nodiscard]] std::optional<std::string> hint_for_copy(const Shards& shards, const Access& access);

// Returns the context of an error about a shard that is not open: who has changed the state, when and why.
[[nodiscard]] Error::Context facts(const Access& access);

}  // namespace looseleaf::shard
