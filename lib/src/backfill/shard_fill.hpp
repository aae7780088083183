// The scan of one entity shard for the indexes that a backfill fills.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backfill/scan_record.hpp"
#include "backfill/targets.hpp"
#include "base/stamp.hpp"
#include "job/job.hpp"
#include "job/jobs.hpp"
#include "model/parsed_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placed_rows.hpp"
#include "shard/row_digest.hpp"

namespace looseleaf::backfill {

// Reads the newest entities first, gathers the rows they call for, and inserts these rows in the order of their tables,
// which costs a server half as much as the order of entities. The inserts need several transactions. The last one
// stores a cursor for each index, and a later scan resumes from these cursors. `targets` and `job` belong to the
// backfill and outlive the scan.
class ShardFill {
 public:
  // Registers this process as the holder and takes the barrier, or resumes from the cursors of an earlier run unless
  // `restart` is true. From then on no earlier run can move a cursor.
  ShardFill(shard::Shards& shards, std::uint32_t shard, const std::vector<FillTarget>& targets, job::Job& job,
            bool restart);

  // Returns true if this scan reads every entity for every index because no earlier run has processed any.
  [[nodiscard]] bool begins() const { return begins_; }

  // Tells the job how many entities there are about, and how many of them earlier runs have read.
  void expect();

  // Scans to the end and adds everything it reads to `record`, unless that is null. Returns the number of index rows
  // sent, without those in conflict. If it throws, the gathered rows are lost, and the next scan reads their entities
  // again.
  std::uint64_t run(ScanRecord* record);

  // Updates the heartbeat and the progress in the table every few seconds, for the phases in which no cursor moves.
  void touch();

  // The scan has seen, or will see, every entity that was put before this stamp. It is the earliest barrier of all
  // indexes.
  [[nodiscard]] base::Stamp barrier() const;
  // Returns what was read for a target, in this run and those that it continues.
  [[nodiscard]] const IndexingCounts& counts(std::size_t target) const { return counts_[target]; }
  // Returns the number of entities read in this run, including tombstones.
  [[nodiscard]] std::uint64_t entities() const { return entities_; }
  [[nodiscard]] std::uint64_t deleted() const { return deleted_; }

 private:
  // A cursor is valid only for the generation it was stored for.
  [[nodiscard]] bool resumes(std::size_t i) const;
  void store_progress();
  // Shows in these rows how far the job is; `scanned` is the number of entities that all runs have read.
  void show_progress(std::vector<job::JobRow>& rows, std::uint64_t scanned) const;
  [[nodiscard]] std::vector<shard::EntityRow> read_chunk(std::size_t chunk);
  void wait(std::size_t chunk);
  [[nodiscard]] job::JobRow start_anew(const base::Deadline& deadline);
  // Earlier runs may have left the indexes at different positions. The scan starts at the highest one.
  [[nodiscard]] std::uint64_t position() const;
  void gather(shard::EntityRow& entity);
  // Inserts the gathered rows, and moves the cursors once all of them are inserted.
  void store_gathered();
  void warn_of_conflict(const reconcile::Difference& conflict) const;
  // The rows that one transaction inserts: on each index shard some rows of some indexes, in order.
  using Slice = std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::span<const shard::IndexEntry>>>>;
  [[nodiscard]] std::vector<Slice> sorted_slices();
  [[nodiscard]] std::vector<job::JobRow> moved_cursors() const;
  void store_slice(const Slice& slice, const std::vector<job::JobRow>& cursors);
  [[nodiscard]] bool holds(const Slice& slice, const reconcile::Difference& difference) const;
  [[nodiscard]] static std::set<std::uint32_t> shards_of(const Slice& slice);
  // Runs under the shared fence. Returns the ids of entities whose rows conflict with another row.
  std::set<Uuid> transact(const Slice& slice, const std::vector<job::JobRow>& cursors, const base::Deadline& deadline);
  void lock_fence(const sql::Database& database);
  void advance(const sql::Database& database, const std::vector<job::JobRow>& cursors) const;
  std::set<Uuid> insert(const shard::ServerLeases& leases, const Slice& slice);
  // Returns the ids of entities whose rows conflict with another row.
  [[nodiscard]] std::set<Uuid> insert_rows(const sql::Database& database, std::uint32_t to, std::size_t index,
                                           std::span<const shard::IndexEntry> entries) const;
  void check_generations(const sql::Database& database, const shard::Fence& fence);
  std::optional<model::ParsedEntity> read(shard::EntityRow& entity);

  shard::Shards& shards_;
  const std::uint32_t shard_;
  const std::vector<FillTarget>& targets_;
  job::Job& job_;
  std::chrono::steady_clock::time_point touched_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point stored_ = touched_;  // when gathered rows were last inserted
  std::vector<job::JobRow> rows_;                            // one for each target, as stored
  std::vector<IndexingCounts> counts_;                       // likewise
  std::uint64_t epoch_ = 0;                                  // epoch of the catalog that was last checked
  std::size_t chunk_ = 500;                                  // entities
  std::uint64_t expected_ = 0;                               // entities on the shard, about
  std::uint64_t scanned_ = 0;                                // of these, those that all runs have read and stored
  std::uint64_t entities_ = 0, deleted_ = 0, sent_ = 0;
  bool begins_ = true;
  bool ended_ = false;  // the scan
  ScanRecord* record_ = nullptr;
  shard::RowMixer mixer_;
  struct Gathered {
    shard::RowsByShard rows;
    std::size_t bytes = 0;  // of memory
    std::uint64_t entities = 0;
    std::uint64_t added_id = 0;          // of the last of these entities
    std::vector<IndexingCounts> counts;  // for each target
  };
  Gathered gathered_;   // not stored yet
  std::size_t enough_;  // bytes at which gathered rows are stored
};

}  // namespace looseleaf::backfill
