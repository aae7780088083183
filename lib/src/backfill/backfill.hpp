// Filling new indexes from the existing entities while traffic goes on.
#pragma once

#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"

namespace looseleaf::backfill {

// See Datastore::backfill. Throws Error(interrupted) if asked to stop; what was done is kept, and the next run goes on
// from there.
BackfillReport backfill(shard::Shards& shards, const BackfillOptions& options, JobControl& control);

}  // namespace looseleaf::backfill
