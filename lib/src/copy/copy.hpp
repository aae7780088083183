// Makes another cluster hold the same indexes and entities.
#pragma once

#include <looseleaf/copy.hpp>
#include <memory>

#include "copy/target.hpp"
#include "job/job.hpp"
#include "shard/shards.hpp"

namespace looseleaf::copy {

// Throws Error, with a hint that names the cluster file, unless the other cluster is initialised, and Error(usage) if
// it is a store that has moved.
void check_other(shard::Shards& other);
// Throws Error(usage) if this store is itself a copy in progress.
void require_no_copy(shard::Shards& original);
// Claims `other`, and makes its indexes those of the original. Then entities can be written there.
[[nodiscard]] std::unique_ptr<Target> begin(shard::Shards& original, shard::Shards& other, const CopyOptions& options,
                                            JobControl& control, CopyReport& report);
// Copies everything that was committed when this was called.
void catch_up(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report);
// Copies everything that changes until the job is stopped. A failure that passes is told once, and so is its end.
void follow(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report);

// See Datastore::copy_to and Datastore::detach_copy.
CopyReport copy(shard::Shards& original, shard::Shards& other, const CopyOptions& options, JobControl& control);
CopyReport detach(shard::Shards& original, shard::Shards& other, CopyEnd end, const CopyOptions& options,
                  JobControl& control);

}  // namespace looseleaf::copy
