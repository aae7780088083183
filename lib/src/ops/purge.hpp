// Purging tombstones: the only code that removes entity rows.
#pragma once

#include <cstdint>

#include "base/stamp.hpp"
#include "store/shards.hpp"

namespace looseleaf::ops {

// Removes one shard's tombstones with stamps in [from, before) of which no index row is left, each under its row lock.
// Sets `settled` to the stamp up to which none is left. Returns how many were removed.
std::uint64_t purge(store::Shards& shards, std::uint32_t shard, base::Stamp from, base::Stamp before,
                    base::Stamp& settled);

}  // namespace looseleaf::ops
