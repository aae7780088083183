// Purges tombstones.
#include "clean/purge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "reconcile/reconcile.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/purged.hpp"
#include "shard/rows_of_entities.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::clean {
namespace {

using shard::Step;
namespace steps = shard::steps;

std::vector<shard::EntityRow> lock_tombstones(std::uint32_t shard, const sql::Database& database,
                                              std::span<const Uuid> ids, base::Stamp before) {
  const Step step(steps::purge_lock_entities, shard);
  auto rows = shard::read_entities(database, ids, shard::Lock::exclusive);
  std::erase_if(rows, [&](const shard::EntityRow& row) { return row.body || row.updated >= before; });
  return rows;
}

std::vector<Uuid> ids_of(const std::vector<shard::EntityRow>& rows) {
  std::vector<Uuid> ids;
  std::transform(rows.begin(), rows.end(), std::back_inserter(ids), [](const auto& row) { return row.id; });
  return ids;
}

std::pair<shard::Catalog, base::Stamp> lock_fence(std::uint32_t shard, const sql::Database& database) {
  const Step step(steps::purge_fence, shard);
  const base::Stamp clock_floor = shard::lock_fence_shared(database).clock_floor;
  return {shard::load_catalog(database), clock_floor};
}

void spare_those_with_rows(shard::Shards& shards, std::uint32_t shard, const shard::ServerLeases& leases,
                           const shard::Catalog& catalog, std::vector<shard::EntityRow>& tombstones) {
  const Step step(steps::purge_read_index_rows, shard);
  for (const shard::PlacedRow& row : shard::read_index_rows(shards, leases, catalog, ids_of(tombstones))) {
    std::erase_if(tombstones, [&](const shard::EntityRow& tombstone) { return tombstone.id == row.entry.entity_id; });
  }
}

// Notes for readers of the feed that these tombstones will be gone.
void note(std::uint32_t shard, const sql::Database& database, const std::vector<shard::EntityRow>& tombstones) {
  const Step step(steps::purge_note, shard);
  base::Stamp last;
  for (const shard::EntityRow& tombstone : tombstones) {
    last = std::max(last, tombstone.updated);
  }
  if (!step.left_out()) {
    shard::raise_purged_below(database, {last.micros + 1});
  }
}

std::uint64_t remove(std::uint32_t shard, const sql::Database& database,
                     const std::vector<shard::EntityRow>& tombstones, base::Stamp before) {
  const Step step(steps::purge_delete, shard);
  return database->execute(fmt::format("DELETE FROM {} WHERE id IN ({}) AND body IS NULL AND updated < {}",
                                       database.table("entities"), shard::id_list(ids_of(tombstones)),
                                       sql::stamp_literal(before)));
}

}  // namespace

Tombstones find_tombstones(shard::Shards& shards, std::uint32_t shard, const shard::StampPlace& behind,
                           base::Stamp before, std::size_t entities) {
  return shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    Tombstones found;
    shard::StampPlace end = {before, 0};
    const sql::Result last = database->query(
        fmt::format("SELECT updated, added_id FROM {} WHERE {} AND {} ORDER BY updated, added_id LIMIT {}, 1",
                    database.table("entities"), shard::later_than(behind), shard::earlier_than(end), entities - 1));
    if (!last.empty()) {
      found.next = {base::parse_stamp(last.text(0, 0)), last.unsigned_integer(0, 1)};
      end = {found.next->updated, found.next->added_id + 1};
    }
    const sql::Result rows =
        database->query(fmt::format("SELECT id FROM {} WHERE {} AND {} AND body IS NULL ORDER BY updated, added_id",
                                    database.table("entities"), shard::later_than(behind), shard::earlier_than(end)));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      found.ids.push_back(shard::require_uuid(rows.text(i, 0)));
    }
    return found;
  });
}

Purged purge(shard::Shards& shards, job::Job& job, std::uint32_t shard, std::span<const Uuid> ids, base::Stamp before) {
  reconcile::reconcile_in_slices(shards, job, shard, ids, reconcile::ReconcileMode::repair, reconcile::Pace::done);
  const base::Deadline deadline = shards.deadline();
  return sql::with_retries(deadline, [&] {
    const auto leases = shard::connect_all(shards, deadline);
    const shard::Lease lease = shards.connect(shard, deadline);
    return shard::on_shard(shards, shard, [&] {
      sql::Transaction transaction(*lease);
      const auto [catalog, clock_floor] = lock_fence(shard, *lease);
      if (clock_floor < before) {
        return Purged{.removed = 0, .all_settled = false};  // a failover has lost the barrier
      }
      std::vector<shard::EntityRow> tombstones = lock_tombstones(shard, *lease, ids, before);
      const std::size_t locked = tombstones.size();
      spare_those_with_rows(shards, shard, leases, catalog, tombstones);
      Purged purged = {0, tombstones.size() == locked};
      if (!tombstones.empty()) {
        note(shard, *lease, tombstones);
        purged.removed = remove(shard, *lease, tombstones, before);
        const Step step(steps::purge_commit, shard);
        transaction.commit();
      }
      return purged;
    });
  });
}

}  // namespace looseleaf::clean
