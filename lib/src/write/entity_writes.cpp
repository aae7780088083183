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
    item->kept.clear();
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

// Rejects entities whose values are too long for a unique index.
void check_lengths(const Items& items) {
  for (Item* item : items) {
    if (!item->decided && item->too_long) {
      decide(*item, WriteStatus::rejected, Error(*item->too_long).with("id", to_string(item->write->id)));
    }
  }
}

std::vector<const shard::BufferedWrite*> buffered_among(const Items& items) {
  std::vector<const shard::BufferedWrite*> buffered;
  for (const Item* item : items) {
    if (item->write->buffered != nullptr && !item->decided) {
      buffered.push_back(item->write->buffered);
    }
  }
  return buffered;
}

// put.check_receipt: decides buffered writes that were decided before.
void check_receipts(const sql::Database& database, const Items& items) {
  const std::vector<const shard::BufferedWrite*> buffered = buffered_among(items);
  if (buffered.empty()) {
    return;
  }
  const Step step(steps::put_check_receipt, items.front()->shard);
  if (step.left_out()) {
    return;
  }
  std::vector<std::uint64_t> tokens;
  for (const shard::BufferedWrite* write : buffered) {
    tokens.push_back(write->place.token);
  }
  const std::vector<std::uint64_t> decided = shard::lock_receipts(database, tokens);
  for (Item* item : items) {
    if (item->write->buffered != nullptr &&
        std::binary_search(decided.begin(), decided.end(), item->write->buffered->place.token)) {
      decide(*item, WriteStatus::unchanged);
    }
  }
}

// put.write_receipt: a buffered write is decided if and only if it is stored.
void write_receipts(const sql::Database& database, const Items& written) {
  const std::vector<const shard::BufferedWrite*> buffered = buffered_among(written);
  if (buffered.empty()) {
    return;
  }
  const Step step(steps::put_write_receipt, written.front()->shard);
  if (!step.left_out()) {
    shard::insert_receipts(database, buffered);
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

bool check_copies(const shard::Shards& shards, const shard::ServerLeases& leases, const Items& written) {
  std::map<std::uint32_t, std::vector<std::uint64_t>> tokens;  // by shard
  for (const shard::BufferedWrite* const write : buffered_among(written)) {
    tokens[write->read_from].push_back(write->place.token);
  }
  std::set<std::uint64_t> missing;
  for (const auto& [shard, of_shard] : tokens) {
    const Step step(steps::put_check_copy, shard);
    if (!step.left_out()) {
      const auto found = shard::on_shard(shards, shard, [&, shard = shard, &of_shard = of_shard] {
        return shard::missing_copies(leases.on(shard), of_shard);
      });
      missing.insert(found.begin(), found.end());
    }
  }
  for (Item* item : written) {
    if (item->write->buffered != nullptr && missing.contains(item->write->buffered->place.token)) {
      decide(*item, WriteStatus::unchanged);
    }
  }
  return missing.empty();
}

Items write_entities(const shard::Shards& shards, const sql::Database& database, const shard::Catalog& catalog,
                     const shard::Fence& fence, const Items& items, const LockedRows& found) {
  const std::uint32_t shard = items.front()->shard;
  forget_old_bodies(items);
  check_deletes(items, found);
  check_receipts(database, items);
  check_conditions(database, items, found);
  check_lengths(items);
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
  {
    const Step step(steps::put_write_entities, shard);
    shard::update_entities(database, updates);
    shard::insert_entities(database, inserts);
  }
  write_receipts(database, written);
  return written;
}

}  // namespace looseleaf::write
