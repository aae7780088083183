// Buffered writes that cannot be stored.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/buffer.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <set>
#include <vector>

#include "shard/shards.hpp"

namespace looseleaf::flush {

// See Datastore.
void list_refused(shard::Shards& shards, const std::function<bool(const RefusedWrite&)>& on_write);
// If `ids` is absent: all of them. Both return the number of writes. `unknown`, if there is one, gets the ids
// that no refused write has.
std::uint64_t retry_refused(shard::Shards& shards, const std::optional<std::set<Uuid>>& ids,
                            std::vector<Uuid>* unknown);
std::uint64_t drop_refused(shard::Shards& shards, const std::optional<std::set<Uuid>>& ids, std::vector<Uuid>* unknown);

}  // namespace looseleaf::flush
