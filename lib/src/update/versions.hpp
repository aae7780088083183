// Reading the version of an entity that a write will depend on.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/entity.hpp>
#include <looseleaf/uuid.hpp>
#include <span>
#include <string>

#include "shard/shards.hpp"

namespace looseleaf::update {

struct Version {
  Uuid id;
  std::string text;
  std::string stamp;
};

// Checks the text of an entity. Throws Error(corrupt).
using TextCheck = std::function<void(const Uuid& id, const std::string& text)>;

// Reads entities with their stamps, in the order of `ids`. Whatever fails is in the results.
void read_versions(shard::Shards& shards, std::span<const Uuid> ids, const TextCheck& check,
                   const std::function<void(GetResult)>& on_result);
[[nodiscard]] GetResult read_version(shard::Shards& shards, const Uuid& id);

// Returns when what was read from a shard is on disk. For a caller that acknowledges it without a write of its own.
void make_durable(shard::Shards& shards, std::uint32_t shard);

}  // namespace looseleaf::update
