// Writes the entity rows of a batch.
#include "write/entity_writes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "shard/entity_rows.hpp"
#include "shard/steps.hpp"
#include "write/old_bodies.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t max_stored_body = 16777215;  // the limit of MEDIUMBLOB

// Forgets what an earlier attempt has learned of the old bodies.
void forget_old_bodies(const Items& items) {
  for (Item* item : items) {
    item->superseded.clear();
    item->record = 0;
    item->new_on.clear();
    for (const shard::PlacedRow& row : item->rows) {
      item->new_on.insert(row.shard);
    }
  }
}

// Decides deletes of what does not exist.
void check_deletes(const Items& items, const LockedRows& found) {
  for (Item* item : items) {
    const auto row = found.find(item->write->id);
    if (!item->write->body && (row == found.end() || !row->second.body_size)) {
      decide(*item, WriteStatus::not_found);
    }
  }
}

}  // namespace

Items refuse_too_large(const Items& items, std::uint64_t max_packet) {
  Items fitting;
  for (Item* item : items) {
    const std::size_t size = item->write->body ? item->write->body->size() : 0;
    if (size > max_stored_body) {
      decide(*item, WriteStatus::rejected,
             Error(ErrorCode::bad_entity, "body too large", {{"compressed", fmt::format("{} bytes", size)}},
                   fmt::format("shorten it to at most {} bytes when compressed", max_stored_body)));
    } else if (shard::statement_size(size) > max_packet) {
      decide(*item, WriteStatus::rejected,
             Error(ErrorCode::bad_entity, "body exceeds the server's max_allowed_packet",
                   {{"needed", fmt::format("{} bytes", shard::statement_size(size))},
                    {"max_allowed_packet", fmt::format("{} bytes", max_packet)}},
                   "raise max_allowed_packet on every server of the cluster"));
    } else {
      fitting.push_back(item);
    }
  }
  return fitting;
}

LockedRows lock_entities(const sql::Database& database, const Items& items) {
  const Step step(steps::put_lock_entities, items.front()->shard);
  LockedRows rows;
  for (shard::EntityRow& row : shard::lock_entities(database, ids_of(items))) {
    rows.emplace(row.id, std::move(row));
  }
  return rows;
}

Items write_entities(const shard::Shards& shards, const sql::Database& database, const shard::Catalog& catalog,
                     const shard::Fence& fence, const Items& items, const LockedRows& found) {
  const std::uint32_t shard = items.front()->shard;
  forget_old_bodies(items);
  check_deletes(items, found);
  check_conditions(database, items, found);
  if (!catalog.indexes.empty()) {
    check_against_old(shards, database, catalog, items, found);
  }
  // One stamp for all of them, and not older than the locks: see docs/protocol.md on queries beside writers.
  base::Stamp earliest = fence.earliest();
  for (const auto& [_, row] : found) {
    earliest = std::max(earliest, row.locked);
  }
  Items written;
  std::vector<shard::EntityRow> inserts, updates;
  for (Item* item : items) {
    if (item->decided) {
      continue;
    }
    const auto before = found.find(item->write->id);
    item->added_id = 0;
    item->stamp = earliest;
    if (before != found.end()) {
      item->added_id = before->second.added_id;
      item->stamp = std::max(item->stamp, base::Stamp{before->second.updated.micros + 1});
    }
    (item->added_id != 0 ? updates : inserts)
        .push_back({.id = item->write->id,
                    .added_id = item->added_id,
                    .updated = item->stamp,
                    .writer = item->writer,
                    .body = item->write->body});
    written.push_back(item);
  }
  const Step step(steps::put_write_entities, shard);
  shard::update_entities(database, updates);
  shard::insert_entities(database, inserts);
  return written;
}

}  // namespace looseleaf::write
