// Collects the state of the cluster.
#pragma once

#include <looseleaf/status.hpp>

#include "shard/shards.hpp"

namespace looseleaf::cluster {

// Queries all shards at once, without retries. A shard that cannot be queried is reported as such.
[[nodiscard]] Status status(shard::Shards& shards);
// Queries one shard.
[[nodiscard]] ShardStatus status(shard::Shards& shards, std::uint32_t shard);

}  // namespace looseleaf::cluster
