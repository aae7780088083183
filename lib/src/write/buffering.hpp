// Keeps new entities on other servers while a server that they need is down.
#pragma once

#include <functional>

#include "base/deadline.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Calls `write` for the items until the deadline, which decides all of them. If some can be buffered, it gives up
// sooner, buffers what has failed because a server is down on up to two servers that answer, and calls `write` again
// for what can neither be stored nor buffered. The items' shards are on one server. Sets the results. Never throws for
// a server's error.
void write_or_buffer(shard::Shards& shards, const Items& items, const base::Deadline& deadline,
                     const std::function<void(const Items&, const base::Deadline&)>& write);

}  // namespace looseleaf::write
