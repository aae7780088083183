// Proving, or disproving with a list, that index tables and entities agree.
#pragma once

#include <functional>
#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::verify {

// See Datastore::verify. A difference seen while walking is only a suspicion: it becomes a finding when it still stands
// under the entity's lock, and, unless it is a missing row, under a second lock after the grace period.
struct VerifyHooks {
  std::function<void()> heartbeat = [] {};  // called every second or so, for whoever holds a lock meanwhile
  bool building_too = false;                // do not refuse an index that is named but still building
  bool wait_for_shards = false;             // for one that is down at the beginning, until the time-out
  const DigestGrid* scanned = nullptr;      // for walk(), of all indexes that are named; null: it reads all bodies
};
VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, JobControl& control,
                    const VerifyHooks& hooks = {});

}  // namespace looseleaf::verify
