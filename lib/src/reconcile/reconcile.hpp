// Reconcile makes the index rows of given entities exactly the expected ones while it holds the entities' locks. Only
// this folder deletes index rows.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "job/job.hpp"
#include "reconcile/difference.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

struct ReconcileReport {
  std::vector<Difference> differences;  // the differences found; mode repair repairs all but unreadable and conflict
  std::vector<Uuid> absent;             // ids that have no row in `entities`, so nothing was locked; see sweep.hpp
};

// Reconciles any number of ids of one entity shard, in any order. In mode examine it changes nothing. It retries after
// transient errors until the deadline, then throws. If an entity's body cannot be read, it reports the entity and does
// not touch its rows. If another entity's row in a unique index is in the way, mode repair makes that entity's rows
// right, too. A row that both entities call for is reported as a conflict.
ReconcileReport reconcile(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                          ReconcileMode mode, const base::Deadline& deadline, const Selection& only = {});

// Reconciles and sweeps ids of one entity shard, in mode repair.
ReconcileReport make_right(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                           const base::Deadline& deadline, const Selection& only = {});

// Deletes rows of unique indexes whose holders do not call for them, see look_at_holders(), so that others can have the
// values. It does not look at what is in the way of the holders' own rows. Only the servers of the holders and of these
// rows must answer.
void clear_values(shard::Shards& shards, std::span<const shard::BlockedRow> free, const base::Deadline& deadline,
                  Selection only = {});

constexpr std::size_t reconcile_slice = 50;  // ids

// Whether the throttles of the job hold a reconcile back. They do not if the caller has paced these entities.
enum class Pace { by_job, done };

// Runs reconcile() and sweep_orphans() for long jobs: a few ids at a time, each slice after a checkpoint of the job and
// with a new timeout. The report's `absent` is empty, because orphans are among the differences.
ReconcileReport reconcile_in_slices(shard::Shards& shards, job::Job& job, std::uint32_t entity_shard,
                                    std::span<const Uuid> ids, ReconcileMode mode, Pace pace,
                                    const Selection& only = {});

}  // namespace looseleaf::reconcile
