// What a backfill's scan has read, as digests: so that the proof that no row is missing need not read all bodies again.
#pragma once

#include <atomic>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <span>
#include <vector>

#include "shard/row_digest.hpp"
#include "verify/digest_grid.hpp"

namespace looseleaf::backfill {

// For one scan of all shards from the beginning to the end. What it says is true of the entities as they were read; so
// it takes the place of another reading if all that changed since was reconciled, and no server forgot what it showed.
class ScanRecord {
 public:
  // `grid`: as make_grid() gives it, for so many indexes on so many shards.
  ScanRecord(verify::DigestGrid grid, std::size_t indexes, std::uint32_t shards);

  // An entity that was read, or a tombstone. Returns its place in the grid. Like the next two for any thread.
  std::size_t add_entity(const Uuid& id);
  // A row that it calls for.
  void add_row(std::size_t index, std::uint32_t index_shard, std::size_t place, std::uint64_t mix);
  // An entity was there and could not be read.
  void invalidate() { invalid_ = true; }

  // Entities that were written since the scan began; some may not have been there to be read.
  void add_changed(std::span<const Uuid> ids);

  [[nodiscard]] const verify::DigestGrid& grid() const { return grid_; }

  // `present`: how many rows of entities there were in each range of the grid when the scan had ended, before the last
  // of add_changed() was asked for. False if the scan has passed any of them over, or if another reading comes
  // cheaper: when so much changed that most cells would have to be looked at again.
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
