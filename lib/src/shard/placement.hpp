// Which shard holds what.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <string_view>

#include "model/value.hpp"

namespace looseleaf::shard {

// The UUID as a 128-bit big-endian integer, modulo the number of shards.
[[nodiscard]] std::uint32_t shard_of(const Uuid& uuid, std::uint32_t shards);
// The Euclidean remainder: never negative.
[[nodiscard]] std::uint32_t shard_of(std::int64_t number, std::uint32_t shards);
// CRC32 of the UTF-8 bytes, modulo the number of shards.
[[nodiscard]] std::uint32_t shard_of(std::string_view text, std::uint32_t shards);
// Of a value whose type can be sharded on: uuid, int or string.
[[nodiscard]] std::uint32_t shard_of(const model::Value& value, std::uint32_t shards);

// Where an index row of an entity on `entity_shard` lives: by its `shard_on` value, or beside its entity.
[[nodiscard]] std::uint32_t index_shard(const IndexDefinition& definition, const model::Row& row,
                                        std::uint32_t entity_shard, std::uint32_t shards);

}  // namespace looseleaf::shard
