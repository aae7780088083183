// Compares the writes of a batch with the bodies that they replace.
#include "write/old_bodies.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/immutability.hpp"

namespace looseleaf::write {
namespace {

constexpr std::uint64_t max_old_bodies = 1 << 20;  // bytes of stored bodies that one comparison reads

void check_immutable(const shard::Catalog& catalog, const model::ParsedEntity& before, Item& item) {
  if (const IndexDefinition* index = first_forbidding(catalog, before, *item.write->body)) {
    decide(item, WriteStatus::rejected,
           Error(ErrorCode::refused, "an immutable property would change",
                 {{"id", to_string(item.write->id)}, {"index", index->table}},
                 "delete the entity first, or drop the index and create it without \"immutable\""));
  }
}

void check_against(const shard::Shards& shards, const shard::Catalog& catalog, const shard::EntityRow& old,
                   Item& item) {
  std::optional<model::ParsedEntity> before;
  try {
    before.emplace(read_body(*old.body));
    // An unreadable body may be overwritten, but only the index tables show its old rows.
  } catch (const Error&) {
    item.reconcile = true;
    return;
  }
  if (item.write->body) {
    check_immutable(catalog, *before, item);
  }
  const auto old_rows = shard::placed_rows(catalog, old.id, &*before, item.shard, shards.count());
  std::set_difference(old_rows.begin(), old_rows.end(), item.rows.begin(), item.rows.end(),
                      std::back_inserter(item.superseded));
  item.new_on.clear();
  for (const shard::PlacedRow& row : item.rows) {
    if (!std::binary_search(old_rows.begin(), old_rows.end(), row)) {
      item.new_on.insert(row.shard);
    }
  }
}

}  // namespace

model::ParsedEntity read_body(const std::string& body) {
  return model::ParsedEntity(codec::decode_body(body, model::max_body_size));
}

void check_against_old(const shard::Shards& shards, const sql::Database& database, const shard::Catalog& catalog,
                       const Items& items, const std::map<Uuid, shard::EntityRow>& found) {
  std::map<Uuid, Item*> by_id;
  for (Item* item : items) {
    by_id.emplace(item->write->id, item);
  }
  std::vector<Uuid> ids;
  std::uint64_t bytes = 0;
  const auto check_read = [&] {
    for (const shard::EntityRow& old : shard::read_entities(database, ids, shard::Lock::none)) {
      check_against(shards, catalog, old, *by_id.at(old.id));
    }
    ids.clear();
    bytes = 0;
  };
  for (const auto& [id, row] : found) {
    if (row.body) {
      check_against(shards, catalog, row, *by_id.at(id));
    } else if (row.body_size) {
      ids.push_back(id);
      bytes += *row.body_size;
    }
    if (bytes > max_old_bodies) {
      check_read();
    }
  }
  check_read();
}

const IndexDefinition* first_forbidding(const shard::Catalog& catalog, const model::ParsedEntity& before,
                                        const std::optional<std::string>& after_body) {
  std::optional<model::ParsedEntity> after;
  for (const shard::CatalogIndex& index : catalog.indexes) {
    if (!index.maintained() || !index.definition.immutable) {
      continue;
    }
    if (!after) {
      after.emplace(after_body ? read_body(*after_body) : model::ParsedEntity("{}"));
    }
    if (!model::change_allowed(index.definition, before, *after)) {
      return &index.definition;
    }
  }
  return nullptr;
}

}  // namespace looseleaf::write
