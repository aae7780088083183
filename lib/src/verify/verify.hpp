// Proving, or disproving with a list, that index tables and entities agree.
#pragma once

#include <looseleaf/jobs.hpp>

#include "job/job.hpp"
#include "shard/shards.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::verify {

// What a job that verifies as a part of its work wants otherwise than a user does.
struct AsPart {
  bool building_too = false;     // do not refuse an index that is named but still building
  bool wait_for_shards = false;  // for one that is down at the beginning, until the timeout
  const DigestGrid* scanned =
      nullptr;  // for compare_digests(), of all indexes that are named; null: it reads all bodies
};

// See Datastore::verify. A difference seen while comparing is only a suspicion: it becomes a finding when it still
// stands under the entity's lock, and, unless it is a missing row, under a second lock after the grace period.
VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, JobControl& control);
// The same as a part of a job, which holds it back; `options.throttle` does not.
VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, job::Job& job, const AsPart& as_part);

}  // namespace looseleaf::verify
