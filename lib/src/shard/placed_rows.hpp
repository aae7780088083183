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
using RowsByShard = std::map<std::uint32_t, std::map<std::size_t, std::vector<shard::IndexEntry>>>;

// One row with the shard and index that it belongs to.
struct PlacedRow {
  std::uint32_t shard = 0;
  std::size_t catalog_position = 0;
  shard::IndexEntry entry;

  auto operator<=>(const PlacedRow&) const = default;
  bool operator==(const PlacedRow&) const = default;
};

// Returns the sorted expected rows of an entity in all maintained indexes. A null entity is a tombstone, which calls
// for no rows.
[[nodiscard]] std::vector<PlacedRow> placed_rows(const shard::Catalog& catalog, const Uuid& id,
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
                                        std::span<const shard::IndexEntry> entries);

// Returns sessions for index rows that serve every shard.
[[nodiscard]] shard::ServerLeases connect_all(shard::Shards& shards, const base::Deadline& deadline);

// Several entities together have, or call for, more rows than should be held at once; see in_batches().
struct TooManyRows {};
// Throws TooManyRows if so many entities call for too many rows. A single entity may call for any number.
void require_few(std::size_t rows, std::size_t entities);

// Calls `work` with a few ids at a time, sorted and distinct. If these have too many rows, retries with half of the
// ids.
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

// Returns the sorted rows of these entities in every maintained index on every shard. It reads at most `most` rows of
// each index table. Without that limit, it throws TooManyRows if several entities have too many rows to hold at once.
[[nodiscard]] std::vector<PlacedRow> read_rows(shard::Shards& shards, const shard::ServerLeases& leases,
                                               const shard::Catalog& catalog, std::span<const Uuid> ids,
                                               std::size_t most = shard::no_limit);

}  // namespace looseleaf::shard
