// Checks that a database is the shard that the cluster file names.
#pragma once

#include <cstdint>
#include <looseleaf/cluster.hpp>
#include <mutex>
#include <optional>

#include "server/sessions.hpp"
#include "shard/catalog.hpp"

namespace looseleaf::shard {

// Returns the error for a cluster file that names more or fewer shards than the store has.
[[nodiscard]] Error other_shard_count(std::uint64_t in_store, std::uint32_t in_file);

// Thread-safe. `cluster` outlives it.
class Identity {
 public:
  explicit Identity(const Cluster& cluster) : cluster_(cluster), cluster_id_(cluster.cluster_id) {}

  // Throws Error(wrong_cluster) unless this is what this shard of this cluster says of itself. If the cluster file has
  // no cluster id, the first checked shard defines it.
  void check(std::uint32_t shard, const Head& head);
  // Returns the cluster file's id, or that of the first checked shard; absent before any of them is known.
  [[nodiscard]] std::optional<Uuid> cluster_id() const;
  // Throws NotInitialised, or a better explanation, for a shard without Looseleaf's tables. A superfluous shard in the
  // cluster file is not initialised either, but `init` does not help there.
  [[noreturn]] void refuse_uninitialised(std::uint32_t shard, server::Sessions& sessions) const;

 private:
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(cluster_.shards.size()); }

  const Cluster& cluster_;
  mutable std::mutex mutex_;
  std::optional<Uuid> cluster_id_;  // the cluster file's id, or else that of the first checked shard
};

}  // namespace looseleaf::shard
