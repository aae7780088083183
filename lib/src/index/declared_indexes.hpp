// Checks definitions, and compares them with the active indexes.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/status.hpp>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// Returns definitions as they are in files, in canonical form. Throws Error(bad_definition) for one that a file could
// not have: one built in memory may break the rules, and a catalog with such a definition could not be read any more.
[[nodiscard]] std::vector<IndexDefinition> checked(const std::vector<IndexDefinition>& definitions);

// See Datastore::compare_definitions.
[[nodiscard]] std::vector<DeclaredIndex> compare_definitions(shard::Shards& shards,
                                                             const std::vector<IndexDefinition>& definitions);

}  // namespace looseleaf::index
