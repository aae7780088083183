// Reconcile makes the index rows of given entities exactly the expected ones while it holds the entities' locks. Only
// this code deletes index rows.
#pragma once

#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "job/job.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

// A difference between the existing rows and the expected rows, seen under the entity's lock.
struct Difference {
  // missing, conflict, stale, misplaced, duplicate, orphan, or, about the entity, unreadable
  FindingKind kind = FindingKind::missing;
  std::string table;  // empty with unreadable
  std::uint64_t generation = 0;
  std::uint32_t shard = 0;  // the shard where the row is or should be
  shard::IndexEntry entry;
  base::Stamp updated = {};         // the entity's stamp at that time; not compared; zero for orphans
  std::optional<Uuid> holder = {};  // with conflict: the entity whose row is there instead; not compared

  [[nodiscard]] auto row() const { return std::tie(kind, table, generation, shard, entry); }
  auto operator<=>(const Difference& other) const { return row() <=> other.row(); }
  bool operator==(const Difference& other) const { return row() == other.row(); }
};

enum class ReconcileMode { examine, repair };

// The tables and generations of the indexes to reconcile; without a value, all of the catalog. The tables of other
// indexes are not touched, so they may be damaged.
using Selection = std::optional<std::set<std::pair<std::string, std::uint64_t>>>;

struct ReconcileReport {
  std::vector<Difference> differences;  // the differences found; mode repair repairs all but unreadable and conflict
  std::vector<Uuid> absent;  // ids that have no row in `entities`, so nothing was locked; see sweep_orphans()
};

// Reconciles any number of ids of one entity shard, in any order. In mode examine it changes nothing. It retries after
// transient errors until the deadline, then throws. If an entity's body cannot be read, it reports the entity and does
// not touch its rows. If another entity's row in a unique index is in the way, mode repair makes that entity's rows
// right, too. A row that both entities call for is reported as a conflict.
ReconcileReport reconcile(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                          ReconcileMode mode, const base::Deadline& deadline, const Selection& only = {});

// Checks ids that seem to have no entity. With the exclusive fence of their shard it reads them again. In mode repair
// it deletes the index rows of those that have none, a thousand at a time. Returns the orphans found.
std::vector<Difference> sweep_orphans(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                                      ReconcileMode mode, const base::Deadline& deadline, const Selection& only = {});

// Reconciles and sweeps ids of one entity shard, in mode repair.
ReconcileReport make_right(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                           const base::Deadline& deadline);

constexpr std::size_t reconcile_slice = 50;  // ids

// Runs reconcile() and sweep_orphans() for long jobs: a few ids at a time, each slice after a checkpoint of the job and
// with a new timeout. The report's `absent` is empty, because orphans are among the differences.
ReconcileReport reconcile_in_slices(shard::Shards& shards, job::Job& job, std::uint32_t entity_shard,
                                    std::span<const Uuid> ids, ReconcileMode mode, const Selection& only = {});

}  // namespace looseleaf::reconcile
