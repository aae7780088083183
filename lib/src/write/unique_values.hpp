// What a unique index asks of the writes of a batch: docs/protocol.md, "Unique values".
#pragma once

#include <looseleaf/error.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "model/parsed_entity.hpp"
#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// A write whose row was not inserted.
struct BlockedWrite {
  Item* item = nullptr;
  shard::BlockedRow row;
};

// Returns why an entity cannot be stored: a string is longer than a unique index accepts.
[[nodiscard]] std::optional<Error> too_long(const shard::Catalog& catalog, const model::ParsedEntity& entity);

// Returns the items without those that have a unique value of an earlier one, and have not been left out before. Most
// often the earlier one is stored, and the others are all rejected by the next attempt.
[[nodiscard]] Items without_equal_values(const shard::Catalog& catalog, const Items& items);

// Notes the unique values that the old body has as well. `old_rows` are those that it calls for, sorted.
void note_kept(const shard::Catalog& catalog, const std::vector<shard::PlacedRow>& old_rows, Item& item);

// Returns the writes that these rows really block. A write may do without a row that its old body calls for as well
// while the index is building: it changes nothing, and the proof of the backfill will find the row missing.
[[nodiscard]] std::vector<BlockedWrite> blocked_writes(const shard::Catalog& catalog, const Items& written,
                                                       const std::vector<shard::BlockedRow>& blocked);

// Notes which writes may have rows in the tables although they may still be rejected.
void note_tried(const Items& written, const std::vector<BlockedWrite>& blocked);

// Adds to an error which values of the write are taken, and by whom.
[[nodiscard]] Error with_holder(Error error, const shard::Catalog& catalog, const BlockedWrite& blocked);

// Returns true if the write calls for a row in a unique index.
[[nodiscard]] bool has_unique_values(const shard::Catalog& catalog, const Item& item);

// Returns false if no unique index is known on the entity's shard.
[[nodiscard]] bool may_have_unique_values(shard::Shards& shards, const Uuid& id);

// Returns true if both entities have the same values in a unique index.
[[nodiscard]] bool share_values(const shard::Catalog& catalog, const model::ParsedEntity& one,
                                const model::ParsedEntity& other);

// Looks at the entities that have the values. Rejects the writes if these call for them, and otherwise deletes their
// rows, so that the writes can be tried again. No session may be on loan. Throws an Error if the holders' shard, which
// must be one for all, cannot be asked.
void reject_or_clear(shard::Shards& shards, const shard::Catalog& catalog, std::span<const BlockedWrite> blocked,
                     const base::Deadline& deadline);

// Returns why a row does not go away although reject_or_clear() found that nobody calls for it: its holder's shard does
// not maintain the index, or not any more. Absent if it does.
[[nodiscard]] std::optional<Error> why_row_stays(shard::Shards& shards, const shard::Catalog& catalog,
                                                 const BlockedWrite& blocked, const base::Deadline& deadline);

}  // namespace looseleaf::write
