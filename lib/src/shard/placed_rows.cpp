// The index rows that one entity calls for, with their places.
#include "shard/placed_rows.hpp"

#include <algorithm>
#include <iterator>

#include "shard/placement.hpp"

namespace looseleaf::shard {
namespace {

// Returns the rows that may have kept these from being inserted, sorted. With UNIQUE (entity_id) as well as unique
// values, those with the same values suffice: a row that is not among them was not inserted.
std::vector<IndexEntry> in_their_place(const sql::Database& database, const IndexDefinition& definition,
                                       std::span<const IndexEntry> entries) {
  std::vector<IndexEntry> there;
  if (definition.unique) {
    there = read_entries_with_values(database, definition, entries);
  } else {
    std::vector<Uuid> ids;
    for (const auto& entry : entries) {
      ids.push_back(entry.entity_id);
    }
    in_lists(ids, [&](std::span<const Uuid> some) {
      auto found = read_entries(database, definition, some);
      std::move(found.begin(), found.end(), std::back_inserter(there));
    });
  }
  std::sort(there.begin(), there.end());
  return there;
}

}  // namespace

std::vector<PlacedRow> placed_rows(const Catalog& catalog, const Uuid& id, const model::ParsedEntity* entity,
                                   std::uint32_t entity_shard, std::uint32_t shards) {
  std::vector<PlacedRow> rows;
  for (std::size_t position = 0; entity != nullptr && position < catalog.indexes.size(); ++position) {
    const CatalogIndex& index = catalog.indexes[position];
    if (!index.maintained()) {
      continue;
    }
    for (model::Row& row : entity->expected_rows(index.definition)) {
      const std::uint32_t shard = index_shard(index.definition, row, entity_shard, shards);
      rows.push_back({shard, position, {std::move(row), id}});
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void add_row(RowsByShard& rows, const PlacedRow& row) {
  rows[row.shard][row.catalog_position].push_back(row.entry);
}

Inserted insert_or_report(const sql::Database& database, const IndexDefinition& definition, std::uint32_t shard,
                          std::size_t catalog_position, std::span<const IndexEntry> entries) {
  Inserted inserted;
  inserted.all_new = insert_entries(database, definition, entries) == entries.size();
  if (inserted.all_new || !(definition.immutable || definition.unique)) {
    return inserted;
  }
  const std::vector<IndexEntry> there = in_their_place(database, definition, entries);
  for (const auto& entry : entries) {
    if (std::binary_search(there.begin(), there.end(), entry)) {
      continue;
    }
    const auto holder = std::lower_bound(there.begin(), there.end(), IndexEntry{entry.values, Uuid()});
    const bool is_held = definition.unique && holder != there.end() && holder->values == entry.values;
    inserted.blocked.push_back(
        {{shard, catalog_position, entry}, is_held ? std::optional(holder->entity_id) : std::nullopt});
  }
  return inserted;
}

}  // namespace looseleaf::shard
