// Proves that index tables and entities agree, or lists the differences.
#pragma once

#include <looseleaf/jobs.hpp>

#include "job/job.hpp"
#include "shard/shards.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::verify {

// Options for a job that verifies as a part of its work. Users cannot set them.
struct AsPart {
  bool building_too = false;     // accept a named index that is still building
  bool wait_for_shards = false;  // wait until the timeout for a shard that is down at the beginning
  // For compare_digests(): a grid of all named indexes. If it is null, the comparison reads all bodies.
  const DigestGrid* scanned = nullptr;
};

// See Datastore::verify. A difference seen by the comparison is only a suspicion. It becomes a finding if it is still
// there under the entity's lock and, unless it is a missing row, under a second lock after the grace period.
VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, JobControl& control);
// Verifies as a part of `job`, which limits the pace; `options.throttle` has no effect.
VerifyReport verify(shard::Shards& shards, const VerifyOptions& options, job::Job& job, const AsPart& as_part);

}  // namespace looseleaf::verify
