// Compares the writes of a batch with the bodies that they replace.
#include "write/old_bodies.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/immutability.hpp"
#include "shard/steps.hpp"
#include "write/unique_values.hpp"

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
    before.emplace(parse_stored_body(*old.body));
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
  note_kept(catalog, old_rows, item);
  item.new_on.clear();
  for (const shard::PlacedRow& row : item.rows) {
    if (!std::binary_search(old_rows.begin(), old_rows.end(), row)) {
      item.new_on.insert(row.shard);
    }
  }
}

// Calls `check` for the old entities of these items, with their bodies. It reads a few bodies at a time, because they
// may be much larger than the new ones.
void for_each_old_body(const sql::Database& database, const Items& items, const std::map<Uuid, shard::EntityRow>& found,
                       const std::function<void(const shard::EntityRow&, Item&)>& check) {
  std::map<Uuid, Item*> to_read;
  std::vector<Uuid> ids;
  std::uint64_t bytes = 0;
  const auto check_read = [&] {
    for (const shard::EntityRow& old : shard::read_entities(database, ids, shard::Lock::none)) {
      check(old, *to_read.at(old.id));
    }
    to_read.clear();
    ids.clear();
    bytes = 0;
  };
  for (Item* item : items) {
    const auto row = found.find(item->write->id);
    if (row == found.end()) {
      continue;
    }
    if (row->second.body) {
      check(row->second, *item);
    } else if (row->second.body_size) {
      to_read.emplace(item->write->id, item);
      ids.push_back(item->write->id);
      bytes += *row->second.body_size;
    }
    if (bytes > max_old_bodies) {
      check_read();
    }
  }
  check_read();
}

bool condition_holds(const Condition& condition, const shard::EntityRow* row) {
  switch (condition.kind) {
    case WriteCondition::Kind::none:
      return true;
    case WriteCondition::Kind::absent:
      return row == nullptr || !row->body_size;
    case WriteCondition::Kind::unchanged:
      return row != nullptr && row->updated == condition.stamp;
  }
  return false;
}

}  // namespace

void check_conditions(const sql::Database& database, const Items& items,
                      const std::map<Uuid, shard::EntityRow>& found) {
  if (std::none_of(items.begin(), items.end(), [](const Item* item) { return item->write->has_condition(); })) {
    return;
  }
  const shard::Step step(shard::steps::put_check_condition, items.front()->shard);
  Items existing;
  for (Item* item : items) {
    const auto row = found.find(item->write->id);
    if (item->decided || step.left_out() ||
        condition_holds(item->write->condition, row == found.end() ? nullptr : &row->second)) {
      continue;
    }
    if (item->write->condition.kind == WriteCondition::Kind::absent) {
      decide(*item, WriteStatus::exists);
      existing.push_back(item);
    } else {
      decide(*item, WriteStatus::changed);
    }
  }
  for_each_old_body(database, existing, found, [](const shard::EntityRow& old, Item& item) {
    const std::optional<std::string>& body = item.write->body;
    item.write->result->same_text = body && codec::have_same_text(*old.body, *body, model::max_body_size);
  });
}

model::ParsedEntity parse_stored_body(const std::string& body) {
  return model::ParsedEntity(codec::decode_body(body, model::max_body_size));
}

void check_against_old(const shard::Shards& shards, const sql::Database& database, const shard::Catalog& catalog,
                       const Items& items, const std::map<Uuid, shard::EntityRow>& found) {
  Items undecided;
  std::copy_if(items.begin(), items.end(), std::back_inserter(undecided),
               [](const Item* item) { return !item->decided; });
  for_each_old_body(database, undecided, found,
                    [&](const shard::EntityRow& old, Item& item) { check_against(shards, catalog, old, item); });
}

const IndexDefinition* first_forbidding(const shard::Catalog& catalog, const model::ParsedEntity& before,
                                        const std::optional<std::string>& after_body) {
  std::optional<model::ParsedEntity> after;
  for (const shard::CatalogIndex& index : catalog.indexes) {
    if (!index.maintained() || !index.definition.immutable) {
      continue;
    }
    if (!after) {
      after.emplace(after_body ? parse_stored_body(*after_body) : model::ParsedEntity("{}"));
    }
    if (!model::change_allowed(index.definition, before, *after)) {
      return &index.definition;
    }
  }
  return nullptr;
}

}  // namespace looseleaf::write
