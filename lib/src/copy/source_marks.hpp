// Says in the original how far a copy is, so that no tombstone is purged that the copy still needs.
#pragma once

#include "copy/target.hpp"
#include "shard/shards.hpp"

namespace looseleaf::copy {

// Stores these positions of the copy with this cluster id, each on its shard of the original.
void write_marks(shard::Shards& original, const Uuid& other, const Positions& positions);
// Returns false if there were none.
[[nodiscard]] bool remove_marks(shard::Shards& original, const Uuid& other);

}  // namespace looseleaf::copy
