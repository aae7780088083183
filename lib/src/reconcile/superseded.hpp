// Deletes the index rows that a put has just made superfluous, and the cleanup records that name their entities.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::reconcile {

// An entity that the caller has stored, and the rows that its previous body called for and the stored one does not.
struct Superseded {
  Uuid id;
  base::Stamp stamp;                   // of the caller's write
  std::vector<shard::PlacedRow> rows;  // not empty
};

// The entities of one shard, sorted by id.
struct SupersededOnShard {
  std::uint64_t epoch = 0;   // of the catalog by which the rows were computed
  std::uint64_t record = 0;  // the token of the cleanup record that names these entities
  bool others = false;       // the record names others, too
  std::vector<Superseded> entities;
};

// Deletes the rows of those entities that still have the caller's stamp, under locks as reconcile() does. The caller's
// COMMIT has succeeded. All shards are on one server, and `catalog` holds for all of them. Makes one attempt, and
// throws ServerError. Returns the ids whose rows are deleted; reconcile the others. If it has deleted all rows of a
// shard's entities, it also deletes their record, unless that names others.
[[nodiscard]] std::set<Uuid> delete_superseded(shard::Shards& shards, const shard::Catalog& catalog,
                                               const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                                               const base::Deadline& deadline);

}  // namespace looseleaf::reconcile
