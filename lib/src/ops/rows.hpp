// The index rows that one entity calls for, with their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "store/catalog.hpp"
#include "store/index_rows.hpp"
#include "store/shards.hpp"

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

// Inserts what is absent. In a table with UNIQUE (entity_id) another row can stand in the way, hidden by the no-op
// duplicate clause: so when fewer rows were new than were sent, looks, and returns the entities it happened to.
[[nodiscard]] std::set<Uuid> insert_or_report(sql::Connection& connection, const IndexDefinition& definition,
                                              std::span<const store::IndexEntry> entries);

// A connection for index rows to every shard.
[[nodiscard]] std::vector<store::Lease> connect_all(store::Shards& shards, const base::Deadline& deadline);

// The rows of these entities in every maintained index on every shard, sorted.
[[nodiscard]] std::vector<PlacedRow> read_rows(store::Shards& shards, const std::vector<store::Lease>& leases,
                                               const store::Catalog& catalog, std::span<const Uuid> ids);

}  // namespace looseleaf::ops
