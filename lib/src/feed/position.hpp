// How far a reader of the feed has come, on each shard.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "shard/entity_rows.hpp"

namespace looseleaf::feed {

// How far a reader has come on one shard. Every version of an entity up to `place` was delivered, or a later one.
struct ShardPosition {
  shard::StampPlace place;

  // The last row of the shard, in the order of places, once the last page had been read. A shard that has lost nothing
  // since has it with this stamp or a later one, unless it was purged.
  struct Witness {
    Uuid id;
    base::Stamp stamp;

    bool operator==(const Witness&) const = default;
  };
  std::optional<Witness> witness = {};

  // While a reader begins with all entities: those that were there at `place`, a barrier, and whose added_id is in
  // (done, until] are not delivered yet.
  struct Scan {
    std::uint64_t done = 0, until = 0;

    bool operator==(const Scan&) const = default;
  };
  std::optional<Scan> scan = {};

  bool operator==(const ShardPosition&) const = default;
};

using Positions = std::map<std::uint32_t, ShardPosition>;  // by shard

// A position on every shard. It is absent for a shard from which nothing was read yet: the reader begins there with all
// entities.
struct Position {
  Uuid cluster_id;
  std::vector<std::optional<ShardPosition>> shards;
};

// An opaque text. It grows with the number of shards: about 55 bytes for each, and 76 during a scan.
[[nodiscard]] std::string to_text(const Position& position);
// Throws Error(bad_position) if to_text() did not return it, or if it is one of another cluster or number of shards.
[[nodiscard]] Position parse_position(const std::string& text, const Uuid& cluster_id, std::uint32_t shards);

}  // namespace looseleaf::feed
