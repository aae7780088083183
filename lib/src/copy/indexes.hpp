// Gives the other cluster the indexes of the original.
#pragma once

#include <looseleaf/copy.hpp>

#include "copy/target.hpp"
#include "job/job.hpp"
#include "shard/shards.hpp"

namespace looseleaf::copy {

// Creates, fills and drops indexes in the other cluster until both have the same. Throws Error(busy) if the indexes of
// one of them are being changed, and Error(usage) if the other one has an index that the copier did not create there.
void copy_indexes(shard::Shards& original, Target& target, const CopyOptions& options, JobControl& control,
                  CopyReport& report);

// Fills the indexes of the other cluster that are building, because entities had the same unique values when they were
// created, and have them no more.
void fill_indexes(Target& target, const CopyOptions& options, JobControl& control);

// Throws Error(busy) unless both have the same indexes, in the same states.
void require_same_indexes(shard::Shards& original, shard::Shards& other);

}  // namespace looseleaf::copy
