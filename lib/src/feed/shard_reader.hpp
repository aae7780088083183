// Reads the feed of one shard, in pages: docs/protocol.md, "The feed".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "feed/position.hpp"
#include "shard/shards.hpp"

namespace looseleaf::feed {

// Takes a barrier, and returns the position from which everything is delivered that is committed after it; with `scan`
// also everything that was committed before.
[[nodiscard]] ShardPosition begin(shard::Shards& shards, std::uint32_t shard, bool scan);

// What shards say of positions.
struct News {
  std::vector<std::uint32_t> changed;   // something was committed after the position
  std::vector<std::uint32_t> finished;  // nothing was, and nothing will be, because the store has moved
};
// Asks these shards, which are on one server. Throws Error(bad_position) if a shard has lost something that was
// delivered, or has purged something that was not.
[[nodiscard]] News find_news(shard::Shards& shards, std::span<const std::uint32_t> group, const Positions& positions);

// Rows of `entities`, with their bodies, in the order of the feed.
struct Page {
  std::vector<shard::EntityRow> rows;  // tombstones included, unless it is a page of a scan
  ShardPosition end;                   // the position once these rows are delivered
  bool more = false;                   // false: the next page would be empty
};

// Whether the reader wants the deletes since its scan began: then it is of no use to go on once they are purged.
enum class Deletes { needed, not_needed };
// Reads the next page of a scan, or the next page of changes whose stamps are below `until`, a barrier. Both throw
// Error(bad_position) like find_news().
[[nodiscard]] Page read_scan(shard::Shards& shards, std::uint32_t shard, const ShardPosition& from, Deletes deletes);
[[nodiscard]] Page read_changes(shard::Shards& shards, std::uint32_t shard, const ShardPosition& from,
                                base::Stamp until);

// Returns `from` moved behind a row of the page that was read from there, and that ends at `end`.
[[nodiscard]] ShardPosition position_after(const shard::EntityRow& row, const ShardPosition& from,
                                           const ShardPosition& end);

}  // namespace looseleaf::feed
