// Placement functions; docs/format.md has worked examples.
#include "shard/placement.hpp"

#include "codec/crc32.hpp"

namespace looseleaf::shard {

std::uint32_t shard_of(const Uuid& uuid, std::uint32_t shards) {
  std::uint64_t remainder = 0;
  for (std::size_t i = 0; i < uuid.bytes.size(); i += 4) {
    for (std::size_t byte = i; byte < i + 4; ++byte) {
      remainder = remainder << 8 | uuid.bytes[byte];
    }
    remainder %= shards;  // below 2^32, so that another 32 bits fit
  }
  return static_cast<std::uint32_t>(remainder);
}

std::uint32_t shard_of(std::int64_t number, std::uint32_t shards) {
  const std::int64_t n = shards;
  return static_cast<std::uint32_t>((number % n + n) % n);
}

std::uint32_t shard_of(std::string_view text, std::uint32_t shards) {
  return codec::crc32(text) % shards;
}

std::uint32_t shard_of(const model::Value& value, std::uint32_t shards) {
  if (const auto* uuid = std::get_if<Uuid>(&value)) {
    return shard_of(*uuid, shards);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return shard_of(*number, shards);
  }
  return shard_of(std::string_view(std::get<std::string>(value)), shards);
}

std::uint32_t index_shard(const IndexDefinition& definition, const model::Row& row, std::uint32_t entity_shard,
                          std::uint32_t shards) {
  return definition.shard_on ? shard_of(row.at(*definition.shard_on), shards) : entity_shard;
}

}  // namespace looseleaf::shard
