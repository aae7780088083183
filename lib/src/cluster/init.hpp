// Creates the databases and the tool's tables on every shard.
#pragma once

#include <cstdint>
#include <looseleaf/status.hpp>
#include <set>

#include "shard/shards.hpp"

namespace looseleaf::cluster {

// See Datastore::init.
InitReport init(shard::Shards& shards, const std::set<std::uint32_t>& accept_empty);

}  // namespace looseleaf::cluster
