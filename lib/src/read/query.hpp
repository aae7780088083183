// Queries by index.
#pragma once

#include <functional>
#include <looseleaf/entity.hpp>
#include <looseleaf/query.hpp>

#include "shard/shards.hpp"

namespace looseleaf::read {

// See Datastore::query. Throws Error(usage) for conditions that the index cannot use, and Error(bad_index) if the index
// is unknown, is building, or is dropped during the query.
QueryReport query(shard::Shards& shards, const Query& query, const std::function<bool(const Entity&)>& on_entity);

}  // namespace looseleaf::read
