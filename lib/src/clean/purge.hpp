// Purging tombstones: the only code that removes entity rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/stamp.hpp"
#include "job/job.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

struct Tombstones {
  std::vector<Uuid> ids;                  // in the order of their stamps
  std::optional<shard::StampPlace> next;  // where to look for more; absent if there are no more
};

// Those among the next `entities` of a shard behind a place that have stamps below `before`. Of any kind: to find
// tombstones each is looked at, and a store has many more entities than it has those.
[[nodiscard]] Tombstones find_tombstones(shard::Shards& shards, std::uint32_t shard, const shard::StampPlace& behind,
                                         base::Stamp before, std::size_t entities);

constexpr std::size_t purge_batch = 200;  // ids

struct Purged {
  std::uint64_t removed = 0;
  bool all_settled = true;  // false: of some an index row is left
};

// Removes those of some ids of one shard, purge_batch at most, that are tombstones with stamps below `before` and of
// which no index row is left, each under its row lock: nobody can put the entity while its rows are looked for, and
// one that was put and deleted since it was found is not old. If a checkpoint of the job throws, nothing
// is removed.
Purged purge(shard::Shards& shards, job::Job& job, std::uint32_t shard, std::span<const Uuid> ids, base::Stamp before);

}  // namespace looseleaf::clean
