// Reading the version of an entity that a write will depend on.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/entity.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <set>
#include <span>
#include <string>

#include "shard/shards.hpp"

namespace looseleaf::update {

// Checks the text of an entity. Throws Error(corrupt).
using TextCheck = std::function<void(const Uuid& id, const std::string& text)>;

// Reads entities with their stamps, in the order of `ids`. Whatever fails is in the results.
void read_versions(shard::Shards& shards, std::span<const Uuid> ids, const TextCheck& check,
                   const std::function<void(GetResult)>& on_result);
[[nodiscard]] GetResult read_version(shard::Shards& shards, const Uuid& id);

// Returns when these versions of entities of one shard are on its server's disk, for a caller that acknowledges them
// without a write of its own. Returns the ids of which there is another version now: another process has changed them,
// or the server has died since they were read, and has forgotten them.
[[nodiscard]] std::set<Uuid> make_durable(shard::Shards& shards, std::uint32_t shard,
                                          const std::map<Uuid, std::string>& stamps);

}  // namespace looseleaf::update
