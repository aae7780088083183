// The write protocol: attempts, each of which is a transaction for some of a batch's writes, until all are decided.
// docs/protocol.md describes the steps.
#include "write/put.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "shard/access.hpp"
#include "shard/placed_rows.hpp"
#include "shard/placement.hpp"
#include "sql/retry.hpp"
#include "write/batch_transaction.hpp"
#include "write/buffering.hpp"
#include "write/entity_writes.hpp"
#include "write/failed_attempts.hpp"
#include "write/index_connections.hpp"
#include "write/old_bodies.hpp"
#include "write/resolve.hpp"
#include "write/tidy.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::write {
namespace {

// How long a batch waits for the entity that has a unique value of one of its writes.
constexpr std::chrono::milliseconds wait_for_holder(500);
// How long it waits for a row that its shard does not maintain any more: while an index is dropped, one shard after the
// other ceases to.
constexpr std::chrono::seconds wait_for_drop(5);

// Returns true if writers maintain the same indexes by both catalogs, whatever their epochs.
bool same_indexes(const shard::Catalog& a, const shard::Catalog& b) {
  return std::equal(a.indexes.begin(), a.indexes.end(), b.indexes.begin(), b.indexes.end(),
                    [](const shard::CatalogIndex& one, const shard::CatalogIndex& other) {
                      return one.definition.table == other.definition.table && one.generation == other.generation &&
                             one.maintained() == other.maintained();
                    });
}

class BatchWriter {
 public:
  // For `last_ids_were_new` see Writer.
  // Attempts are made until `deadline`. A commit in doubt is looked into until `resolve_until`.
  BatchWriter(shard::Shards& shards, std::vector<std::atomic<bool>>& last_ids_were_new, const base::Deadline& deadline,
              const base::Deadline& resolve_until, HeldShards held)
      : shards_(shards),
        last_ids_were_new_(last_ids_were_new),
        deadline_(deadline),
        resolve_until_(resolve_until),
        held_(held),
        failed_(shards) {}

  // Decides all items but those that it hands back.
  void run(const Items& items) {
    items_ = &items;
    sql::Backoff backoff;
    while (true) {
      const Items pending = undecided(items);
      if (pending.empty()) {
        break;
      }
      if (failed_ && deadline_.passed()) {
        give_up(pending);
        continue;
      }
      for (const Items& group : failed_.groups(pending)) {
        attempt_and_catch(group);
        if (failed_ && deadline_.passed()) {
          break;
        }
      }
      if (std::none_of(pending.begin(), pending.end(), [](const Item* item) { return item->decided; })) {
        backoff.wait(deadline_);
      }
    }
    for (Item* item : items) {
      item->reconcile = item->reconcile || (item->tried && item->write->result->status != WriteStatus::stored);
    }
    reconcile_touched(shards_, items, deadline_);
  }

 private:
  // Returns the items to try now. Items that need no unreachable shard come first, and last those that wait for others:
  // if all do, they wait for each other.
  [[nodiscard]] Items undecided(const Items& items) {
    Items now, later, waiting;
    for (Item* item : items) {
      if (is_undecided(*item)) {
        const bool waits = item->waits_for != nullptr && is_undecided(*item->waits_for);
        (waits ? waiting : item->deferred ? later : now).push_back(item);
      }
    }
    all_wait_ = now.empty() && later.empty();
    return !now.empty() ? now : !later.empty() ? later : waiting;
  }

  [[nodiscard]] bool is_undecided(const Item& item) const { return !item.decided && !is_to_be_handed_back(item); }

  // Returns true if the item waits for its shard's fence, and no row of it may have been inserted.
  [[nodiscard]] bool is_to_be_handed_back(const Item& item) const {
    return held_ == HeldShards::hand_back && item.held && !item.reconcile && !item.tried;
  }

  // Lets items fail because the deadline has passed, each with the last error of its shard.
  void give_up(const Items& items) {
    for (const auto& [shard, of_shard] : by_shard(items)) {
      fail(of_shard, failed_.why_not_stored(shard));
    }
  }

  // After an error that may concern one shard alone, that shard is tried alone, and after another one all are. So it is
  // that shard's items that fail or wait.
  void attempt_and_catch(const Items& items) {
    const bool one_shard =
        std::all_of(items.begin(), items.end(), [&](const Item* item) { return item->shard == items.front()->shard; });
    std::optional<std::uint32_t> named;  // by the error, before the first item's shard is added
    try {
      shard::on_shard(shards_, items.front()->shard, [&] {
        try {
          attempt(items);
        } catch (const shard::AboutToMove& move) {
          shard::undo_if_overdue(shards_, move, deadline_);
          throw;
        } catch (const Error& error) {
          named = server::shard_named_by(error);
          throw;
        }
      });
    } catch (const sql::ServerError& error) {
      failed_.note(items, named, error);
      const bool final = !error.retryable() && error.error_class() != sql::ErrorClass::duplicate_key;
      if (one_shard && final) {
        fail(items, error);
      }
      if (final || error.error_class() == sql::ErrorClass::conflict) {
        failed_.separate(items, named);
      }
    } catch (const Error& error) {
      failed_.note(items, named, error);
      if (one_shard) {
        fail(items, error);
      }
      failed_.separate(items, named);
    }
  }

  // Runs one transaction. The caller retries items that the transaction does not decide. A ServerError thrown by it has
  // decided nothing.
  void attempt(const Items& items) {
    for (Item* item : items) {
      item->held = false;
    }
    Batch batch = with_expected_rows(items);
    const Transacted done = connect_and_transact(batch);  // no session is on loan any more
    switch (done.ending) {
      case Ending::committed:
        delete_old_rows(shards_, *batch.catalog, batch.epochs, done.written, deadline_);
        break;
      case Ending::in_doubt:
        resolve(shards_, *batch.catalog, done.written, resolve_until_);
        break;
      case Ending::blocked:
        note_tried(done.written, done.blocked);
        clear_the_way(*batch.catalog, done.blocked);
        break;
      case Ending::id_exists:
      case Ending::rolled_back:
        break;
    }
  }

  // Deals with what keeps rows from being inserted: other rows of the same entities, and rows of other entities.
  void clear_the_way(const shard::Catalog& catalog, const std::vector<BlockedWrite>& blocked) {
    Items own;
    std::set<std::uint32_t> own_on;
    std::map<std::uint32_t, std::vector<BlockedWrite>> by_holder;  // by the holder's shard
    for (const BlockedWrite& write : blocked) {
      if (!write.row.holder) {
        own.push_back(write.item);
        own_on.insert(write.row.wanted.shard);
        continue;
      }
      const auto other = std::find_if(items_->begin(), items_->end(),
                                      [&](const Item* item) { return item->write->id == *write.row.holder; });
      if (other != items_->end() && is_undecided(**other) && !all_wait_) {
        write.item->waits_for = *other;
      } else {
        by_holder[shard::shard_of(*write.row.holder, shards_.count())].push_back(write);
      }
    }
    for (const auto& [shard, writes] : by_holder) {
      reject_or_wait(catalog, writes);
    }
    if (!own.empty()) {
      write::clear_the_way(shards_, own, own_on, deadline_);
      for (const Item* item : own) {
        failed_.separate(item->shard);
      }
    }
  }

  // If the holders' shard cannot be asked soon, or a row is there again, the other writes of the batch come first.
  void reject_or_wait(const shard::Catalog& catalog, const std::vector<BlockedWrite>& blocked) {
    const bool deferred = std::all_of(blocked.begin(), blocked.end(), [](const auto& b) { return b.item->deferred; });
    const auto patience = deferred ? deadline_.left() : std::min(deadline_.left(), wait_for_holder);
    Error failure(ErrorCode::unavailable, "a row with the same values in a unique index persisted until the timeout",
                  {}, "retry");
    const std::uint32_t holder_shard = shard::shard_of(*blocked.front().row.holder, shards_.count());
    bool again = true;
    std::vector<BlockedWrite> left = blocked;
    try {
      reject_or_clear(shards_, catalog, blocked, base::Deadline(patience));
      if (!deadline_.passed()) {
        std::erase_if(left, [](const BlockedWrite& write) { return write.item->decided || is_cleared_now(write); });
      }
      give_up_what_stays(catalog, left);
    } catch (const Error& error) {
      failure = error;
      again = is_worth_a_retry(error) || is_down_for_a_moment(error, holder_shard);
    }
    for (const BlockedWrite& write : left) {
      if (!write.item->decided) {
        const Error with_place = with_holder(failure, catalog, write);
        write.item->holder_shard = holder_shard;
        failed_.note({&write.item->shard, 1}, with_place);
        put_off(*write.item, with_place, again);
      }
    }
  }

  // Returns true if the shard's server fails, has no session free because of that, and was not given up yet.
  [[nodiscard]] bool is_down_for_a_moment(const Error& error, std::uint32_t shard) const {
    const auto* const server = dynamic_cast<const sql::ServerError*>(&error);
    return server != nullptr && server->error_class() == sql::ErrorClass::unreachable &&
           !shards_.sessions().has_given_up(shard);
  }

  // Returns true if the row in the way was removed for the first time.
  static bool is_cleared_now(const BlockedWrite& write) {
    return write.item->cleared.emplace(*write.row.holder, std::chrono::steady_clock::now()).second;
  }

  // Lets writes fail if a row in their way does not go away for a while, because its shard does not maintain the index.
  void give_up_what_stays(const shard::Catalog& catalog, const std::vector<BlockedWrite>& blocked) {
    for (const BlockedWrite& write : blocked) {
      const auto since = write.item->cleared.find(*write.row.holder);
      if (write.item->decided || since == write.item->cleared.end() ||
          std::chrono::steady_clock::now() - since->second < wait_for_drop) {
        continue;
      }
      if (const auto reason = why_row_stays(shards_, catalog, write, deadline_)) {
        decide(*write.item, WriteStatus::failed, with_holder(*reason, catalog, write));
      }
    }
  }

  // Takes the items whose shards have the same indexes as the first one's, and computes their rows.
  Batch with_expected_rows(const Items& items) {
    Batch batch;
    for (const auto& [shard, of_shard] : by_shard(items)) {
      const auto catalog = shard::on_shard(shards_, shard, [&] { return shards_.catalog(shard, deadline_); });
      if (!batch.catalog) {
        batch.catalog = catalog;
      } else if (!same_indexes(*catalog, *batch.catalog)) {
        continue;
      }
      batch.epochs.emplace(shard, catalog->epoch);
      for (Item* item : of_shard) {
        ExpectedRows expected = expected_rows(*catalog, *item);
        item->reconcile = item->reconcile || (item->tried && expected.rows != item->rows);
        item->rows = std::move(expected.rows);
        if (!item->write->is_copy) {
          item->too_long = std::move(expected.too_long);
        }
        batch.items.push_back(item);
      }
    }
    batch.items = without_equal_values(*batch.catalog, batch.items);
    return batch;
  }

  [[nodiscard]] ExpectedRows expected_rows(const shard::Catalog& catalog, const Item& item) const {
    const Write& write = *item.write;
    if (write.expected && write.expected->epoch == catalog.epoch) {
      return *write.expected;
    }
    if (!write.body || catalog.indexes.empty()) {
      return {};
    }
    const model::ParsedEntity entity = parse_stored_body(*write.body);
    return {catalog.epoch, shard::placed_rows(catalog, write.id, &entity, item.shard, shards_.count()),
            too_long(catalog, entity)};
  }

  // Takes all sessions before any lock, in an order that all operations follow: those for index rows before the one for
  // entities, and the servers in ascending order.
  Transacted connect_and_transact(Batch& batch) {
    const std::uint32_t first = batch.items.front()->shard;
    if (shards_.sessions().is_failing(first)) {  // it is waited for without the sessions that others need
      static_cast<void>(shards_.connect(first, deadline_));
    }
    shard::ServerLeases index_leases(shards_.sessions());
    batch.items = connect_index_shards(batch.items, index_leases);
    if (batch.items.empty()) {
      return {};
    }
    shard::Lease lease = shards_.connect(batch.items.front()->shard, deadline_);
    batch.items = refuse_too_large(batch.items, lease->facts().max_allowed_packet);
    std::vector<std::uint32_t> shards;
    for (const auto& [shard, of_shard] : by_shard(batch.items)) {
      shards.push_back(shard);
    }
    if (shards.empty()) {
      return {};
    }
    lease.check(shards);
    const auto attempt_once = [&] {
      return transact(shards_, {lease, index_leases}, batch, last_ids_were_new_, static_cast<bool>(failed_), held_);
    };
    Transacted done = attempt_once();
    if (done.ending == Ending::id_exists) {
      done = attempt_once();
    }
    if (done.error) {
      failed_.note(*done.error);
    }
    if (!done.failures.empty()) {
      put_off(done.written, done.failures);
    }
    if (done.ending == Ending::in_doubt) {
      lease.discard();
    } else {
      reload_catalogs(lease, done.new_catalog, batch.items);
    }
    return done;
  }

  // Items fail if their shard's catalog cannot be read, or if the database belongs to another cluster by now.
  void reload_catalogs(shard::Lease& lease, const std::set<std::uint32_t>& shards, const Items& items) {
    for (const std::uint32_t shard : shards) {
      try {
        shard::on_shard(shards_, shard, [&] { shards_.catalogs().reload(shard, lease.on(shard)); });
      } catch (const sql::ServerError& error) {
        failed_.note(error);  // the next attempt finds the same outdated catalog
      } catch (const Error& error) {
        fail(by_shard(items).at(shard), error);
      }
    }
  }

  // Connects to every index shard that is needed. Returns the items whose shards can be reached. The others are
  // deferred, or fail if the deadline has passed.
  Items connect_index_shards(const Items& items, shard::ServerLeases& leases) {
    std::set<std::uint32_t> needed;
    for (const Item* item : items) {
      for (const shard::PlacedRow& row : item->rows) {
        needed.insert(row.shard);
      }
      if (item->write->buffered != nullptr) {
        needed.insert(item->write->buffered->read_from);
      }
    }
    const bool deferred = items.front()->deferred;
    const ShardsDown down =
        write::connect_index_shards(shards_, needed, leases, deadline_, deferred ? Wait::yes : Wait::no);
    Items reachable;
    for (Item* item : items) {
      const auto failed = std::find_if(item->rows.begin(), item->rows.end(),
                                       [&](const shard::PlacedRow& row) { return down.contains(row.shard); });
      if (failed != item->rows.end()) {
        put_off(*item, down.at(failed->shard));
      } else if (item->write->buffered != nullptr && down.contains(item->write->buffered->read_from)) {
        put_off(*item, down.at(item->write->buffered->read_from));
      } else {
        reachable.push_back(item);
      }
    }
    return reachable;
  }

  [[nodiscard]] static bool is_worth_a_retry(const Error& error) {
    const auto* const server = dynamic_cast<const sql::ServerError*>(&error);
    return server != nullptr ? server->retryable() : error.code() == ErrorCode::unavailable;
  }

  // Defers an item that needs a shard which cannot be reached, or fails it if a retry makes no sense.
  void put_off(Item& item, const Error& error) { put_off(item, error, is_worth_a_retry(error)); }
  void put_off(Item& item, const Error& error, bool again) {
    if (!again || (item.deferred && deadline_.passed())) {
      decide(item, WriteStatus::failed, error);
    }
    item.deferred = true;
  }

  // Defers or fails the items whose index rows could not be inserted. All of them start over.
  void put_off(const Items& items, const std::vector<IndexShardFailure>& failures) {
    for (const IndexShardFailure& failure : failures) {
      if (failure.error.error_class() == sql::ErrorClass::conflict && !deadline_.passed()) {
        continue;  // a conflict affects no item alone, so all are retried at once
      }
      for (Item* item : items) {
        const bool needs_it = std::any_of(item->rows.begin(), item->rows.end(),
                                          [&](const shard::PlacedRow& row) { return failure.concerns(row); });
        if (needs_it && !item->decided) {
          put_off(*item, failure.error);
        }
      }
    }
    // Some rows may have been inserted, and after a lost connection more may follow.
    const bool all_answered = std::all_of(failures.begin(), failures.end(), [](const IndexShardFailure& failure) {
      return failure.error.error_class() == sql::ErrorClass::conflict;
    });
    for (Item* item : items) {
      (all_answered ? item->tried : item->reconcile) = true;
    }
  }

  shard::Shards& shards_;
  std::vector<std::atomic<bool>>& last_ids_were_new_;
  const base::Deadline deadline_, resolve_until_;
  const HeldShards held_;
  FailedAttempts failed_;
  const Items* items_ = nullptr;
  bool all_wait_ = false;  // the items that are tried now wait for each other
};

}  // namespace

Error resource_exhausted(const std::exception& error) {
  return {ErrorCode::io,
          "this process ran out of memory or threads",
          {{"reason", error.what()}},
          "give it more, or put fewer and smaller entities at once"};
}

std::vector<std::size_t> Writer::write_batch(std::span<const Write> writes, const base::Deadline& deadline,
                                             HeldShards held) {
  std::vector<Item> items(writes.size());
  // One for all, because their ids differ. Servers parse whole numbers of 20 digits slowly: 64 bits cost 4 % of a put.
  const std::uint64_t random = base::random_u64() >> 8U;
  Items all;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    items[i].write = &writes[i];
    items[i].shard = shard::shard_of(writes[i].id, shards_.count());
    items[i].writer = writer_number(random, writes[i]);
    writes[i].result->status = WriteStatus::failed;  // until it is decided
    all.push_back(&items[i]);
  }
  std::vector<std::size_t> handed_back;
  try {
    write_or_buffer(shards_, all, deadline, [&](const Items& some, const base::Deadline& until) {
      BatchWriter(shards_, last_ids_were_new_, until, deadline, held).run(some);
    });
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!items[i].decided) {
        handed_back.push_back(i);
      }
    }
  } catch (const std::exception& error) {
    // Memory or threads ran out, so the outcome of the commit is no longer known.
    for (const Write& write : writes) {
      write.result->status = WriteStatus::unknown;
      write.result->error = resource_exhausted(error);
    }
    handed_back.clear();
  }
  return handed_back;
}

}  // namespace looseleaf::write
