// Finds the entities that changed in a span of time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/shards.hpp"

namespace looseleaf::scan {

// Calls `work` with the ids of one shard's entities whose stamps are in [from, until), the most recent first, in
// batches of a few hundred, and with the earliest stamp among them. If `until` is a barrier, no such entity is missed.
void for_changed(shard::Shards& shards, std::uint32_t shard, base::Stamp from, base::Stamp until,
                 const std::function<void(const std::vector<Uuid>& ids, base::Stamp reached)>& work);

}  // namespace looseleaf::scan
