// Purging tombstones.
#include "ops/purge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ops/reconcile.hpp"
#include "sql/literals.hpp"
#include "sql/transaction.hpp"
#include "store/entity_rows.hpp"
#include "store/fence.hpp"
#include "store/statements.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

using store::Step;
namespace steps = store::steps;

constexpr std::size_t batch_size = 200;

std::vector<Uuid> lock_tombstones(std::uint32_t shard, sql::Connection& connection, std::span<const Uuid> ids) {
  const Step step(steps::purge_lock_entities, shard);
  std::vector<Uuid> tombstones;
  for (const store::EntityRow& row : store::read_entities(connection, ids, store::Lock::exclusive)) {
    if (!row.body) {
      tombstones.push_back(row.id);
    }
  }
  return tombstones;
}

store::Catalog lock_fence(std::uint32_t shard, sql::Connection& connection) {
  const Step step(steps::purge_fence, shard);
  static_cast<void>(store::lock_fence_shared(connection));
  return store::load_catalog(connection);
}

void spare_those_with_rows(store::Shards& shards, std::uint32_t shard, const std::vector<store::Lease>& leases,
                           const store::Catalog& catalog, std::vector<Uuid>& tombstones) {
  const Step step(steps::purge_read_index_rows, shard);
  for (const PlacedRow& row : read_rows(shards, leases, catalog, tombstones)) {
    std::erase(tombstones, row.entry.entity_id);
  }
}

std::uint64_t remove(std::uint32_t shard, sql::Connection& connection, const std::vector<Uuid>& tombstones) {
  const Step step(steps::purge_delete, shard);
  return connection.execute("DELETE FROM entities WHERE id IN (" + store::id_list(tombstones) + ") AND body IS NULL");
}

// Locks the tombstones among `ids` and removes those that no index row refers to. The rows are looked for with the
// tombstone locked: nobody can put the entity meanwhile.
std::uint64_t purge_batch(store::Shards& shards, std::uint32_t shard, std::span<const Uuid> ids) {
  const base::Deadline deadline = shards.deadline();
  return sql::with_retries(deadline, [&]() -> std::uint64_t {
    const auto leases = connect_all(shards, deadline);
    const store::Lease lease = shards.connect(shard, deadline);
    return store::on_shard(shards, shard, [&]() -> std::uint64_t {
      sql::Transaction transaction(*lease);
      const store::Catalog catalog = lock_fence(shard, *lease);
      std::vector<Uuid> tombstones = lock_tombstones(shard, *lease, ids);
      spare_those_with_rows(shards, shard, leases, catalog, tombstones);
      if (tombstones.empty()) {
        return 0;
      }
      const std::uint64_t removed = remove(shard, *lease, tombstones);
      const Step step(steps::purge_commit, shard);
      transaction.commit();
      return removed;
    });
  });
}

}  // namespace

std::uint64_t purge(store::Shards& shards, std::uint32_t shard, base::Stamp from, base::Stamp before,
                    base::Stamp& settled) {
  settled = from;
  std::uint64_t removed = 0;
  bool all_removed = true;
  std::string above = fmt::format("updated >= {}", sql::stamp_literal(from));
  while (from < before) {
    const base::Deadline deadline = shards.deadline();
    const sql::Result rows = store::with_shard(shards, shard, deadline, [&](sql::Connection& connection) {
      return connection.query(
          fmt::format("SELECT id, updated, added_id FROM entities WHERE {} AND updated < {} AND body IS NULL "
                      "ORDER BY updated, added_id LIMIT {}",
                      above, sql::stamp_literal(before), batch_size));
    });
    if (rows.empty()) {
      break;
    }
    std::vector<Uuid> ids;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ids.push_back(store::require_uuid(rows.text(i, 0)));
    }
    reconcile_in_slices(shards, shard, ids, ReconcileMode::repair, [] {});
    std::uint64_t gone = 0;
    in_batches(ids, ids.size(), [&](std::span<const Uuid> batch) { gone += purge_batch(shards, shard, batch); });
    removed += gone;
    all_removed = all_removed && gone == ids.size();
    const base::Stamp last = base::parse_stamp(rows.text(rows.size() - 1, 1));
    settled = all_removed ? last : settled;
    above = fmt::format("updated >= {0} AND (updated > {0} OR added_id > {1})", sql::stamp_literal(last),
                        rows.unsigned_integer(rows.size() - 1, 2));
  }
  settled = all_removed ? std::max(settled, before) : settled;
  return removed;
}

}  // namespace looseleaf::ops
