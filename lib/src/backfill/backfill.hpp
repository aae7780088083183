// Fills new indexes from the existing entities while traffic continues.
#pragma once

#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"

namespace looseleaf::backfill {

// See Datastore::backfill. Throws Error(interrupted) if the caller asks it to stop. Completed work is kept, and the
// next run resumes from there.
BackfillReport backfill(shard::Shards& shards, const BackfillOptions& options, JobControl& control);

}  // namespace looseleaf::backfill
