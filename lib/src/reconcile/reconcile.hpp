// Reconcile: make the index rows of given entities exactly the expected ones, under their locks. The only code that
// deletes index rows.
#pragma once

#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "job/job.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

// A difference between the rows that are there and the rows that should be, seen under the entity's lock.
struct Difference {
  FindingKind kind =
      FindingKind::missing;  // missing, stale, misplaced, duplicate, orphan, or unreadable (of the entity)
  std::string table;         // empty with unreadable
  std::uint64_t generation = 0;
  std::uint32_t shard = 0;  // where the row is, or should be
  shard::IndexEntry entry;
  base::Stamp updated = {};  // the entity's stamp then; not compared. Zero for orphans

  [[nodiscard]] auto row() const { return std::tie(kind, table, generation, shard, entry); }
  auto operator<=>(const Difference& other) const { return row() <=> other.row(); }
  bool operator==(const Difference& other) const { return row() == other.row(); }
};

enum class ReconcileMode { examine, repair };

struct ReconcileReport {
  std::vector<Difference> differences;  // found; in mode repair, and mended unless unreadable
  std::vector<Uuid> absent;             // ids without any row, which no lock covers: see sweep_orphans()
};

// Ids of one entity shard, any number, in any order. In mode examine nothing is changed. Replays after transient
// errors until the deadline, then throws. An entity whose body cannot be read is reported and left alone.
ReconcileReport reconcile(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                          ReconcileMode mode, const base::Deadline& deadline);

// For ids whose entities seem not to exist: with their shard's fence held exclusively looks again, and in mode repair
// deletes the index rows of those that really do not, a thousand at a time. Returns the orphans found.
std::vector<Difference> sweep_orphans(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                                      ReconcileMode mode, const base::Deadline& deadline);

// Those of the ids that reconcile may have something to do for, by plain reads that lock nothing. Whatever is passed
// over was right when it was read, or has changed since its entity was.
[[nodiscard]] std::vector<Uuid> suspects(shard::Shards& shards, std::uint32_t entity_shard,
                                         const shard::Catalog& catalog, std::span<const Uuid> ids,
                                         const base::Deadline& deadline);

constexpr std::size_t reconcile_slice = 50;  // ids

// Both of these, for long jobs: a few ids at a time, each few with a whole timeout of their own, and with a checkpoint
// of the job before. The report's `absent` stays empty: orphans are among the differences.
ReconcileReport reconcile_in_slices(shard::Shards& shards, job::Job& job, std::uint32_t entity_shard,
                                    std::span<const Uuid> ids, ReconcileMode mode);

}  // namespace looseleaf::reconcile
