// The continuous repair: it reconciles the changes since the last pass, and purges settled tombstones.
#pragma once

#include <looseleaf/jobs.hpp>

#include "shard/shards.hpp"

namespace looseleaf::clean {

// See Datastore::clean. Each cluster can have only one cleaner at a time.
CleanReport clean(shard::Shards& shards, const CleanOptions& options, JobControl& control);

}  // namespace looseleaf::clean
