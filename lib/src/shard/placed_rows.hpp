// The index rows that one entity calls for, with their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "model/stored_entity.hpp"
#include "shard/catalog.hpp"
#include "shard/index_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// Rows to be written, by index shard and by the index's place in the catalog.
using RowsByShard = std::map<std::uint32_t, std::map<std::size_t, std::vector<shard::IndexEntry>>>;

// One row where it belongs.
struct PlacedRow {
  std::uint32_t shard = 0;
  std::size_t index = 0;  // in the catalog
  shard::IndexEntry entry;

  auto operator<=>(const PlacedRow&) const = default;
  bool operator==(const PlacedRow&) const = default;
};

// The expected rows, sorted, of an entity (null: a tombstone, which calls for none) in all maintained indexes.
[[nodiscard]] std::vector<PlacedRow> placed_rows(const shard::Catalog& catalog, const Uuid& id,
                                                 const nlohmann::json* entity, std::uint32_t entity_shard,
                                                 std::uint32_t shards);
[[nodiscard]] std::vector<PlacedRow> placed_rows(const shard::Catalog& catalog, const Uuid& id,
                                                 const model::StoredEntity* entity, std::uint32_t entity_shard,
                                                 std::uint32_t shards);

void add_row(RowsByShard& rows, const PlacedRow& row);

// What became of rows that were to be inserted.
struct Inserted {
  std::set<Uuid> blocked;  // entities in whose way another row stands, in a table with UNIQUE (entity_id)
  bool all_new = true;     // false: some were there, though perhaps not on disk; see shard/durability.hpp
};

// Inserts what is absent. The no-op duplicate clause hides what stands in the way: so when fewer rows were new than
// were sent, looks for it.
[[nodiscard]] Inserted insert_or_report(sql::Connection& connection, const IndexDefinition& definition,
                                        std::span<const shard::IndexEntry> entries);

// A connection for index rows to every shard.
[[nodiscard]] std::vector<shard::Lease> connect_all(shard::Shards& shards, const base::Deadline& deadline);

// Thrown by read_rows() for several entities that have more rows than should be held at once; see in_batches().
struct TooManyRows {};

// Calls `work` with a few ids at a time, sorted and distinct; again with half of them when they have too many rows.
template <typename Work>
void in_batches(std::span<const Uuid> ids, std::size_t size, const Work& work) {
  std::vector<Uuid> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const std::span<const Uuid> all(sorted);
  for (std::size_t from = 0; from < all.size(); from += size) {
    const auto batch = all.subspan(from, std::min(size, all.size() - from));
    try {
      work(batch);
    } catch (const TooManyRows&) {
      in_batches(batch, (batch.size() + 1) / 2, work);
    }
  }
}

// The rows of these entities in every maintained index on every shard, sorted; at most `most` of each index table, or
// all: then throws TooManyRows if these are several entities.
[[nodiscard]] std::vector<PlacedRow> read_rows(shard::Shards& shards, const std::vector<shard::Lease>& leases,
                                               const shard::Catalog& catalog, std::span<const Uuid> ids,
                                               std::size_t most = shard::no_limit);

}  // namespace looseleaf::shard
