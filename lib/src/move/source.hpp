// The store that moves to another cluster: the states that its shards go through. Shard 0 decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <vector>

#include "shard/access.hpp"
#include "shard/shards.hpp"

namespace looseleaf::move {

// Not thread-safe. Every change is made only if the shard still has this process's token. So a process that was asleep
// while another one undid its move, or completed it, changes nothing.
class Source {
 public:
  // Both outlive the object.
  Source(shard::Shards& original, shard::Shards& other);

  // Returns true if an earlier process has decided this move; then decide() and mark() complete it. Throws Error(moved)
  // if the store has moved to another cluster.
  [[nodiscard]] bool has_moved_there();
  // Throws Error(frozen) if a shard is frozen.
  void require_not_frozen();
  // Throws what a server says if the user may not change who writes to a shard, or rename a key. A copy needs less, and
  // takes long.
  void require_may_freeze();
  // Lets all writers wait, from shard 0 on. When it has returned, no write commits. Throws Error(unavailable) if that
  // takes longer than a third of `limit`, but at least 2 s. Once they have waited for `limit`, others may undo the
  // move.
  void freeze(std::chrono::seconds limit);
  // Whether nobody has opened a shard again since freeze() has returned.
  [[nodiscard]] bool is_frozen();
  // Decides that the store has moved, durably, even if an earlier process has decided it and died. Returns false if
  // another process has undone the move.
  [[nodiscard]] bool decide();
  // Lets the other shards say so, durably, and makes sure that reads ask. Then no reader finds anything here any more.
  void mark();
  // Lets writers go on here. Returns false if the move was decided. Adds shards that did not answer to `left`: their
  // writers wait until the limit. Throws Error(outcome_unknown) if nobody can tell whether the move was decided, and
  // Error(moved) if another process has moved the store.
  [[nodiscard]] bool undo(std::vector<std::uint32_t>& left);

 private:
  [[nodiscard]] std::vector<shard::Access> states();
  [[nodiscard]] shard::Access access(AccessState state, std::chrono::seconds limit) const;
  [[nodiscard]] shard::Access own(AccessState state) const;  // to compare with
  [[nodiscard]] bool undo_decision();
  // Also true if the shard does not answer.
  [[nodiscard]] bool may_be_ours(std::uint32_t shard);

  shard::Shards& shards_;
  const Uuid other_;
  const std::string file_;  // the other cluster's
  std::uint64_t token_;
  bool may_be_decided_ = false;
};

[[nodiscard]] std::vector<std::uint32_t> all_but_first(const shard::Shards& shards);

// That the shard no longer has the state that this process gave it.
[[nodiscard]] Error changed_meanwhile(const shard::Shards& shards, std::uint32_t shard);

}  // namespace looseleaf::move
