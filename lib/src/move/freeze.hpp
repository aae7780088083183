// Whether a store takes writes: freeze and thaw.
#pragma once

#include <cstdint>
#include <string>

#include "shard/shards.hpp"

namespace looseleaf::move {

// Freezes all shards, in order from shard 0, so of two concurrent freezes one is refused before it has changed
// anything. If a shard cannot be frozen, opens those that were frozen, and throws. See Datastore::freeze().
void freeze(shard::Shards& shards, const std::string& reason);

// Opens all shards that are frozen, shard 0 last, and returns their number. See Datastore::thaw().
std::uint32_t thaw(shard::Shards& shards, bool force);

}  // namespace looseleaf::move
