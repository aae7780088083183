// The index rows that one entity calls for, with their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "store/catalog.hpp"
#include "store/index_rows.hpp"

namespace looseleaf::ops {

// Rows to be written, by index shard and by the index's place in the catalog.
using RowsByShard = std::map<std::uint32_t, std::map<std::size_t, std::vector<store::IndexEntry>>>;

// One row where it belongs.
struct PlacedRow {
  std::uint32_t shard = 0;
  std::size_t index = 0;  // in the catalog
  store::IndexEntry entry;

  auto operator<=>(const PlacedRow&) const = default;
  bool operator==(const PlacedRow&) const = default;
};

// The expected rows, sorted, of an entity (null: a tombstone, which calls for none) in all maintained indexes.
[[nodiscard]] std::vector<PlacedRow> placed_rows(const store::Catalog& catalog, const Uuid& id,
                                                 const nlohmann::json* entity, std::uint32_t entity_shard,
                                                 std::uint32_t shards);

void add_row(RowsByShard& rows, const PlacedRow& row);

}  // namespace looseleaf::ops
