// The write protocol: index rows are inserted before the commit, and the fence is held around both. docs/protocol.md
// describes the steps.
#include "write/put.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/immutability.hpp"
#include "reconcile/reconcile.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placed_rows.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t max_stored_body = 16777215;  // the limit of MEDIUMBLOB
constexpr std::uint64_t max_old_bodies = 1 << 20;  // bytes of stored bodies that one comparison reads
// The time that a put may still spend on repairing index rows after its outcome is decided.
constexpr std::chrono::milliseconds shortest_tidying(500), longest_tidying(5000);

// One write on its way through the protocol.
struct Item {
  const Write* write = nullptr;
  bool decided = false;                // the outcome is final
  bool deferred = false;               // waits for an index shard that is down, while the other items proceed
  bool reconcile = false;              // the index tables may have superfluous rows of this entity
  std::vector<shard::PlacedRow> rows;  // the rows expected once this write is stored
  std::set<std::uint32_t> new_on;      // shards of the expected rows that the old body does not call for
  std::uint64_t added_id = 0;          // of the entity's row; 0: a new row
  base::Stamp stamp;                   // the stamp to be written
};

using Items = std::vector<Item*>;

// Names an index shard on which rows of an attempt could not be inserted.
struct IndexShardFailure {
  std::uint32_t shard;
  sql::ServerError error;
};

void decide(Item& item, WriteStatus status, std::optional<Error> error = {}) {
  item.decided = true;
  item.write->result->status = status;
  item.write->result->error = std::move(error);
}

model::ParsedEntity read_body(const std::string& body) {
  return model::ParsedEntity(codec::decode_body(body, model::max_body_size));
}

class BatchWriter {
 public:
  // For `last_ids_were_new` see Writer.
  BatchWriter(shard::Shards& shards, std::uint32_t entity_shard, std::atomic<bool>& last_ids_were_new,
              const base::Deadline& deadline)
      : shards_(shards), entity_shard_(entity_shard), last_ids_were_new_(last_ids_were_new), deadline_(deadline) {}

  void run(std::vector<Item>& items) {
    sql::Backoff backoff;
    while (true) {
      const Items pending = undecided(items);
      if (pending.empty()) {
        break;
      }
      if (last_error_ && deadline_.passed()) {
        fail(pending, *last_error_);
        continue;
      }
      try {
        shard::on_shard(shards_, entity_shard_, [&] { attempt(pending); });
      } catch (const sql::ServerError& error) {
        last_error_ = error;
        if (!error.retryable() && error.error_class() != sql::ErrorClass::duplicate_key) {
          fail(pending, error);
        }
      } catch (const Error& error) {
        fail(pending, error);
      }
      if (std::none_of(pending.begin(), pending.end(), [](const Item* item) { return item->decided; })) {
        backoff.wait(deadline_);
      }
    }
    reconcile_touched(items);
  }

 private:
  // Returns the items to try now. Items that need no unreachable index shard come first.
  static Items undecided(std::vector<Item>& items) {
    Items now, later;
    for (Item& item : items) {
      if (!item.decided) {
        (item.deferred ? later : now).push_back(&item);
      }
    }
    return now.empty() ? later : now;
  }

  static void fail(const Items& items, const Error& error) {
    for (Item* item : items) {
      if (!item->decided) {
        item->reconcile = item->reconcile || !item->rows.empty();  // some of its rows may already be inserted
        decide(*item, WriteStatus::failed, error);
      }
    }
  }

  // Runs one transaction. The caller retries items that the transaction does not decide. A ServerError thrown by it has
  // decided nothing.
  void attempt(const Items& items) {
    const auto catalog = shards_.catalog(entity_shard_, deadline_);
    for (Item* item : items) {
      item->rows = expected_rows(*catalog, *item->write);
      item->new_on.clear();
      for (const shard::PlacedRow& row : item->rows) {
        item->new_on.insert(row.shard);
      }
    }
    shard::Lease lease = shards_.connect(entity_shard_, deadline_);
    Items batch = refuse_too_large(items, lease->max_allowed_packet());
    shard::ServerLeases index_leases(shards_.sessions());
    batch = connect_index_shards(batch, index_leases);
    if (batch.empty()) {
      return;
    }
    const bool assume_new_ids =
        last_ids_were_new_.load() &&
        std::all_of(batch.begin(), batch.end(), [](const Item* item) { return item->write->body; });
    Transacted done = transact(*lease, *catalog, batch, index_leases, assume_new_ids);
    if (done.ending == Ending::id_exists) {
      last_ids_were_new_ = false;
      done = transact(*lease, *catalog, batch, index_leases, false);
    }
    switch (done.ending) {
      case Ending::committed:
        for (Item* item : done.written) {
          decide(*item, WriteStatus::stored);
        }
        break;
      case Ending::in_doubt:
        lease.discard();
        resolve(*catalog, done.written);
        break;
      case Ending::blocked:
        for (Item* item : done.written) {
          item->reconcile = true;  // its rows may be inserted although the write may still be rejected
        }
        clear_the_way(done.blocked);
        break;
      case Ending::catalog_changed:
        shards_.catalogs().reload(entity_shard_, *lease);
        break;
      case Ending::rolled_back:
      case Ending::id_exists:
        break;
    }
  }

  enum class Ending { committed, in_doubt, blocked, catalog_changed, id_exists, rolled_back };

  struct Transacted {
    Ending ending;
    Items written;  // with committed, in_doubt and blocked
    Items blocked;  // with blocked: those with a conflicting row
  };

  // Runs the steps from put.fence to put.commit. With `assume_new_ids`, it treats all ids as new, which an INSERT
  // verifies as reliably as a lookup, and ends with id_exists if that was wrong.
  Transacted transact(const sql::Database& database, const shard::Catalog& catalog, const Items& items,
                      shard::ServerLeases& index_leases, bool assume_new_ids) {
    sql::Transaction transaction(database);
    const shard::Fence fence = lock_fence(database);
    if (fence.epoch != catalog.epoch) {
      return {Ending::catalog_changed, {}, {}};
    }
    Items written;
    try {
      written = write_entities(database, catalog, fence, items, assume_new_ids);
    } catch (const sql::ServerError& error) {
      if (assume_new_ids && error.error_class() == sql::ErrorClass::duplicate_key) {
        return {Ending::id_exists, {}, {}};
      }
      throw;
    }
    if (written.empty()) {
      return {Ending::rolled_back, {}, {}};
    }
    std::optional<Items> blocked = insert_index_rows(catalog, written, index_leases);
    if (!blocked) {
      return {Ending::rolled_back, {}, {}};
    }
    if (!blocked->empty()) {
      return {Ending::blocked, std::move(written), *std::move(blocked)};
    }
    try {
      const Step step(steps::put_commit, entity_shard_);
      transaction.commit();
    } catch (const sql::ServerError& error) {
      last_error_ = error;
      return {Ending::in_doubt, std::move(written), {}};
    }
    return {Ending::committed, std::move(written), {}};
  }

  [[nodiscard]] shard::Fence lock_fence(const sql::Database& database) const {
    const Step step(steps::put_fence, entity_shard_);
    return shard::lock_fence_shared(database);
  }

  [[nodiscard]] std::vector<shard::PlacedRow> expected_rows(const shard::Catalog& catalog, const Write& write) const {
    if (write.expected && write.expected->epoch == catalog.epoch) {
      return write.expected->rows;
    }
    if (!write.body || catalog.indexes.empty()) {
      return {};
    }
    const model::ParsedEntity entity = read_body(*write.body);
    return shard::placed_rows(catalog, write.id, &entity, entity_shard_, shards_.count());
  }

  Items refuse_too_large(const Items& items, std::uint64_t max_packet) {
    Items fitting;
    for (Item* item : items) {
      const std::size_t size = item->write->body ? item->write->body->size() : 0;
      if (size > max_stored_body) {
        decide(*item, WriteStatus::rejected,
               Error(ErrorCode::bad_entity, "body too large", {{"compressed", fmt::format("{} bytes", size)}},
                     fmt::format("shorten it to at most {} bytes when compressed", max_stored_body)));
      } else if (shard::statement_size(size) > max_packet) {
        decide(*item, WriteStatus::rejected,
               Error(ErrorCode::bad_entity, "body exceeds the server's max_allowed_packet",
                     {{"needed", fmt::format("{} bytes", shard::statement_size(size))},
                      {"max_allowed_packet", fmt::format("{} bytes", max_packet)}},
                     "raise max_allowed_packet on every server of the cluster"));
      } else {
        fitting.push_back(item);
      }
    }
    return fitting;
  }

  // Connects to every index shard that is needed, before any lock is held. Items whose shards cannot be reached are
  // deferred, or fail if the deadline has passed.
  Items connect_index_shards(const Items& items, shard::ServerLeases& leases) {
    std::set<std::uint32_t> connected;
    std::map<std::uint32_t, sql::ServerError> down;
    for (const Item* item : items) {
      for (const shard::PlacedRow& row : item->rows) {
        if (connected.contains(row.shard) || down.contains(row.shard)) {
          continue;
        }
        try {
          if (item->deferred) {
            leases.connect(row.shard, deadline_, shard::Purpose::index_writes);
          } else {
            leases.connect_once(row.shard, shard::Purpose::index_writes);
          }
          connected.insert(row.shard);
        } catch (const sql::ServerError& error) {
          down.emplace(row.shard, error);
        }
      }
    }
    Items reachable;
    for (Item* item : items) {
      const auto failed = std::find_if(item->rows.begin(), item->rows.end(),
                                       [&](const shard::PlacedRow& row) { return down.contains(row.shard); });
      if (failed == item->rows.end()) {
        reachable.push_back(item);
      } else if (item->deferred) {  // connect() has already waited as long as it makes sense
        decide(*item, WriteStatus::failed, down.at(failed->shard));
      } else {
        put_off(*item, down.at(failed->shard));
      }
    }
    return reachable;
  }

  // Defers an item that needs an index shard which cannot be written, or fails it if a retry makes no sense.
  void put_off(Item& item, const sql::ServerError& error) {
    if (!error.retryable() || (item.deferred && deadline_.passed())) {
      decide(item, WriteStatus::failed, error);
    }
    item.deferred = true;
  }

  // put.lock_entities and put.write_entities: locks the existing rows, decides items that need no write, and writes the
  // others.
  Items write_entities(const sql::Database& database, const shard::Catalog& catalog, const shard::Fence& fence,
                       const Items& items, bool assume_new_ids) {
    std::map<Uuid, shard::EntityRow> found;
    if (!assume_new_ids) {
      found = lock_entities(database, items);
      last_ids_were_new_ = found.empty();
    }
    if (!catalog.indexes.empty()) {
      check_against_old(database, catalog, items, found);
    }
    Items written;
    std::vector<shard::EntityRow> inserts, updates;
    for (Item* item : items) {
      const auto before = found.find(item->write->id);
      if (!item->write->body && (before == found.end() || !before->second.body_size)) {
        decide(*item, WriteStatus::not_found);
      }
      if (item->decided) {
        continue;
      }
      item->added_id = 0;
      item->stamp = fence.earliest();
      if (before != found.end()) {
        item->added_id = before->second.added_id;
        item->stamp = std::max(item->stamp, base::Stamp{before->second.updated.micros + 1});
      }
      (item->added_id != 0 ? updates : inserts)
          .push_back(
              {.id = item->write->id, .added_id = item->added_id, .updated = item->stamp, .body = item->write->body});
      written.push_back(item);
    }
    const Step step(steps::put_write_entities, entity_shard_);
    shard::update_entities(database, updates);
    shard::insert_entities(database, inserts);
    return written;
  }

  [[nodiscard]] std::map<Uuid, shard::EntityRow> lock_entities(const sql::Database& database,
                                                               const Items& items) const {
    std::vector<Uuid> ids;
    for (const Item* item : items) {
      ids.push_back(item->write->id);
    }
    const Step step(steps::put_lock_entities, entity_shard_);
    std::map<Uuid, shard::EntityRow> found;
    for (shard::EntityRow& row : shard::lock_entities(database, ids)) {
      found.emplace(row.id, std::move(row));
    }
    return found;
  }

  // Compares the items with the stored bodies. It reads a few bodies at a time, because they may be much larger than
  // the new ones.
  void check_against_old(const sql::Database& database, const shard::Catalog& catalog, const Items& items,
                         const std::map<Uuid, shard::EntityRow>& found) {
    std::map<Uuid, Item*> by_id;
    for (Item* item : items) {
      by_id.emplace(item->write->id, item);
    }
    std::vector<Uuid> ids;
    std::uint64_t bytes = 0;
    const auto check_read = [&] {
      for (const shard::EntityRow& old : shard::read_entities(database, ids, shard::Lock::none)) {
        check_against(catalog, old, *by_id.at(old.id));
      }
      ids.clear();
      bytes = 0;
    };
    for (const auto& [id, row] : found) {
      if (row.body_size) {
        ids.push_back(id);
        bytes += *row.body_size;
      }
      if (bytes > max_old_bodies) {
        check_read();
      }
    }
    check_read();
  }

  // Rejects an item that would change an immutable property, and notes whether its old rows must be deleted.
  void check_against(const shard::Catalog& catalog, const shard::EntityRow& old, Item& item) const {
    std::optional<model::ParsedEntity> before;
    try {
      before.emplace(read_body(*old.body));
      // An unreadable body may be overwritten, but only the index tables show its old rows.
    } catch (const Error&) {
      item.reconcile = true;
      return;
    }
    if (item.write->body) {
      check_immutable(catalog, *before, item);
    }
    const auto old_rows = shard::placed_rows(catalog, old.id, &*before, entity_shard_, shards_.count());
    if (!std::includes(item.rows.begin(), item.rows.end(), old_rows.begin(), old_rows.end())) {
      item.reconcile = true;
    }
    item.new_on.clear();
    for (const shard::PlacedRow& row : item.rows) {
      if (!std::binary_search(old_rows.begin(), old_rows.end(), row)) {
        item.new_on.insert(row.shard);
      }
    }
  }

  static void check_immutable(const shard::Catalog& catalog, const model::ParsedEntity& before, Item& item) {
    if (const IndexDefinition* index = first_forbidding(catalog, before, *item.write->body)) {
      decide(item, WriteStatus::rejected,
             Error(ErrorCode::refused, "an immutable property would change",
                   {{"id", to_string(item.write->id)}, {"index", index->table}},
                   "delete the entity first, or drop the index and create it without \"immutable\""));
    }
  }

  // Returns the first index that forbids this change of an entity unless the entity is deleted first. Returns null if
  // there is none. A tombstone counts as an entity without any property.
  static const IndexDefinition* first_forbidding(const shard::Catalog& catalog, const model::ParsedEntity& before,
                                                 const std::optional<std::string>& after_body) {
    std::optional<model::ParsedEntity> after;
    for (const shard::CatalogIndex& index : catalog.indexes) {
      if (!index.maintained() || !index.definition.immutable) {
        continue;
      }
      if (!after) {
        after.emplace(after_body ? read_body(*after_body) : model::ParsedEntity("{}"));
      }
      if (!model::change_allowed(index.definition, before, *after)) {
        return &index.definition;
      }
    }
    return nullptr;
  }

  // put.insert_index_rows. Returns the items of UNIQUE tables that conflict with another row. Returns nothing if rows
  // on some shard could not be inserted. Their items are then deferred, and the caller must roll back and start over.
  std::optional<Items> insert_index_rows(const shard::Catalog& catalog, const Items& items,
                                         shard::ServerLeases& leases) {
    shard::RowsByShard rows;
    for (Item* item : items) {
      for (const shard::PlacedRow& row : item->rows) {
        shard::add_row(rows, row);
      }
    }
    // The rows that the old bodies call for are already durable, because they were on disk before those bodies were
    // committed. Other rows may be present but not durable, because another put inserted them and has not yet received
    // the server's answer.
    std::set<std::uint32_t> new_on;
    for (const Item* item : items) {
      new_on.insert(item->new_on.begin(), item->new_on.end());
    }
    std::set<std::uint32_t> shards;
    for (auto& [shard, by_index] : rows) {
      shards.insert(shard);
    }
    const auto groups = shard::by_server(leases, shards);
    std::vector<std::vector<IndexShardFailure>> failures(groups.size());
    std::vector<std::set<Uuid>> in_the_way(groups.size());
    std::vector<std::function<void()>> tasks;
    for (const auto& group : groups) {
      tasks.emplace_back([&, n = tasks.size(), &group = group] {
        for (const std::uint32_t shard : group) {
          try {
            shard::on_shard(shards_, shard, [&] {
              insert_on(leases.on(shard), shard, catalog, rows.at(shard), new_on.contains(shard), in_the_way[n]);
            });
          } catch (const sql::ServerError& error) {
            failures[n].push_back({shard, error});
          }
        }
      });
    }
    base::run_all(tasks);
    if (!handle_failures(failures, items)) {
      return std::nullopt;
    }
    Items blocked;
    for (Item* item : items) {
      if (std::any_of(in_the_way.begin(), in_the_way.end(),
                      [&](const auto& ids) { return ids.contains(item->write->id); })) {
        blocked.push_back(item);
      }
    }
    return blocked;
  }

  // Inserts the rows of one shard. If `make_durable`, rows that existed are on disk when it returns.
  static void insert_on(const sql::Database& database, std::uint32_t shard, const shard::Catalog& catalog,
                        shard::RowsByShard::mapped_type& rows, bool make_durable, std::set<Uuid>& in_the_way) {
    bool all_new = true;
    for (auto& [index, entries] : rows) {
      const Step step(steps::put_insert_index_rows, shard);
      if (step.left_out()) {
        continue;
      }
      std::sort(entries.begin(), entries.end());
      shard::Inserted inserted = shard::insert_or_report(database, catalog.indexes[index].definition, entries);
      in_the_way.merge(inserted.blocked);
      all_new = all_new && inserted.all_new;
    }
    if (!all_new && make_durable) {
      const Step step(steps::put_make_durable, shard);
      if (!step.left_out()) {
        shard::make_durable(database, shard);
      }
    }
  }

  // Returns false if there is a failure.
  bool handle_failures(const std::vector<std::vector<IndexShardFailure>>& failures, const Items& items) {
    std::vector<IndexShardFailure> all;
    for (const auto& part : failures) {
      all.insert(all.end(), part.begin(), part.end());
    }
    for (const IndexShardFailure& failure : all) {
      if (failure.error.error_class() == sql::ErrorClass::conflict && !deadline_.passed()) {
        continue;  // a conflict affects no item alone, so all are retried at once
      }
      for (Item* item : items) {
        const bool needs_it = std::any_of(item->rows.begin(), item->rows.end(),
                                          [&](const shard::PlacedRow& row) { return row.shard == failure.shard; });
        if (needs_it && !item->decided) {
          put_off(*item, failure.error);
        }
      }
    }
    if (!all.empty()) {
      for (Item* item : items) {
        item->reconcile = true;  // some rows may have been inserted
      }
    }
    return all.empty();
  }

  // Deletes conflicting rows that crashed puts left, which only reconcile may do. An item that reconcile cannot help
  // fails, but the rest of the batch is still stored.
  void clear_the_way(const Items& blocked) {
    std::vector<Uuid> ids;
    for (Item* item : blocked) {
      ids.push_back(item->write->id);
    }
    reconcile::ReconcileReport report;
    try {
      report = reconcile::reconcile(shards_, entity_shard_, ids, reconcile::ReconcileMode::repair, deadline_);
      reconcile::sweep_orphans(shards_, entity_shard_, report.absent, reconcile::ReconcileMode::repair, deadline_);
    } catch (const Error& error) {
      fail(blocked, error);
      return;
    }
    for (Item* item : blocked) {
      const Error::Context context = {{"id", to_string(item->write->id)}};
      const bool unreadable = std::any_of(
          report.differences.begin(), report.differences.end(), [&](const reconcile::Difference& difference) {
            return difference.kind == FindingKind::unreadable && difference.entry.entity_id == item->write->id;
          });
      if (unreadable) {  // an unreadable body does not show which of its rows are right
        decide(*item, WriteStatus::failed,
               Error(ErrorCode::corrupt, "the stored entity with this id cannot be read", context,
                     "delete it first, then put it"));
      } else if (deadline_.passed()) {
        decide(*item, WriteStatus::failed,
               Error(ErrorCode::unavailable, "a conflicting row persisted until the timeout", context, "retry"));
      }
    }
  }

  // Runs after a COMMIT whose outcome is unknown. It locks the rows on a new connection, which waits until the old
  // session is gone, and then reads them. Items that prove not to be committed stay undecided.
  void resolve(const shard::Catalog& catalog, const Items& items) {
    std::vector<Uuid> ids;
    for (Item* item : items) {
      ids.push_back(item->write->id);
      item->reconcile = true;
    }
    sql::Backoff backoff;
    while (true) {
      try {
        const shard::Lease lease = shards_.connect(entity_shard_, deadline_);
        const Step step(steps::put_resolve, entity_shard_);
        const auto rows = read_locked(*lease, ids);
        shard::make_durable(*lease, entity_shard_);
        decide_from_rows(catalog, items, rows);
        return;
      } catch (const Error& error) {
        const auto* server = dynamic_cast<const sql::ServerError*>(&error);
        const bool again = server && (server->retryable() || server->error_class() == sql::ErrorClass::unreachable);
        if (!again || deadline_.passed()) {
          leave_unknown(items, error);
          return;
        }
      }
      backoff.wait(deadline_);
    }
  }

  static std::vector<shard::EntityRow> read_locked(const sql::Database& database, std::span<const Uuid> ids) {
    const sql::Transaction transaction(database);
    return shard::read_entities(database, ids, shard::Lock::exclusive);
  }

  static void leave_unknown(const Items& items, const Error& error) {
    for (Item* item : items) {
      Error unknown(ErrorCode::outcome_unknown, "outcome of the commit is unknown", error.context(),
                    "read the entity, or put it again; a put can be repeated safely");
      decide(*item, WriteStatus::unknown, unknown.with("id", to_string(item->write->id)));
    }
  }

  static void decide_from_rows(const shard::Catalog& catalog, const Items& items,
                               const std::vector<shard::EntityRow>& rows) {
    for (Item* item : items) {
      const auto row =
          std::find_if(rows.begin(), rows.end(), [&](const auto& found) { return found.id == item->write->id; });
      if (row == rows.end() || row->updated < item->stamp) {
        continue;
      }
      if (row->updated > item->stamp) {
        decide_overtaken(catalog, *item, *row);
      } else if (row->body == item->write->body) {
        decide(*item, WriteStatus::stored);
      }
    }
  }

  // Decides an item whose row has a greater stamp, because another writer came later. Normally this write took effect
  // before that one. But if the other write would have been rejected after ours, then either ours never took effect, or
  // the entity was deleted in between. If the entity is deleted now, such a write may have come in between, so the
  // outcome is unknown.
  static void decide_overtaken(const shard::Catalog& catalog, Item& item, const shard::EntityRow& row) {
    const IndexDefinition* const forbidding =
        item.write->body ? first_forbidding(catalog, read_body(*item.write->body), row.body) : nullptr;
    if (forbidding == nullptr) {
      decide(item, WriteStatus::stored);
    } else {
      decide(item, WriteStatus::unknown,
             Error(ErrorCode::outcome_unknown, "outcome of the commit is unknown",
                   {{"id", to_string(item.write->id)}, {"index", forbidding->table}},
                   "read the entity: another writer has deleted it or given it another immutable property"));
    }
  }

  // put.reconcile. A failure here does not change the outcomes: stored entities stay stored, and `clean --full` would
  // make the same repairs later.
  void reconcile_touched(const std::vector<Item>& items) {
    std::vector<Uuid> ids;
    for (const Item& item : items) {
      if (item.reconcile) {
        ids.push_back(item.write->id);
      }
    }
    if (ids.empty()) {
      return;
    }
    const Step step(steps::put_reconcile, entity_shard_);
    try {
      const base::Deadline deadline(std::clamp(deadline_.left(), shortest_tidying, longest_tidying));
      const reconcile::ReconcileReport report =
          reconcile::reconcile(shards_, entity_shard_, ids, reconcile::ReconcileMode::repair, deadline);
      reconcile::sweep_orphans(shards_, entity_shard_, report.absent, reconcile::ReconcileMode::repair, deadline);
    } catch (const std::exception& error) {
      const auto* const known = dynamic_cast<const Error*>(&error);
      shards_.warnings().give({"index rows of some entities could not be repaired yet",
                               known != nullptr ? known->context() : Error::Context{{"reason", error.what()}},
                               "run `looseleaf clean --full` to repair them; queries stay correct until then"});
    }
  }

  shard::Shards& shards_;
  const std::uint32_t entity_shard_;
  std::atomic<bool>& last_ids_were_new_;
  const base::Deadline& deadline_;
  std::optional<Error> last_error_;
};

}  // namespace

Error resource_exhausted(const std::exception& error) {
  return {ErrorCode::io,
          "this process ran out of memory or threads",
          {{"reason", error.what()}},
          "give it more, or put fewer and smaller entities at once"};
}

void Writer::write_batch(std::uint32_t entity_shard, const std::vector<Write>& writes, const base::Deadline& deadline) {
  std::vector<Item> items(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    items[i].write = &writes[i];
    writes[i].result->status = WriteStatus::failed;  // until it is decided
  }
  try {
    BatchWriter(shards_, entity_shard, last_ids_were_new_.at(entity_shard), deadline).run(items);
  } catch (const std::exception& error) {
    // Memory or threads ran out, so the outcome of the commit is no longer known.
    for (const Write& write : writes) {
      write.result->status = WriteStatus::unknown;
      write.result->error = resource_exhausted(error);
    }
  }
}

}  // namespace looseleaf::write
