// Creates indexes, or shows what that would do.
#pragma once

#include <looseleaf/jobs.hpp>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// See Datastore::create_indexes and Datastore::plan_indexes.
std::vector<CreateReport> create_indexes(shard::Shards& shards, const std::vector<IndexDefinition>& definitions);
[[nodiscard]] std::vector<CreatePlan> plan_indexes(shard::Shards& shards,
                                                   const std::vector<IndexDefinition>& definitions);

}  // namespace looseleaf::index
