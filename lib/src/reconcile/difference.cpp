// Differences.
#include "reconcile/difference.hpp"

namespace looseleaf::reconcile {

shard::Catalog selected(shard::Catalog catalog, const Selection& only) {
  std::erase_if(catalog.indexes, [&](const shard::CatalogIndex& index) {
    return only.indexes && !only.indexes->contains({index.definition.table, index.generation});
  });
  return catalog;
}

Difference difference_of(FindingKind kind, const shard::Catalog& catalog, const shard::PlacedRow& row) {
  const shard::CatalogIndex& index = catalog.indexes[row.catalog_position];
  return {kind, index.definition.table, index.generation, row.shard, row.entry};
}

}  // namespace looseleaf::reconcile
