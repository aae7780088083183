// Dropping an index.
#pragma once

#include <looseleaf/jobs.hpp>
#include <string>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// Queries stop first, then writers, then the tables go, then the catalog rows; may be repeated at any point.
// Throws Error(bad_index) if nothing is known of such an index.
DropReport drop_index(shard::Shards& shards, const std::string& table, const DropOptions& options);

// The same for the first of these of which nothing is known.
void require_indexes(shard::Shards& shards, const std::vector<std::string>& tables);

}  // namespace looseleaf::index
