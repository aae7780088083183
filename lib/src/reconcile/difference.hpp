// What reconcile and the sweep find, and of which indexes.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/stamp.hpp"
#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/rows_of_entities.hpp"

namespace looseleaf::reconcile {

constexpr std::size_t batch_size = 200;  // entities that are reconciled or swept at once

// A difference between the existing rows and the expected rows, seen under the entity's lock.
struct Difference {
  // missing, conflict, stale, misplaced, duplicate, orphan, or, about the entity, unreadable
  FindingKind kind = FindingKind::missing;
  std::string table;  // empty with unreadable
  std::uint64_t generation = 0;
  std::uint32_t shard = 0;  // the shard where the row is or should be
  shard::IndexEntry entry;
  base::Stamp updated = {};         // the entity's stamp at that time; not compared; zero for orphans
  std::optional<Uuid> holder = {};  // with conflict: the entity whose row is there instead; not compared

  [[nodiscard]] auto row() const { return std::tie(kind, table, generation, shard, entry); }
  auto operator<=>(const Difference& other) const { return row() <=> other.row(); }
  bool operator==(const Difference& other) const { return row() == other.row(); }
};

enum class ReconcileMode { examine, repair };

// Which rows to reconcile; a member without a value selects all.
struct Selection {
  // Tables and generations. The tables of other indexes are not touched, so they may be damaged.
  std::optional<std::set<std::pair<std::string, std::uint64_t>>> indexes = {};
  // Where the rows are. Servers that have none of these shards, nor the entities, are not needed, so they may be down.
  shard::IndexShards shards = {};
};

// Returns the catalog with only these indexes.
[[nodiscard]] shard::Catalog selected(shard::Catalog catalog, const Selection& only);
// Returns the difference that this row of the catalog's index is.
[[nodiscard]] Difference difference_of(FindingKind kind, const shard::Catalog& catalog, const shard::PlacedRow& row);

}  // namespace looseleaf::reconcile
