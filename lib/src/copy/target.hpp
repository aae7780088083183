// The cluster that a copy writes to. It is frozen for everybody but the copier, and remembers whose copy it is and how
// far the copy has come, on its shard 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "feed/position.hpp"
#include "job/jobs.hpp"
#include "shard/access.hpp"
#include "shard/shards.hpp"

namespace looseleaf::copy {

using job::copy_job;

using feed::Positions;  // by shard of the original

// The right to write to the other cluster. A process that was only asleep while another one made an object of this
// class can neither write there nor store a position any more: every shard then has another token.
class Target {
 public:
  enum class Purpose { copy, open };

  // Claims `other` for a copy of the cluster `origin`, which has `count` shards. Throws Error(busy) if a copy is
  // running, and Error(usage) if `other` is neither empty nor this cluster's copy. To open it, some shards may be open
  // already. `other` must outlive the object.
  Target(shard::Shards& other, const Uuid& origin, std::uint32_t count, Purpose purpose = Purpose::copy);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target();

  [[nodiscard]] shard::Shards& shards() { return other_; }
  // Nothing was copied before this run.
  [[nodiscard]] bool fresh() const { return fresh_; }
  // Writers wait there already, because a former process was about to open the cluster.
  [[nodiscard]] bool announced() const { return announced_; }
  // Returns how far this run and earlier ones have come.
  [[nodiscard]] const Positions& positions() const { return positions_; }
  // Returns from where on the original is to keep its deletes: from these positions, or from those of keep_from().
  [[nodiscard]] const Positions& marks() const { return kept_from_ ? *kept_from_ : positions_; }
  // Call it while no Copier runs.
  void keep_from(const Positions& positions) { kept_from_ = positions; }
  // The indexes are there: from now on entities are written.
  void begin_writing();
  // Stores how far this run has come. Everything before must be durable. Throws Error(busy) if another process has
  // taken the copy over.
  void store(const Positions& positions);

  // Throws Error(busy) if another process has taken the copy over.
  void require_own_row();

  // Lets writers wait instead of refusing them, because the cluster is opened soon; or refuses them again, and removes
  // the triggers that were begun there meanwhile. From then on every stamp there is later than `floor`.
  void announce(base::Stamp floor);
  void refuse();

  // Ends the copy: opens the shards, and forgets the original.
  void open();

 private:
  void begin(Purpose purpose);
  void require_usable(bool has_row);
  void claim_row(const std::optional<job::JobRow>& seen);
  void give_row_back(const std::optional<job::JobRow>& seen);
  void claim_shards(Purpose purpose);
  void claim_shard(std::uint32_t shard, Purpose purpose);
  // Changes the state of a shard that still has this object's token.
  void change(std::uint32_t shard, AccessState from, const shard::Access& to);
  void take_over();
  void keep_lock(const std::stop_token& stop);
  [[nodiscard]] bool is_empty();
  void remove_triggers(std::uint32_t shard);
  void remove_rows();

  shard::Shards& other_;
  const Uuid origin_;
  const std::uint32_t count_;
  job::JobLock lock_;
  std::vector<shard::Access> seen_;  // of each shard, before the row of the copy was read
  bool announced_ = false;
  bool fresh_ = false;  // nothing was copied yet
  Positions positions_;
  std::optional<Positions> kept_from_;
  std::jthread keeper_;  // of the lock; last, so that it ends first
};

// Returns how far the copy of this cluster, which has `count` shards, has come in `shards`; absent if it is no such
// copy. A shard is missing if nothing was copied from it yet.
[[nodiscard]] std::optional<Positions> read_positions(shard::Shards& shards, const Uuid& origin, std::uint32_t count);

// Another process has the shards or the row of the copy now.
[[nodiscard]] Error taken_over();

// Returns of which cluster this one is a copy that is in progress.
[[nodiscard]] std::optional<std::string> origin_of(shard::Shards& shards);

// Returns the generation of the triggers that a move of this store writes in the other cluster, whichever run of it: so
// all of them are found if the move is given up.
[[nodiscard]] std::uint64_t trigger_generation(const Uuid& origin);

}  // namespace looseleaf::copy
