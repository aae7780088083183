// Shows what create-index would do.
#pragma once

#include <looseleaf/jobs.hpp>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// See Datastore::plan_indexes.
[[nodiscard]] std::vector<CreatePlan> plan_indexes(shard::Shards& shards,
                                                   const std::vector<IndexDefinition>& definitions);

}  // namespace looseleaf::index
