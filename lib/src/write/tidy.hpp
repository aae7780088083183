// Deletes the index rows that a put made superfluous, or that are in its way.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Deletes the index rows that only the old bodies of committed items call for, and the items' cleanup records. Items
// for which this does not work are marked for reconcile_touched(). `catalog` is that of the batch, and `epochs` has its
// epoch on each entity shard.
void delete_old_rows(shard::Shards& shards, const shard::Catalog& catalog,
                     const std::map<std::uint32_t, std::uint64_t>& epochs, const Items& items,
                     const base::Deadline& deadline);

// put.reconcile: reconciles the items that are marked for it, and deletes their cleanup records, unless a server does
// not answer at once. A failure here does not change the outcomes: stored entities stay stored, a warning is given, and
// `clean --full` makes the same repairs later.
void reconcile_touched(shard::Shards& shards, const Items& items, const base::Deadline& deadline);

// Deletes conflicting rows that crashed puts left on these shards, which only reconcile may do. An item that reconcile
// cannot help fails, but the rest of the batch is still stored.
void clear_the_way(shard::Shards& shards, const Items& blocked, const std::set<std::uint32_t>& on,
                   const base::Deadline& deadline);

}  // namespace looseleaf::write
