// Deletes the index rows that a put has just made superfluous.
#include "reconcile/superseded.hpp"

#include <exception>
#include <span>

#include "base/parallel.hpp"
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
  leases.connect_all_once(needed, deadline, shard::Purpose::index_writes);
  return leases;
}

// What the entity transaction has locked.
struct Locked {
  std::map<std::uint32_t, shard::Fence> fences;  // of shards whose catalog is still the caller's
  std::map<Uuid, base::Stamp> stamps;            // of the entities that exist
  bool has_stamps = false;                       // else they are not locked yet
};

// reconcile.fence; and reconcile.lock_entities in the same statement if there is one entity.
Locked lock_fences(shard::Lease& lease, const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                   std::span<const std::uint32_t> shards) {
  const std::uint32_t first = shards.front();
  const Step step(steps::reconcile_fence, first);
  Locked locked;
  if (const auto& entities = by_shard.at(first).entities; shards.size() == 1 && entities.size() == 1) {
    const Uuid id = entities.front().id;
    const auto [fence, entity] = shard::lock_fence_and_entity(lease.on(first), id, shard::Lock::shared, 0);
    locked.fences.emplace(first, fence);
    locked.has_stamps = true;
    if (entity) {
      locked.stamps.emplace(id, entity->updated);
    }
  } else {
    locked.fences = shard::lock_fences_shared(lease, shards, shard::Busy::wait);
  }
  std::erase_if(locked.fences, [&](const auto& entry) {
    return entry.second.epoch != by_shard.at(entry.first).epoch && !step.left_out();
  });
  return locked;
}

void lock_stamps(const sql::Database& database, const std::vector<Superseded>& entities,
                 std::map<Uuid, base::Stamp>& stamps) {
  std::vector<Uuid> wanted;
  for (const Superseded& entity : entities) {
    wanted.push_back(entity.id);
  }
  for (const shard::EntityRow& row : shard::read_stamps(database, wanted, shard::Lock::shared)) {
    stamps.emplace(row.id, row.updated);
  }
}

// Adds the rows of entities that still have the caller's stamp, or of all if that check is left out. Returns true if
// all of them have it.
bool add_rows(const std::vector<Superseded>& entities, const std::map<Uuid, base::Stamp>& stamps, bool left_out,
              std::set<Uuid>& ids, shard::RowsByShard& deletes) {
  bool all = true;
  for (const Superseded& entity : entities) {
    const auto stamp = stamps.find(entity.id);
    if (left_out || (stamp != stamps.end() && stamp->second == entity.stamp)) {
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

// The write that reconcile.prove commits. It is made while the rows are being deleted, so that it costs no time.
std::exception_ptr touch_record(shard::Lease& lease, const std::map<std::uint32_t, SupersededOnShard>& by_shard) {
  try {
    shard::touch_cleanup_record(lease.on(by_shard.begin()->first), by_shard.begin()->second.record);
    return nullptr;
  } catch (const Error&) {
    return std::current_exception();
  }
}

// Deletes the records after the commits that deleted the index rows. If the process or a server dies between these
// commits, the rows are gone and the records stay, and clean looks again. In the other order, the records could be gone
// and the rows stay for good.
void delete_records(shard::Lease& lease, const std::map<std::uint32_t, SupersededOnShard>& by_shard,
                    const std::vector<std::uint32_t>& complete) {
  for (const std::uint32_t shard : complete) {
    const SupersededOnShard& on_shard = by_shard.at(shard);
    if (!on_shard.others) {
      shard::delete_cleanup_records(lease.on(shard), shard, std::span(&on_shard.record, 1));
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
    std::vector<std::uint32_t> shards_here;
    for (const auto& [shard, on_shard] : by_shard) {
      shards_here.push_back(shard);
    }
    lease.check(shards_here);  // before any lock
    sql::Transaction transaction(*lease);
    std::set<Uuid> ids;
    shard::RowsByShard deletes;
    std::vector<std::uint32_t> complete;  // shards of which all rows will be deleted
    Locked locked = lock_fences(lease, by_shard, shards_here);
    for (const auto& [shard, fence] : locked.fences) {
      const SupersededOnShard& on_shard = by_shard.at(shard);
      const Step step(steps::reconcile_lock_entities, shard);
      if (!locked.has_stamps) {
        lock_stamps(lease.on(shard), on_shard.entities, locked.stamps);
      }
      if (add_rows(on_shard.entities, locked.stamps, step.left_out(), ids, deletes)) {
        complete.push_back(shard);
      }
    }
    if (!deletes.empty()) {
      IndexTransactions transactions(shards, leases, catalog);
      std::exception_ptr no_write;
      base::run_all({[&] { static_cast<void>(transactions.apply(deletes, {})); },  // without inserts no row can block
                     [&] { no_write = touch_record(lease, by_shard); }});
      prove(transaction, first, [&] {
        if (no_write) {
          std::rethrow_exception(no_write);
        }
      });
      transactions.commit();
      delete_records(lease, by_shard, complete);
    }
    return ids;
  });
}

}  // namespace looseleaf::reconcile
