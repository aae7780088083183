// Creates indexes.
#pragma once

#include <looseleaf/jobs.hpp>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// See Datastore::create_indexes.
std::vector<CreateReport> create_indexes(shard::Shards& shards, const std::vector<IndexDefinition>& definitions);
// The same for one index, without a check of the shards' identities.
CreateReport create_index(shard::Shards& shards, const IndexDefinition& definition);

}  // namespace looseleaf::index
