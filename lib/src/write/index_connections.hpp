// Connects to the servers of the index shards that a batch needs.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/deadline.hpp"
#include "shard/shards.hpp"
#include "sql/errors.hpp"

namespace looseleaf::write {

// The shards that cannot be used, and why.
using ShardsDown = std::map<std::uint32_t, sql::ServerError>;

enum class Wait { no, yes };

// Connects to the servers of these shards, and returns those that cannot be used. With Wait::yes, it first waits for
// each server alone, as long as it makes sense: nobody may wait for one that does not answer while holding sessions on
// others.
[[nodiscard]] ShardsDown connect_index_shards(shard::Shards& shards, const std::set<std::uint32_t>& needed,
                                              shard::ServerLeases& leases, const base::Deadline& deadline, Wait wait);

}  // namespace looseleaf::write
