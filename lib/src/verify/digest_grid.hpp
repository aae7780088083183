// Digests of expected index rows, by index table, by range of entity ids and, within a range, by cell.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <vector>

#include "shard/row_digest.hpp"
#include "shard/statements.hpp"

namespace looseleaf::verify {

// Returns the range that ends at bounds[number], or the last range, which has no upper bound.
[[nodiscard]] inline shard::IdRange range_between(const std::vector<Uuid>& bounds, std::size_t number) {
  return {number == 0 ? std::nullopt : std::optional(bounds[number - 1]),
          number == bounds.size() ? std::nullopt : std::optional(bounds[number])};
}

// Returns the number of the table of one index on one shard, among the tables of all indexes on `shards` shards.
[[nodiscard]] inline std::size_t table_number(std::size_t index, std::uint32_t shard, std::uint32_t shards) {
  return index * shards + shard;
}

// A server digests one range of ids at once. A hash spreads the ids of a range over its cells. The cells that differ
// show which few entities of the range need another read. A grid uses at most 16 MiB, however many tables there are.
class DigestGrid {
 public:
  static constexpr std::size_t most_cells = std::size_t{1} << 20;
  // If one table has more rows than this in a range, one statement should not digest the range.
  static constexpr std::uint64_t many_rows = 500'000;

  // `bounds` are the bounds between ranges, sorted and distinct: n bounds make n + 1 ranges, which cover all ids.
  // Tables are numbered from 0 to `tables` - 1.
  DigestGrid(std::vector<Uuid> bounds, std::size_t tables) : bounds_(std::move(bounds)) {
    while (bits_ < most_bits && (ranges() * tables << (bits_ + 1)) <= most_cells) {
      ++bits_;
    }
    table_cells_ = ranges() << bits_;
    cells_.resize(tables * table_cells_);
  }

  [[nodiscard]] std::size_t ranges() const { return bounds_.size() + 1; }
  [[nodiscard]] std::size_t cells() const { return std::size_t{1} << bits_; }  // of one range

  [[nodiscard]] shard::IdRange range(std::size_t number) const { return range_between(bounds_, number); }
  [[nodiscard]] std::size_t range_of(const Uuid& id) const {
    return static_cast<std::size_t>(std::upper_bound(bounds_.begin(), bounds_.end(), id) - bounds_.begin());
  }
  // Returns the number of the id's cell within its range. Any part of an id may be a counter or a timestamp, so the
  // hash covers all bytes.
  [[nodiscard]] std::size_t cell_of(const Uuid& id) const {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t hash = 0;
    for (const std::uint8_t byte : id.bytes) {
      hash = (hash ^ byte) * odd;
      hash ^= hash >> 29;
    }
    return bits_ == 0 ? 0 : hash >> (64 - bits_);
  }

  // Returns the position of an id's cell, which is the same in every table.
  [[nodiscard]] std::size_t place_of(const Uuid& id) const { return (range_of(id) << bits_) + cell_of(id); }

  // Several threads may call this at once.
  void add(std::size_t table, std::size_t place, std::uint64_t mix) {
    shard::RowDigest& cell = cells_[table * table_cells_ + place];
    std::atomic_ref(cell.rows).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(cell.mix).fetch_xor(mix, std::memory_order_relaxed);
  }

  [[nodiscard]] const shard::RowDigest& cell(std::size_t table, std::size_t range, std::size_t cell) const {
    return cells_[table * table_cells_ + (range << bits_) + cell];
  }
  [[nodiscard]] shard::RowDigest whole(std::size_t table, std::size_t range) const {
    shard::RowDigest sum;
    for (std::size_t i = 0; i < cells(); ++i) {
      const shard::RowDigest& part = cell(table, range, i);
      sum.rows += part.rows;
      sum.mix ^= part.mix;
    }
    return sum;
  }

 private:
  static constexpr int most_bits = 11;  // a cell has about ten entities, unless the store is very large

  std::vector<Uuid> bounds_;
  int bits_ = 0;
  std::size_t table_cells_ = 0;
  std::vector<shard::RowDigest> cells_;  // by table, range and cell
};

}  // namespace looseleaf::verify
