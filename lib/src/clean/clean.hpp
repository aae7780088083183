// The continuous repair: it does what puts left, and purges settled tombstones.
#pragma once

#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"

namespace looseleaf::clean {

// See Datastore::clean. Each cluster can have only one cleaner at a time.
CleanReport clean(shard::Shards& shards, const CleanOptions& options, JobControl& control);

}  // namespace looseleaf::clean
