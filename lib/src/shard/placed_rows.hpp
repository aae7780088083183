// The index rows that one entity calls for, with their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/parsed_entity.hpp"
#include "shard/catalog.hpp"
#include "shard/index_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// Rows to be written, by index shard and by the index's position in the catalog.
using RowsByShard = std::map<std::uint32_t, std::map<std::size_t, std::vector<IndexEntry>>>;

// One row with the shard and index that it belongs to.
struct PlacedRow {
  std::uint32_t shard = 0;
  std::size_t catalog_position = 0;
  IndexEntry entry;

  auto operator<=>(const PlacedRow&) const = default;
  bool operator==(const PlacedRow&) const = default;
};

// Returns the sorted expected rows of an entity in all maintained indexes. A null entity is a tombstone, which calls
// for no rows.
[[nodiscard]] std::vector<PlacedRow> placed_rows(const Catalog& catalog, const Uuid& id,
                                                 const model::ParsedEntity* entity, std::uint32_t entity_shard,
                                                 std::uint32_t shards);

void add_row(RowsByShard& rows, const PlacedRow& row);

// A row that could not be inserted, because another one is in its place.
struct BlockedRow {
  PlacedRow wanted;
  std::optional<Uuid> holder;  // the other entity that has the values, in a unique index; absent: another row of the
                               // same entity, in an immutable index, or one that was gone a moment later
};

// The result of an insertion of rows.
struct Inserted {
  std::vector<BlockedRow> blocked;
  bool all_new = true;  // false: some existed, though perhaps not on disk; see shard/durability.hpp
};

// Inserts the absent rows into one table. The no-op duplicate clause hides conflicting rows, so this function searches
// for them if fewer rows were new than were sent. Shard and position are those of the table; the result names them.
[[nodiscard]] Inserted insert_or_report(const sql::Database& database, const IndexDefinition& definition,
                                        std::uint32_t shard, std::size_t catalog_position,
                                        std::span<const IndexEntry> entries);

}  // namespace looseleaf::shard
