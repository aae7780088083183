// Keeps new entities on other servers while a server that they need is down.
#pragma once

#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Returns those of these items whose writes can be buffered, and failed because a server that they need is down.
[[nodiscard]] Items failed_to_be_buffered(const shard::Shards& shards, const Items& items);

// Buffers such items on up to two servers that answer. Their shards are on one server. Their writes have not been
// stored, so nothing but the copies can store them. Sets the results. Never throws for a server's error.
void buffer(shard::Shards& shards, const Items& items);

}  // namespace looseleaf::write
