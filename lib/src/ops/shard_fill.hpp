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
#include <vector>

#include "base/stamp.hpp"
#include "model/stored_entity.hpp"
#include "ops/rows.hpp"
#include "ops/throttling.hpp"
#include "store/entity_rows.hpp"
#include "store/fence.hpp"
#include "store/jobs.hpp"

namespace looseleaf::ops {

// One index being filled.
struct FillTarget {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  std::unique_ptr<store::JobLock> lock;
};

// Throws Error(interrupted) if the job was asked to stop.
void stop_if_asked(const JobControl& control);

// Reads entities newest first and inserts the rows they call for, in transactions that also store a cursor for each
// index: a later run goes on from there. `targets` and `throttling` are the backfill's and outlive the scan.
class ShardFill {
 public:
  // Names this process as the holder and takes the barrier, or goes on from what an earlier run left (`restart`: does
  // not). From then on no earlier run can move a cursor.
  ShardFill(store::Shards& shards, std::uint32_t shard, const std::vector<FillTarget>& targets, Throttling& throttling,
            bool restart);

  // Scans to the end. Returns how many index rows were sent.
  std::uint64_t run(JobControl& control, const std::function<void(const Progress&)>& report);

  // What was put before this was seen, or will be seen, by the scan; the earliest one of all its indexes.
  [[nodiscard]] base::Stamp barrier() const;
  // Entities read in this run.
  [[nodiscard]] std::uint64_t entities() const { return entities_; }

 private:
  // A cursor counts only for the generation it was stored for.
  [[nodiscard]] bool resumes(std::size_t i) const;
  [[nodiscard]] std::vector<store::EntityRow> read_chunk(std::size_t chunk);
  // For whoever wonders whether this run is alive while it waits.
  void touch();
  [[nodiscard]] store::JobRow start_anew(const base::Deadline& deadline);
  // Indexes may have come to different positions in earlier runs: the scan starts at the highest.
  [[nodiscard]] std::uint64_t position() const;
  // Inserts the rows of one chunk and moves the cursors, in transactions of bounded size.
  std::uint64_t store_chunk(const std::vector<store::EntityRow>& entities);
  std::uint64_t add_expected(const store::EntityRow& entity, RowsByShard& rows);
  // Down to and including the entity `added_id`.
  void store_rows(RowsByShard& rows, std::uint64_t added_id, std::uint64_t entities);
  // Under the shared fence.
  std::set<Uuid> transact(const std::vector<store::JobRow>& moved, const RowsByShard& rows,
                          const base::Deadline& deadline);
  void lock_fence(sql::Connection& connection);
  void advance(sql::Connection& connection, const std::vector<store::JobRow>& moved) const;
  std::set<Uuid> insert(const std::map<std::uint32_t, store::Lease>& leases, const RowsByShard& rows);
  void check_generations(sql::Connection& connection, const store::Fence& fence);
  std::optional<model::StoredEntity> read(const store::EntityRow& entity);
  void adapt(std::chrono::steady_clock::duration took);

  store::Shards& shards_;
  const std::uint32_t shard_;
  const std::vector<FillTarget>& targets_;
  Throttling& throttling_;
  std::chrono::steady_clock::time_point touched_ = std::chrono::steady_clock::now();
  std::vector<store::JobRow> rows_;  // one for each target, as stored
  std::uint64_t epoch_ = 0;          // of the catalog that was last checked
  std::size_t chunk_ = 500;          // entities
  std::uint64_t entities_ = 0;
};

}  // namespace looseleaf::ops
