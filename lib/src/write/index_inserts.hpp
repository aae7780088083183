// Inserts the index rows of a batch: put.insert_index_rows and put.make_durable of docs/protocol.md.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <set>
#include <vector>

#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"
#include "sql/errors.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Names a shard on which index rows could not be inserted.
struct IndexShardFailure {
  std::uint32_t shard;
  std::optional<std::size_t> catalog_position;  // of the index, if a retry is pointless: it may be its table alone
  sql::ServerError error;

  [[nodiscard]] bool concerns(const shard::PlacedRow& row) const {
    return row.shard == shard && (!catalog_position || row.catalog_position == *catalog_position);
  }
};

struct InsertedRows {
  std::vector<IndexShardFailure> failures;  // empty: all rows are inserted, unless one blocks them, and durable
  std::vector<shard::BlockedRow> blocked;   // rows in whose place others are
};

// Inserts the rows of all items, on each server in one transaction, on all servers at once. `leases` must serve all
// their shards. At the same time it calls `meanwhile`, if that is not empty, on the calling thread, and throws what
// that throws. If there are failures, or it throws, some rows may be inserted nevertheless.
[[nodiscard]] InsertedRows insert_index_rows(const shard::Shards& shards, const shard::ServerLeases& leases,
                                             const shard::Catalog& catalog, const Items& items,
                                             const std::function<void()>& meanwhile);

}  // namespace looseleaf::write
