// The continuous repair: reconcile what changed since the last pass, and purge settled tombstones.
#pragma once

#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"

namespace looseleaf::clean {

// See Datastore::clean. One cleaner at a time for each cluster.
CleanReport clean(shard::Shards& shards, const CleanOptions& options, JobControl& control);

}  // namespace looseleaf::clean
