// Walks all entities and all rows of some indexes together, in order of entity id, from all shards, and names the
// entities whose rows do not look right. Nothing is locked, so on a live store some of them are merely changing.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/catalog.hpp"
#include "store/shards.hpp"

namespace looseleaf::ops {

struct WalkVisitor {
  std::function<void(const Uuid&)> suspect;    // rows differ from what the entity calls for
  std::function<void(Finding)> broken_entity;  // unreadable, wrong_id, wrong_shard
  // Each time that many rows, of whatever table, were seen; may throw to stop.
  std::function<void(std::uint32_t shard, std::uint64_t entities)> progress;
  static constexpr std::uint64_t progress_every = 1000;
};

struct WalkCounts {
  std::uint64_t entities = 0;
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> rows;  // per index and shard
};

WalkCounts walk(store::Shards& shards, const std::vector<store::CatalogIndex>& indexes, const WalkVisitor& visitor);

}  // namespace looseleaf::ops
