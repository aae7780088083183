// The indexes that one backfill fills: which of those that were asked for can be filled, and its locks on them.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <vector>

#include "job/job.hpp"
#include "reconcile/difference.hpp"
#include "shard/shards.hpp"

namespace looseleaf::backfill {

// One index that is being filled.
struct FillTarget {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  std::uint64_t token = 0;  // token of this run, as in its rows of the progress table
};

// What a backfill may repair. Other indexes may be damaged, or be many.
[[nodiscard]] reconcile::Selection selection_of(const std::vector<FillTarget>& targets);

// Returns the building indexes among `options.tables`, or among all indexes if none is named, and takes their locks for
// `job`. Adds to `report` what needs no filling (only if named) and what cannot be filled. Throws Error(bad_index) if
// the latter was named.
std::vector<FillTarget> find_targets(shard::Shards& shards, const BackfillOptions& options, job::Job& job,
                                     BackfillReport& report);

// Throws Error(corrupt) if a table of the targets, or one of Looseleaf's own, is not as it should be. The proof at the
// end would find that, too, but only when everything was scanned.
void check_tables(shard::Shards& shards, const std::vector<FillTarget>& targets, job::Job& job);

}  // namespace looseleaf::backfill
