// Stores digests of the entities that a scan read, and decides whether they can replace another scan.
#include "backfill/scan_record.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace looseleaf::backfill {

ScanRecord::ScanRecord(verify::DigestGrid grid, std::size_t indexes, std::uint32_t shards)
    : grid_(std::move(grid)),
      tables_(indexes * shards),
      shards_(shards),
      read_(grid_.ranges()),
      changed_(grid_.ranges()) {}

std::size_t ScanRecord::add_entity(const Uuid& id) {
  read_[grid_.range_of(id)].fetch_add(1, std::memory_order_relaxed);
  return grid_.place_of(id);
}

void ScanRecord::add_row(std::size_t index, std::uint32_t index_shard, std::size_t place, std::uint64_t mix) {
  grid_.add(verify::table_number(index, index_shard, shards_), place, mix);
}

void ScanRecord::add_changed(std::span<const Uuid> ids) {
  for (const Uuid& id : ids) {
    ++changed_[grid_.range_of(id)];
  }
}

bool ScanRecord::can_replace_rescan(std::span<const std::uint64_t> present) const {
  return !invalid_ && is_complete(present) && is_cheaper();
}

// The scan is complete if every entity that it did not read was inserted after it began.
bool ScanRecord::is_complete(std::span<const std::uint64_t> present) const {
  for (std::size_t range = 0; range < present.size(); ++range) {
    if (present[range] > read_[range] + changed_[range]) {
      return false;
    }
  }
  return true;
}

// Each change makes its cell differ. The comparison then reads all entities of that cell one by one, which costs far
// more than a sequential scan. A range with too many rows should be divided first, as a rescan does.
bool ScanRecord::is_cheaper() const {
  // This is an estimate: a rescan is cheaper if more than a 20th of the entities would be read again.
  constexpr std::uint64_t reading_is_cheaper = 20;
  const std::uint64_t entities = std::accumulate(read_.begin(), read_.end(), std::uint64_t{0});
  const std::uint64_t changed = std::accumulate(changed_.begin(), changed_.end(), std::uint64_t{0});
  const std::uint64_t entities_a_cell = 1 + entities / (grid_.ranges() * grid_.cells());
  if (changed * entities_a_cell * reading_is_cheaper > entities) {
    return false;
  }
  for (std::size_t range = 0; range < grid_.ranges(); ++range) {
    for (std::size_t table = 0; table < tables_; ++table) {
      if (grid_.whole(table, range).rows > verify::DigestGrid::many_rows) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace looseleaf::backfill
