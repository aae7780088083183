// Keeps two entities from having one value of a unique index.
#include "write/unique_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "model/value.hpp"
#include "reconcile/conflicts.hpp"
#include "reconcile/reconcile.hpp"
#include "shard/placement.hpp"

namespace looseleaf::write {
namespace {

bool has_unique_index(const shard::Catalog& catalog) {
  return std::any_of(catalog.indexes.begin(), catalog.indexes.end(),
                     [](const shard::CatalogIndex& index) { return index.maintained() && index.definition.unique; });
}

bool is_unique(const shard::Catalog& catalog, const shard::PlacedRow& row) {
  return catalog.indexes[row.catalog_position].definition.unique;
}

bool is_kept(const Item& item, const shard::PlacedRow& row) {
  return std::binary_search(item.kept.begin(), item.kept.end(), row);
}

Error::Context where(const shard::Catalog& catalog, const BlockedWrite& blocked) {
  const shard::PlacedRow& row = blocked.row.wanted;
  return {{"id", to_string(blocked.item->write->id)},
          {"index", catalog.indexes[row.catalog_position].definition.table},
          {"values", model::to_json(row.entry.values)},
          {"holder", to_string(*blocked.row.holder)}};
}

void note_holder(const BlockedWrite& blocked) {
  if (std::optional<Uuid>* const holder = blocked.item->write->holder) {
    *holder = blocked.row.holder;
  }
}

void decide_all(std::span<const BlockedWrite> blocked, const std::vector<shard::BlockedRow>& rows,
                const std::function<void(const BlockedWrite&)>& decide_one) {
  for (const BlockedWrite& write : blocked) {
    const bool is_among = std::any_of(rows.begin(), rows.end(),
                                      [&](const shard::BlockedRow& row) { return row.wanted == write.row.wanted; });
    if (is_among && !write.item->decided) {
      decide_one(write);
    }
  }
}

}  // namespace

std::optional<Error> too_long(const shard::Catalog& catalog, const model::ParsedEntity& entity) {
  for (const shard::CatalogIndex& index : catalog.indexes) {
    if (!index.maintained() || !index.definition.unique || !entity.matches_where(index.definition)) {
      continue;
    }
    for (const Property& property : index.definition.properties) {
      const auto values = entity.property_values(property);
      if (std::any_of(values.begin(), values.end(),
                      [&](const auto& value) { return model::is_cut(property, value); })) {
        return Error(ErrorCode::refused, "a value is too long for a unique index",
                     {{"index", index.definition.table},
                      {"property", property.name},
                      {"max_length", std::to_string(property.max_length) + " characters"}},
                     "shorten it, or drop the index and create it with a larger `max_length`");
      }
    }
  }
  return std::nullopt;
}

Items without_equal_values(const shard::Catalog& catalog, const Items& items) {
  if (!has_unique_index(catalog)) {
    return items;
  }
  std::set<std::pair<std::size_t, model::Row>> seen;
  Items first;
  for (Item* item : items) {
    const bool has_equal = std::any_of(item->rows.begin(), item->rows.end(), [&](const shard::PlacedRow& row) {
      return is_unique(catalog, row) && seen.contains({row.catalog_position, row.entry.values});
    });
    if (!has_equal || std::exchange(item->left_out, true)) {
      first.push_back(item);
      for (const shard::PlacedRow& row : item->rows) {
        if (is_unique(catalog, row)) {
          seen.emplace(row.catalog_position, row.entry.values);
        }
      }
    }
  }
  return first;
}

void note_kept(const shard::Catalog& catalog, const std::vector<shard::PlacedRow>& old_rows, Item& item) {
  item.kept.clear();
  if (has_unique_index(catalog)) {
    std::set_intersection(old_rows.begin(), old_rows.end(), item.rows.begin(), item.rows.end(),
                          std::back_inserter(item.kept));
  }
}

std::vector<BlockedWrite> blocked_writes(const shard::Catalog& catalog, const Items& written,
                                         const std::vector<shard::BlockedRow>& blocked) {
  std::vector<BlockedWrite> result;
  for (const shard::BlockedRow& row : blocked) {
    const auto item = std::find_if(written.begin(), written.end(), [&](const Item* candidate) {
      return candidate->write->id == row.wanted.entry.entity_id;
    });
    const bool building = catalog.indexes[row.wanted.catalog_position].state == IndexState::building;
    if (!(row.holder && building && is_kept(**item, row.wanted))) {
      result.push_back({*item, row});
    }
  }
  return result;
}

void note_tried(const Items& written, const std::vector<BlockedWrite>& blocked) {
  std::map<const Item*, std::size_t> not_inserted;
  for (const BlockedWrite& write : blocked) {
    ++not_inserted[write.item];
  }
  for (Item* item : written) {
    item->tried = item->tried || not_inserted[item] < item->rows.size();
  }
}

Error with_holder(Error error, const shard::Catalog& catalog, const BlockedWrite& blocked) {
  for (const auto& [key, value] : where(catalog, blocked)) {
    error.with(key, value);
  }
  return error;
}

bool has_unique_values(const shard::Catalog& catalog, const Item& item) {
  return std::any_of(item.rows.begin(), item.rows.end(),
                     [&](const shard::PlacedRow& row) { return is_unique(catalog, row); });
}

bool may_have_unique_values(shard::Shards& shards, const Uuid& id) {
  const auto catalog = shards.catalogs().cached(shard::shard_of(id, shards.count()));
  return !catalog || has_unique_index(*catalog);
}

bool share_values(const shard::Catalog& catalog, const model::ParsedEntity& one, const model::ParsedEntity& other) {
  return std::any_of(catalog.indexes.begin(), catalog.indexes.end(), [&](const shard::CatalogIndex& index) {
    if (!index.maintained() || !index.definition.unique) {
      return false;
    }
    const std::vector<model::Row> rows = one.expected_rows(index.definition);
    const std::vector<model::Row> others = other.expected_rows(index.definition);
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return std::find(others.begin(), others.end(), row) != others.end(); });
  });
}

void reject_or_clear(shard::Shards& shards, const shard::Catalog& catalog, std::span<const BlockedWrite> blocked,
                     const base::Deadline& deadline) {
  std::vector<shard::BlockedRow> rows;
  for (const BlockedWrite& write : blocked) {
    rows.push_back(write.row);
  }
  const reconcile::HeldRows held = reconcile::look_at_holders(shards, catalog, rows, deadline);
  decide_all(blocked, held.called_for, [&](const BlockedWrite& write) {
    note_holder(write);
    write.item->write->result->holder = write.row.holder;
    decide(*write.item, WriteStatus::rejected,
           Error(ErrorCode::refused, "another entity has the same values in a unique index", where(catalog, write),
                 "give this entity other values, or change or delete the one that has them; if the same input changes "
                 "that one later, put this one again afterwards"));
  });
  decide_all(blocked, held.unreadable, [&](const BlockedWrite& write) {
    note_holder(write);
    decide(*write.item, WriteStatus::failed,
           Error(ErrorCode::corrupt, "the entity that has the same values in a unique index cannot be read",
                 where(catalog, write), "delete that entity first, or put it again"));
  });
  reconcile::clear_values(shards, held.free, deadline);
}

std::optional<Error> why_row_stays(shard::Shards& shards, const shard::Catalog& catalog, const BlockedWrite& blocked,
                                   const base::Deadline& deadline) {
  const std::uint32_t shard = shard::shard_of(*blocked.row.holder, shards.count());
  const shard::Catalog there = shard::read_shard(shards, shard, deadline, shard::load_catalog);
  const shard::CatalogIndex& index = catalog.indexes[blocked.row.wanted.catalog_position];
  const shard::CatalogIndex* const same = there.find(index.definition.table);
  if (same != nullptr && same->generation == index.generation && same->maintained()) {
    return std::nullopt;
  }
  return Error(
      ErrorCode::unavailable,
      "a unique value is kept by a row that nobody removes: the index is not maintained on the shard of its entity",
      shards.where(shard),
      fmt::format("if the index is being dropped, wait for that, or run `looseleaf drop-index {0}` to finish it; if "
                  "that shard was replaced, run `looseleaf create-index` with the definition of {0}; then put this "
                  "again",
                  index.definition.table));
}

}  // namespace looseleaf::write
