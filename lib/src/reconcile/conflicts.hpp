// Rows of unique indexes that cannot be inserted, because another entity has their values.
#pragma once

#include <looseleaf/uuid.hpp>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

// What the committed bodies of the entities that hold these rows say, each read under its lock.
struct HeldRows {
  std::vector<shard::BlockedRow> called_for;  // the holder calls for a row with these values
  std::vector<shard::BlockedRow> unreadable;  // the holder's body cannot be read
  std::vector<shard::BlockedRow> free;        // the holder does not call for it, or does not exist
};

// Each of the rows must have a holder. Waits for writes of the holders that are not committed.
[[nodiscard]] HeldRows look_at_holders(shard::Shards& shards, const shard::Catalog& catalog,
                                       std::span<const shard::BlockedRow> blocked, const base::Deadline& deadline);

// Returns those of the rows of unique indexes in whose place another entity's row is.
[[nodiscard]] std::vector<shard::BlockedRow> find_holders(shard::Shards& shards, const shard::Catalog& catalog,
                                                          std::span<const shard::PlacedRow> wanted,
                                                          const base::Deadline& deadline);

// Returns true if both entities' committed bodies call for these values, while both are locked, or if the holder's body
// cannot be read.
[[nodiscard]] bool is_conflict(shard::Shards& shards, const shard::Catalog& catalog, const shard::BlockedRow& row,
                               const base::Deadline& deadline);

}  // namespace looseleaf::reconcile
