// The index rows that one entity calls for, with their places.
#include "ops/rows.hpp"

#include <algorithm>

#include "model/expected_rows.hpp"
#include "store/placement.hpp"

namespace looseleaf::ops {

std::vector<PlacedRow> placed_rows(const store::Catalog& catalog, const Uuid& id, const nlohmann::json* entity,
                                   std::uint32_t entity_shard, std::uint32_t shards) {
  std::vector<PlacedRow> rows;
  if (!entity) {
    return rows;
  }
  for (std::size_t index = 0; index < catalog.indexes.size(); ++index) {
    const store::CatalogIndex& entry = catalog.indexes[index];
    if (!entry.maintained()) {
      continue;
    }
    for (model::Row& row : model::expected_rows(entry.definition, *entity)) {
      const std::uint32_t shard = store::index_shard(entry.definition, row, entity_shard, shards);
      rows.push_back({shard, index, {std::move(row), id}});
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void add_row(RowsByShard& rows, const PlacedRow& row) { rows[row.shard][row.index].push_back(row.entry); }

}  // namespace looseleaf::ops
