// What state the cluster is in.
#pragma once

#include <looseleaf/status.hpp>

#include "store/shards.hpp"

namespace looseleaf::ops {

// Asks all shards at once, each with one try; a shard that cannot be asked is part of the answer.
[[nodiscard]] Status status(store::Shards& shards);

}  // namespace looseleaf::ops
