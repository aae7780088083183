// What state the cluster is in.
#pragma once

#include <looseleaf/status.hpp>

#include "shard/shards.hpp"

namespace looseleaf::cluster {

// Asks all shards at once, each with one try; a shard that cannot be asked is part of the answer.
[[nodiscard]] Status status(shard::Shards& shards);
// Asks one shard.
[[nodiscard]] ShardStatus status(shard::Shards& shards, std::uint32_t shard);

}  // namespace looseleaf::cluster
