// Stores digests of everything that a backfill's scan has read. With them, the proof that no row is missing need not
// read all bodies again.
#pragma once

#include <atomic>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <span>
#include <vector>

#include "shard/row_digest.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::backfill {

// Covers one scan of all shards from beginning to end. The record is true of the entities as they were when they were
// read. It can replace another scan if every later change was reconciled and no server lost data that the scan saw.
class ScanRecord {
 public:
  // `grid` comes from make_grid() for `indexes` indexes on `shards` shards.
  ScanRecord(verify::DigestGrid grid, std::size_t indexes, std::uint32_t shards);

  // Records an entity, or a tombstone, that was read. Returns its place in the grid. Any thread may call this,
  // add_row() and invalidate().
  std::size_t add_entity(const Uuid& id);
  // Records a row that the entity at `place` calls for.
  void add_row(std::size_t index, std::uint32_t index_shard, std::size_t place, std::uint64_t mix);
  // Records that an entity was there and could not be read.
  void invalidate() { invalid_ = true; }

  // Records entities that were written since the scan began. The scan may have missed some, which did not exist yet.
  void add_changed(std::span<const Uuid> ids);

  [[nodiscard]] const verify::DigestGrid& grid() const { return grid_; }

  // `present` is the number of entity rows in each range of the grid after the scan had ended and before the list for
  // the last add_changed() was requested. Returns false if the scan missed any of them, or if a rescan is cheaper
  // because so much changed that most cells would need to be compared again.
  [[nodiscard]] bool can_replace_rescan(std::span<const std::uint64_t> present) const;

 private:
  [[nodiscard]] bool is_complete(std::span<const std::uint64_t> present) const;
  [[nodiscard]] bool is_cheaper() const;

  verify::DigestGrid grid_;
  const std::size_t tables_;
  const std::uint32_t shards_;
  std::vector<std::atomic<std::uint64_t>> read_;  // by range
  std::vector<std::uint64_t> changed_;            // by range
  std::atomic<bool> invalid_ = false;
};

}  // namespace looseleaf::backfill
