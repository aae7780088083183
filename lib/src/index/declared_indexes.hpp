// Compares definitions with the active indexes.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/status.hpp>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// See Datastore::compare_definitions.
[[nodiscard]] std::vector<DeclaredIndex> compare_definitions(shard::Shards& shards,
                                                             const std::vector<IndexDefinition>& definitions);

}  // namespace looseleaf::index
