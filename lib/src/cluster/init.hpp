// Creating the databases and the tool's tables on every shard.
#pragma once

#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <optional>

#include "shard/shards.hpp"

namespace looseleaf::ops {

// See Datastore::init.
InitReport init(store::Shards& shards, std::optional<std::uint32_t> accept_empty_shard);

}  // namespace looseleaf::ops
