// Keeps new entities on other servers while a server that they need is down.
#pragma once

#include <vector>

#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Buffers those of these writes that were to be buffered, and failed because a server is down: on up to two servers
// that answer. The shards of all writes are on one server. Such a write has not been stored, so nothing but its copies
// can store it. Sets the results. Never throws for a server's error.
void buffer_failed(shard::Shards& shards, const std::vector<Write>& writes);

}  // namespace looseleaf::write
