// Determines the shard of each entity and index row.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <string_view>

#include "model/value.hpp"

namespace looseleaf::shard {

// Returns the UUID as a 128-bit big-endian integer, modulo the number of shards.
[[nodiscard]] std::uint32_t shard_of(const Uuid& uuid, std::uint32_t shards);
// Returns the Euclidean remainder, which is never negative.
[[nodiscard]] std::uint32_t shard_of(std::int64_t number, std::uint32_t shards);
// Returns the CRC32 of the UTF-8 bytes, modulo the number of shards.
[[nodiscard]] std::uint32_t shard_of(std::string_view text, std::uint32_t shards);
// Returns the shard of a value of a type that `shard_on` accepts: uuid, int or string.
[[nodiscard]] std::uint32_t shard_of(const model::Value& value, std::uint32_t shards);

// Returns the shard of an index row of an entity on `entity_shard`: the shard of its `shard_on` value or, without
// `shard_on`, the entity's shard.
[[nodiscard]] std::uint32_t index_shard(const IndexDefinition& definition, const model::Row& row,
                                        std::uint32_t entity_shard, std::uint32_t shards);

}  // namespace looseleaf::shard
