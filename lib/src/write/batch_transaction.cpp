// The steps of a put that hold locks.
#include "write/batch_transaction.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/random.hpp"
#include "shard/access.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/transaction.hpp"
#include "write/entity_writes.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::uint64_t small_body = 64 << 10;  // an old body that is read when its row is locked

class BatchTransaction {
 public:
  BatchTransaction(shard::Shards& shards, BatchLeases leases, const Batch& batch,
                   std::vector<std::atomic<bool>>& last_ids_were_new, bool again, HeldShards held)
      : shards_(shards),
        lease_(leases.entities),
        index_leases_(leases.index),
        batch_(batch),
        last_ids_were_new_(last_ids_were_new),
        again_(again),
        held_(held) {}

  Transacted run() {
    sql::Transaction transaction(*lease_);
    if (!write_all(lock())) {
      done_.ending = Ending::id_exists;
      return std::move(done_);
    }
    if (done_.written.empty() || !check_copies(shards_, index_leases_, done_.written)) {
      return std::move(done_);
    }
    InsertedRows inserted = insert_rows_and_records();
    if (!inserted.failures.empty()) {
      done_.failures = std::move(inserted.failures);
      return std::move(done_);
    }
    done_.blocked = blocked_writes(*batch_.catalog, done_.written, inserted.blocked);
    if (!done_.blocked.empty()) {
      done_.ending = Ending::blocked;
      return std::move(done_);
    }
    commit(transaction);
    return std::move(done_);
  }

 private:
  struct Locked {
    std::map<std::uint32_t, shard::Fence> fences;
    std::optional<LockedRows> entities;  // absent if they are not locked yet
  };

  // Marks the items of shards whose fence is not free.
  Locked lock() {
    const ItemsByShard items = by_shard(batch_.items);
    Locked locked = lock_first(items);
    for (const auto& [shard, fence] : locked.fences) {
      shard::on_shard(shards_, shard, [&, shard = shard, &fence = fence] {
        shard::require_write_access(shards_, shard, lease_.on(shard), fence);
      });
      if (fence.epoch != batch_.epochs.at(shard)) {
        done_.new_catalog.insert(shard);
      }
    }
    for (const auto& [shard, of_shard] : items) {
      const bool held = !locked.fences.contains(shard);
      std::for_each(of_shard.begin(), of_shard.end(), [&](Item* item) { item->held = held; });
    }
    return locked;
  }

  // put.fence; and put.lock_entities in the same statement if there is one item. That statement waits for a fence that
  // is held, so after a conflict the fence is locked alone.
  Locked lock_first(const ItemsByShard& items) {
    const auto& [first, of_first] = *items.begin();
    const Step step(steps::put_fence, first);
    const bool waits = !again_ || held_ == HeldShards::wait_for;
    if (items.size() > 1 || of_first.size() > 1 || ids_are_likely_new(of_first) || !waits) {
      return {lock_fences(items), std::nullopt};
    }
    const Step lock_step(steps::put_lock_entities, first);
    auto [fence, row] =
        shard::lock_fence_and_entity(lease_.on(first), of_first.front()->write->id, shard::Lock::exclusive,
                                     batch_.catalog->indexes.empty() ? 0 : small_body);
    last_ids_were_new_[first] = !row;
    LockedRows rows;
    if (row) {
      rows.emplace(row->id, *std::move(row));
    }
    return {{{first, fence}}, std::move(rows)};
  }

  // Returns no fence if none is free and the items are to be handed back.
  std::map<std::uint32_t, shard::Fence> lock_fences(const ItemsByShard& items) {
    std::vector<std::uint32_t> shards;
    for (const auto& [shard, of_shard] : items) {
      shards.push_back(shard);
    }
    try {
      return shard::lock_fences_shared(lease_, shards,
                                       held_ == HeldShards::wait_for ? shard::Busy::wait : shard::Busy::refuse);
    } catch (const sql::ServerError& error) {
      if (held_ != HeldShards::hand_back || error.error_class() != sql::ErrorClass::conflict) {
        throw;
      }
      done_.error = error;  // of those that cannot be handed back
      return {};
    }
  }

  // Writes the entity rows of the shards that are locked. Returns false if an id exists that was treated as new.
  bool write_all(Locked locked) {
    ItemsByShard items = by_shard(batch_.items);
    std::erase_if(items, [&](const auto& entry) {
      return !locked.fences.contains(entry.first) || done_.new_catalog.contains(entry.first);
    });
    for (const auto& [shard, of_shard] : items) {
      const bool assume_new_ids = !locked.entities && ids_are_likely_new(of_shard);
      try {
        const Items written = shard::on_shard(shards_, shard, [&, shard = shard, &of_shard = of_shard] {
          const sql::Database database = lease_.on(shard);
          const LockedRows found = assume_new_ids    ? LockedRows()
                                   : locked.entities ? *std::move(locked.entities)
                                                     : lock_entities_of(database, of_shard);
          return write_entities(shards_, database, *batch_.catalog, locked.fences.at(shard), of_shard, found);
        });
        done_.written.insert(done_.written.end(), written.begin(), written.end());
      } catch (const sql::ServerError& error) {
        if (!assume_new_ids || error.error_class() != sql::ErrorClass::duplicate_key) {
          throw;
        }
        for (const auto& [other, theirs] : items) {
          last_ids_were_new_[other] = false;
        }
        return false;
      }
    }
    return true;
  }

  LockedRows lock_entities_of(const sql::Database& database, const Items& items) {
    LockedRows rows = lock_entities(database, items);
    last_ids_were_new_[items.front()->shard] = rows.empty();
    return rows;
  }

  // If the ids of one shard are likely new, they are treated as new, which an INSERT verifies as reliably as a lookup:
  // if there is a row, it throws ServerError(duplicate_key).
  [[nodiscard]] bool ids_are_likely_new(const Items& items) const {
    return last_ids_were_new_[items.front()->shard] && std::all_of(items.begin(), items.end(), [](const Item* item) {
             return item->write->body && item->write->condition.kind != WriteCondition::Kind::unchanged;
           });
  }

  // put.insert_index_rows, and put.write_cleanup at the same time, so that the records cost no time of their own.
  InsertedRows insert_rows_and_records() {
    const Items& written = done_.written;
    std::function<void()> write_records;
    if (std::any_of(written.begin(), written.end(), [](const Item* item) { return item->needs_cleanup(); })) {
      write_records = [&] { write_cleanup_records(); };
    }
    try {
      return insert_index_rows(shards_, index_leases_, *batch_.catalog, written, write_records);
    } catch (...) {
      mark_for_reconcile(written);  // index rows may be inserted
      throw;
    }
  }

  // Writes one record on each shard for all its items that will need a cleanup once they are committed.
  void write_cleanup_records() {
    for (const auto& [shard, of_shard] : by_shard(done_.written)) {
      Items named;
      std::copy_if(of_shard.begin(), of_shard.end(), std::back_inserter(named),
                   [](const Item* item) { return item->needs_cleanup(); });
      if (named.empty()) {
        continue;
      }
      const std::uint64_t token = base::random_token();
      for (Item* item : named) {
        item->record = token;
      }
      shard::on_shard(shards_, shard, [&, shard = shard] {
        shard::insert_cleanup_record(lease_.on(shard), shard, token, ids_of(named));
      });
    }
  }

  void commit(sql::Transaction& transaction) {
    try {
      const Step step(steps::put_commit, done_.written.front()->shard);
      transaction.commit();
    } catch (const sql::ServerError& error) {
      done_.error = error;
      done_.ending = Ending::in_doubt;
      return;
    }
    // From now on no error may let them be written again, because that could undo another writer's write.
    for (Item* item : done_.written) {
      decide(*item, WriteStatus::stored);
    }
    done_.ending = Ending::committed;
  }

  shard::Shards& shards_;
  shard::Lease& lease_;
  const shard::ServerLeases& index_leases_;
  const Batch& batch_;
  std::vector<std::atomic<bool>>& last_ids_were_new_;
  const bool again_;
  const HeldShards held_;
  Transacted done_;
};

}  // namespace

Transacted transact(shard::Shards& shards, BatchLeases leases, const Batch& batch,
                    std::vector<std::atomic<bool>>& last_ids_were_new, bool again, HeldShards held) {
  return BatchTransaction(shards, leases, batch, last_ids_were_new, again, held).run();
}

}  // namespace looseleaf::write
