// Purges tombstones. No other code deletes entity rows.
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
  std::optional<shard::StampPlace> next;  // where the next search starts; absent if there are no more
};

// Reads the next `entities` entities of a shard behind a place and returns the tombstones among them whose stamps are
// below `before`. The limit counts entities of any kind, because the search reads each of them and a store has many
// more entities than tombstones.
[[nodiscard]] Tombstones find_tombstones(shard::Shards& shards, std::uint32_t shard, const shard::StampPlace& behind,
                                         base::Stamp before, std::size_t entities);

constexpr std::size_t purge_batch = 200;  // ids

struct Purged {
  std::uint64_t removed = 0;
  bool all_settled = true;  // false: an index row of some tombstone is left
};

// Deletes some tombstones of one shard; `ids` has at most purge_batch ids. A tombstone is deleted only if its stamp is
// below `before` and none of its index rows is left. Each one is checked under its row lock. Thus no put can store the
// entity while its rows are searched, and an entity that was put and deleted again since the search has a recent stamp
// and is kept. Nothing is deleted unless the clock floor has reached `before`. If a checkpoint of the job throws,
// nothing is deleted.
Purged purge(shard::Shards& shards, job::Job& job, std::uint32_t shard, std::span<const Uuid> ids, base::Stamp before);

}  // namespace looseleaf::clean
