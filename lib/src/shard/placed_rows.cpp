// The index rows that one entity calls for, with their places.
#include "shard/placed_rows.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/parallel.hpp"
#include "shard/placement.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t most_rows = 10'000;  // of one index on one shard, if held for several entities at once

// Returns the rows that may have kept these from being inserted, sorted. With UNIQUE (entity_id) as well as unique
// values, those with the same values suffice: a row that is not among them was not inserted.
std::vector<shard::IndexEntry> in_their_place(const sql::Database& database, const IndexDefinition& definition,
                                              std::span<const shard::IndexEntry> entries) {
  std::vector<shard::IndexEntry> there;
  if (definition.unique) {
    there = shard::read_entries_with_values(database, definition, entries);
  } else {
    std::vector<Uuid> ids;
    for (const auto& entry : entries) {
      ids.push_back(entry.entity_id);
    }
    shard::in_lists(ids, [&](std::span<const Uuid> some) {
      auto found = shard::read_entries(database, definition, some);
      std::move(found.begin(), found.end(), std::back_inserter(there));
    });
  }
  std::sort(there.begin(), there.end());
  return there;
}

}  // namespace

std::vector<PlacedRow> placed_rows(const shard::Catalog& catalog, const Uuid& id, const model::ParsedEntity* entity,
                                   std::uint32_t entity_shard, std::uint32_t shards) {
  std::vector<PlacedRow> rows;
  for (std::size_t position = 0; entity != nullptr && position < catalog.indexes.size(); ++position) {
    const shard::CatalogIndex& index = catalog.indexes[position];
    if (!index.maintained()) {
      continue;
    }
    for (model::Row& row : entity->expected_rows(index.definition)) {
      const std::uint32_t shard = shard::index_shard(index.definition, row, entity_shard, shards);
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
                          std::size_t catalog_position, std::span<const shard::IndexEntry> entries) {
  Inserted inserted;
  inserted.all_new = shard::insert_entries(database, definition, entries) == entries.size();
  if (inserted.all_new || !(definition.immutable || definition.unique)) {
    return inserted;
  }
  const std::vector<shard::IndexEntry> there = in_their_place(database, definition, entries);
  for (const auto& entry : entries) {
    if (std::binary_search(there.begin(), there.end(), entry)) {
      continue;
    }
    const auto holder = std::lower_bound(there.begin(), there.end(), shard::IndexEntry{entry.values, Uuid()});
    const bool is_held = definition.unique && holder != there.end() && holder->values == entry.values;
    inserted.blocked.push_back(
        {{shard, catalog_position, entry}, is_held ? std::optional(holder->entity_id) : std::nullopt});
  }
  return inserted;
}

shard::ServerLeases connect_all(shard::Shards& shards, const base::Deadline& deadline) {
  shard::ServerLeases leases(shards.sessions());
  const auto all = shard::all_shards(shards);
  leases.connect_all({all.begin(), all.end()}, deadline, shard::Purpose::index_writes);
  return leases;
}

void require_few(std::size_t rows, std::size_t entities) {
  constexpr std::size_t most_of_several = 100'000;
  if (rows > most_of_several && entities > 1) {
    throw TooManyRows();
  }
}

std::vector<PlacedRow> read_rows(shard::Shards& shards, const shard::ServerLeases& leases,
                                 const shard::Catalog& catalog, std::span<const Uuid> ids, std::size_t most) {
  const bool all_of_several = most == shard::no_limit && ids.size() > 1;  // these may be too many rows to hold
  std::vector<std::vector<PlacedRow>> found(shards.count());
  const auto read = [&](std::uint32_t shard) {
    for (std::size_t index = 0; index < catalog.indexes.size(); ++index) {
      if (catalog.indexes[index].maintained()) {
        auto entries = shard::read_entries(leases.on(shard), catalog.indexes[index].definition, ids,
                                           all_of_several ? most_rows + 1 : most);
        if (all_of_several && entries.size() > most_rows) {
          throw TooManyRows();
        }
        for (auto& entry : entries) {
          found[shard].push_back({shard, index, std::move(entry)});
        }
      }
    }
  };
  std::vector<std::function<void()>> tasks;
  const auto all = shard::all_shards(shards);
  for (auto& group : leases.by_server({all.begin(), all.end()})) {
    tasks.emplace_back([&, group = std::move(group)] {
      for (const std::uint32_t shard : group) {
        shard::on_shard(shards, shard, [&] { read(shard); });
      }
      shard::on_shard(shards, group.front(), [&] { require_still_writable(leases.on(group.front())); });
    });
  }
  base::run_all(tasks);
  std::vector<PlacedRow> rows;
  for (auto& part : found) {
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace looseleaf::shard
