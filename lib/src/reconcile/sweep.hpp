// The sweep deletes index rows of ids that have no entity, while it holds their shard's fence exclusively, because
// there is no entity to lock.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/uuid.hpp>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "reconcile/difference.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

// Checks ids that seem to have no entity. With the exclusive fence of their shard it reads them again. In mode repair
// it deletes the index rows of those that have none, a thousand at a time, and calls `between` before it goes on; each
// later round has a new timeout. Returns the orphans found.
std::vector<Difference> sweep_orphans(
    shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids, ReconcileMode mode,
    const base::Deadline& deadline, const Selection& only = {}, const std::function<void()>& between = [] {});

}  // namespace looseleaf::reconcile
