// What an entity calls for in each index.
#pragma once

#include <looseleaf/entity_reader.hpp>
#include <looseleaf/indexing.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// See Datastore::explain.
[[nodiscard]] std::vector<IndexedEntity> explain(shard::Shards& shards, std::string_view json, Position start);

// See Datastore::count_sample.
[[nodiscard]] std::map<std::string, IndexingCounts> count_sample(shard::Shards& shards,
                                                                 const std::vector<IndexDefinition>& definitions);

}  // namespace looseleaf::index
