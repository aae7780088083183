// Drops an index.
#pragma once

#include <looseleaf/jobs.hpp>
#include <string>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::index {

// Stops queries first, then writers. Then it drops the tables, and last it deletes the catalog rows. It may be repeated
// at any point. Throws Error(bad_index) if no such index is known.
DropReport drop_index(shard::Shards& shards, const std::string& table, const DropOptions& options);

// Throws Error(bad_index) for the first of these indexes that is not known.
void require_indexes(shard::Shards& shards, const std::vector<std::string>& tables);

}  // namespace looseleaf::index
