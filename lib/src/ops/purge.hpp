// Purging tombstones: the only code that removes entity rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/stamp.hpp"
#include "store/entity_rows.hpp"
#include "store/shards.hpp"

namespace looseleaf::ops {

struct Tombstones {
  std::vector<Uuid> ids;                  // in the order of their stamps
  std::optional<store::StampPlace> next;  // where to look for more; absent if there are no more
};

// Those among the next entities of a shard behind a place, some thousand, that have stamps below `before`. So it takes
// milliseconds, however large the store is and however few they are.
[[nodiscard]] Tombstones find_tombstones(store::Shards& shards, std::uint32_t shard, const store::StampPlace& behind,
                                         base::Stamp before);

constexpr std::size_t purge_batch = 200;  // ids

// Removes those of some ids of one shard, purge_batch at most, that are tombstones and of which no index row is left,
// each under its row lock: nobody can put the entity while its rows are looked for. `between` is called before each few
// ids; if it throws, nothing is removed. Returns how many were removed.
std::uint64_t purge(store::Shards& shards, std::uint32_t shard, std::span<const Uuid> ids,
                    const std::function<void()>& between);

}  // namespace looseleaf::ops
