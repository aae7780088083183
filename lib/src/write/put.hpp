// The write protocol for a batch of puts and deletes of entities on one server.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Writes to the shards of one cluster. Thread-safe; `shards` outlives it.
class Writer {
 public:
  explicit Writer(shard::Shards& shards) : shards_(shards), last_ids_were_new_(shards.count()) {}

  // Stores one batch. The entity shards of all writes are on one server; the ids are distinct and sorted. Sets the
  // status and the error of each write's result. Never throws for a server's error: the results contain it.
  //
  // Returns the places in `writes` of those that it hands back. They have changed nothing and can be written again.
  std::vector<std::size_t> write_batch(std::span<const Write> writes, const base::Deadline& deadline,
                                       HeldShards held = HeldShards::wait_for);

 private:
  shard::Shards& shards_;
  // By entity shard: true if all ids of the last batch were new. The ids of the next batch are then probably new, too.
  std::vector<std::atomic<bool>> last_ids_were_new_;
};

// Returns the error for an exception that is not an Error: memory or threads ran out.
[[nodiscard]] Error resource_exhausted(const std::exception& error);

}  // namespace looseleaf::write
