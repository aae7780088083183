// Deletes the index rows that a put has just made superfluous.
#include "reconcile/superseded.hpp"

#include "reconcile/index_transactions.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::reconcile {
namespace {

using shard::Step;
namespace steps = shard::steps;

shard::ServerLeases connect_to_rows(shard::Shards& shards, const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                                    const base::Deadline& deadline) {
  shard::ServerLeases leases(shards.sessions());
  std::set<std::uint32_t> needed;
  for (const auto& [shard, on_shard] : by_shard) {
    for (const Superseded& entity : on_shard.entities) {
      for (const shard::PlacedRow& row : entity.rows) {
        needed.insert(row.shard);
      }
    }
  }
  leases.connect_all(needed, deadline, shard::Purpose::index_writes);
  return leases;
}

// Locks the entities of one shard and adds the rows of those that still have the caller's stamp. Returns true if all
// of them have it.
bool add_rows(const sql::Database& database, std::uint32_t shard, const std::vector<Superseded>& entities,
              std::set<Uuid>& ids, shard::RowsByShard& deletes) {
  const Step step(steps::reconcile_lock_entities, shard);
  std::vector<Uuid> wanted;
  for (const Superseded& entity : entities) {
    wanted.push_back(entity.id);
  }
  std::map<Uuid, base::Stamp> stamps;
  for (const shard::EntityRow& row : shard::lock_stamps_shared(database, wanted)) {
    stamps.emplace(row.id, row.updated);
  }
  bool all = true;
  for (const Superseded& entity : entities) {
    const auto stamp = stamps.find(entity.id);
    if (step.left_out() || (stamp != stamps.end() && stamp->second == entity.stamp)) {
      ids.insert(entity.id);
      for (const shard::PlacedRow& row : entity.rows) {
        shard::add_row(deletes, row);
      }
    } else {
      all = false;
    }
  }
  return all;
}

// Deletes the records in the entity transaction, which is committed after those that delete the index rows. If the
// process or a server dies between these commits, the rows are gone and the records stay, and clean looks again. In the
// other order, the records could be gone and the rows stay for good.
void delete_records(shard::Lease& lease, const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                    const std::vector<std::uint32_t>& complete) {
  for (const std::uint32_t shard : complete) {
    if (const auto& record = by_shard.at(shard).record) {
      shard::delete_cleanup_records(lease.on(shard), shard, std::span(&*record, 1));
    }
  }
}

}  // namespace

std::set<Uuid> delete_superseded(shard::Shards& shards, const shard::Catalog& catalog,
                                 const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                                 const base::Deadline& deadline) {
  const std::uint32_t first = by_shard.begin()->first;
  const shard::ServerLeases leases = connect_to_rows(shards, by_shard, deadline);
  shard::Lease lease = shards.connect(first, deadline);
  return shard::on_shard(shards, first, [&] {
    std::vector<std::uint32_t> locked;
    for (const auto& [shard, on_shard] : by_shard) {
      static_cast<void>(lease.on(shard));  // before any lock, because it may have to check the shard
      locked.push_back(shard);
    }
    sql::Transaction transaction(*lease);
    std::set<Uuid> ids;
    shard::RowsByShard deletes;
    {
      const Step step(steps::reconcile_fence, first);
      const auto fences = shard::lock_fences_shared(lease, locked);
      std::erase_if(locked, [&](std::uint32_t shard) {
        return !fences.contains(shard) || (fences.at(shard).epoch != by_shard.at(shard).epoch && !step.left_out());
      });
    }
    std::vector<std::uint32_t> complete;  // shards of which all rows will be deleted
    for (const std::uint32_t shard : locked) {
      if (add_rows(lease.on(shard), shard, by_shard.at(shard).entities, ids, deletes)) {
        complete.push_back(shard);
      }
    }
    if (!deletes.empty()) {
      IndexTransactions transactions(shards, leases, catalog);
      static_cast<void>(transactions.apply(deletes, {}));  // without inserts no row can block
      delete_records(lease, by_shard, complete);
      validate(*lease, first);
      transactions.commit();
    }
    const Step step(steps::reconcile_end, first);
    transaction.commit();
    return ids;
  });
}

}  // namespace looseleaf::reconcile
