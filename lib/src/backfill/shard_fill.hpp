// The scan of one entity shard for the indexes that a backfill fills.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backfill/scan_record.hpp"
#include "base/stamp.hpp"
#include "job/job.hpp"
#include "job/jobs.hpp"
#include "model/stored_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placed_rows.hpp"
#include "shard/row_digest.hpp"

namespace looseleaf::backfill {

// One index being filled.
struct FillTarget {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  std::uint64_t token = 0;  // of this run, as in its rows of the progress table
};

// Reads entities newest first, gathers the rows they call for, and inserts these in the order of their tables, which
// costs a server half of what they cost in the order of entities. That takes some transactions; the last one of them
// stores a cursor for each index, from which a later scan goes on. `targets` and `job` are the backfill's and outlive
// the scan.
class ShardFill {
 public:
  // Names this process as the holder and takes the barrier, or goes on from what an earlier run left (`restart`: does
  // not). From then on no earlier run can move a cursor.
  ShardFill(shard::Shards& shards, std::uint32_t shard, const std::vector<FillTarget>& targets, job::Job& job,
            bool restart);

  // Will it read every entity for every index, since no earlier run has done any?
  [[nodiscard]] bool begins() const { return begins_; }

  // Scans to the end, and puts what it reads on `record`, if there is one. Returns how many index rows were sent. What
  // is gathered when it throws is lost, and read again by the next scan.
  std::uint64_t run(ScanRecord* record);

  // Says every few seconds, to whoever wonders while this run waits, that it is alive.
  void touch();

  // What was put before this was seen, or will be seen, by the scan; the earliest one of all its indexes.
  [[nodiscard]] base::Stamp barrier() const;
  // Entities read in this run.
  [[nodiscard]] std::uint64_t entities() const { return entities_; }

 private:
  // A cursor counts only for the generation it was stored for.
  [[nodiscard]] bool resumes(std::size_t i) const;
  [[nodiscard]] std::vector<shard::EntityBody> read_chunk(std::size_t chunk);
  void wait(std::size_t chunk);
  [[nodiscard]] job::JobRow start_anew(const base::Deadline& deadline);
  // Indexes may have come to different positions in earlier runs: the scan starts at the highest.
  [[nodiscard]] std::uint64_t position() const;
  void gather(shard::EntityBody& entity);
  // Inserts what was gathered, and moves the cursors when all of it is in.
  void store_gathered();
  // What one transaction inserts: on each index shard some rows of some indexes, in order.
  using Slice = std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::span<const shard::IndexEntry>>>>;
  [[nodiscard]] std::vector<Slice> sorted_slices();
  [[nodiscard]] std::vector<job::JobRow> moved_cursors() const;
  void store_slice(const Slice& slice, const std::vector<job::JobRow>& cursors);
  // Under the shared fence. Returns in whose way another row stands.
  std::set<Uuid> transact(const Slice& slice, const std::vector<job::JobRow>& cursors, const base::Deadline& deadline);
  void lock_fence(sql::Connection& connection);
  void advance(sql::Connection& connection, const std::vector<job::JobRow>& cursors) const;
  std::set<Uuid> insert(const std::map<std::uint32_t, shard::Lease>& leases, const Slice& slice);
  // Returns in whose way another row stands.
  [[nodiscard]] std::set<Uuid> insert_rows(sql::Connection& connection, std::uint32_t to,
                                           const IndexDefinition& definition,
                                           std::span<const shard::IndexEntry> entries) const;
  void check_generations(sql::Connection& connection, const shard::Fence& fence);
  std::optional<model::StoredEntity> read(shard::EntityBody& entity);
  void adapt(std::chrono::steady_clock::duration took);

  shard::Shards& shards_;
  const std::uint32_t shard_;
  const std::vector<FillTarget>& targets_;
  job::Job& job_;
  std::chrono::steady_clock::time_point touched_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point stored_ = touched_;  // when what was gathered was inserted
  std::vector<job::JobRow> rows_;                            // one for each target, as stored
  std::uint64_t epoch_ = 0;                                  // of the catalog that was last checked
  std::size_t chunk_ = 500;                                  // entities
  std::uint64_t entities_ = 0, sent_ = 0;
  bool begins_ = true;
  ScanRecord* record_ = nullptr;
  shard::RowMixer mixer_;
  struct Gathered {
    shard::RowsByShard rows;
    std::size_t bytes = 0;  // of memory
    std::uint64_t entities = 0;
    std::uint64_t added_id = 0;  // of the last of them
  };
  Gathered gathered_;   // and not stored yet
  std::size_t enough_;  // bytes, to be stored
};

}  // namespace looseleaf::backfill
