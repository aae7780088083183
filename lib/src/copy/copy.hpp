// Makes another cluster hold the same indexes and entities.
#pragma once

#include <looseleaf/copy.hpp>

#include "shard/shards.hpp"

namespace looseleaf::copy {

// See Datastore::copy_to and Datastore::detach_copy.
CopyReport copy(shard::Shards& original, shard::Shards& other, const CopyOptions& options, JobControl& control);
CopyReport detach(shard::Shards& original, shard::Shards& other, CopyEnd end, const CopyOptions& options,
                  JobControl& control);

}  // namespace looseleaf::copy
