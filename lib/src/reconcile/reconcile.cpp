// Reconciles entities and sweeps orphans (docs/protocol.md).
#include "reconcile/reconcile.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/parsed_entity.hpp"
#include "reconcile/index_transactions.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::reconcile {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t batch_size = 200;    // entities locked at once
constexpr std::size_t max_changes = 5000;  // index rows changed while the entities are locked
constexpr std::size_t max_orphans = 1000;  // index rows deleted while the fence is held exclusively

// The index rows that the locked entities call for.
struct Expectation {
  std::vector<shard::PlacedRow> rows;  // sorted
  std::set<Uuid> known;                // readable entities, including tombstones
  std::vector<Uuid> unreadable;
};

Expectation expect(const shard::Shards& shards, const shard::Catalog& catalog, std::uint32_t entity_shard,
                   const std::vector<shard::EntityRow>& entities) {
  Expectation expectation;
  for (const shard::EntityRow& entity : entities) {
    std::optional<model::ParsedEntity> stored;
    try {
      if (entity.body) {
        stored.emplace(codec::decode_body(*entity.body, model::max_body_size));
      }
    } catch (const Error&) {
      expectation.unreadable.push_back(entity.id);
      continue;
    }
    expectation.known.insert(entity.id);
    auto rows = shard::placed_rows(catalog, entity.id, stored ? &*stored : nullptr, entity_shard, shards.count());
    std::move(rows.begin(), rows.end(), std::back_inserter(expectation.rows));
  }
  std::sort(expectation.rows.begin(), expectation.rows.end());
  return expectation;
}

Difference difference(FindingKind kind, const shard::Catalog& catalog, const shard::PlacedRow& row) {
  const shard::CatalogIndex& index = catalog.indexes[row.catalog_position];
  return {kind, index.definition.table, index.generation, row.shard, row.entry};
}

// Reconciles one batch of ids of one entity shard.
class Reconciliation {
 public:
  Reconciliation(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids, ReconcileMode mode,
                 const base::Deadline& deadline)
      : shards_(shards), entity_shard_(entity_shard), ids_(ids), mode_(mode), deadline_(deadline) {}

  ReconcileReport run() {
    sql::Backoff backoff;
    while (true) {
      const bool ended = sql::with_retries(deadline_, [&] { return attempt(); });
      if (ended) {
        return std::move(report_);
      }
      if (deadline_.passed()) {
        throw Error(ErrorCode::unavailable, "entities could not be reconciled before the timeout",
                    {{"id", to_string(ids_.front())}},
                    "run `looseleaf verify`; if it reports a table that differs, repair that table first");
      }
      backoff.wait(deadline_);
    }
  }

  // Does one round. Returns false if another round is needed: the catalog changed, a row blocked an insert, or there
  // were too many changes for one round.
  bool attempt() {
    const auto catalog = shards_.catalog(entity_shard_, deadline_);
    const shard::ServerLeases leases = shard::connect_all(shards_, deadline_);
    const shard::Lease entity_lease = shards_.connect(entity_shard_, deadline_);
    return shard::on_shard(shards_, entity_shard_, [&] {
      sql::Transaction transaction(*entity_lease);
      if (lock_fence(*entity_lease) != catalog->epoch) {
        transaction.roll_back();
        shards_.catalogs().reload(entity_shard_, *entity_lease);
        return false;
      }
      const auto entities = lock_entities(*entity_lease);
      const Expectation expected = expect(shards_, *catalog, entity_shard_, entities);
      const std::vector<shard::PlacedRow> actual = read_index_rows(leases, *catalog);
      Changes changes;
      ReconcileReport report = compare(*catalog, expected, actual, changes);
      note_absent(entities, report);
      note_stamps(entities, report);
      if (!repaired_some_) {
        report_ = std::move(report);  // later rounds find only the differences that remained
      }
      if (mode_ == ReconcileMode::examine || changes.empty()) {
        shard::require_still_writable(*entity_lease);
        return true;
      }
      if (!repair(*catalog, leases, *entity_lease, changes)) {
        return false;
      }
      end(transaction);
      repaired_some_ = true;
      return !changes.more;
    });
  }

  [[nodiscard]] std::uint64_t lock_fence(const sql::Database& database) const {
    const Step step(steps::reconcile_fence, entity_shard_);
    return shard::lock_fence_shared(database).epoch;
  }

  [[nodiscard]] std::vector<shard::EntityRow> lock_entities(const sql::Database& database) const {
    const Step step(steps::reconcile_lock_entities, entity_shard_);
    return shard::read_entities(database, ids_, shard::Lock::shared);
  }

  [[nodiscard]] std::vector<shard::PlacedRow> read_index_rows(const shard::ServerLeases& leases,
                                                              const shard::Catalog& catalog) const {
    const Step step(steps::reconcile_read_index_rows, entity_shard_);
    return shard::read_rows(shards_, leases, catalog, ids_);
  }

  void end(sql::Transaction& transaction) const {
    const Step step(steps::reconcile_end, entity_shard_);
    transaction.roll_back();
  }

  // The rows that a round deletes and inserts. They are limited, because the fence and the entities are locked
  // meanwhile.
  struct Changes {
    shard::RowsByShard deletes, inserts;
    std::size_t rows = 0;
    bool more = false;

    [[nodiscard]] bool empty() const { return rows == 0; }
    void add(shard::RowsByShard& to, const shard::PlacedRow& row) {
      if (rows == max_changes) {
        more = true;
        return;
      }
      shard::add_row(to, row);
      ++rows;
    }
  };

  ReconcileReport compare(const shard::Catalog& catalog, const Expectation& expected,
                          const std::vector<shard::PlacedRow>& actual, Changes& changes) const {
    ReconcileReport report;
    std::vector<shard::PlacedRow> missing, extra;
    std::set_difference(expected.rows.begin(), expected.rows.end(), actual.begin(), actual.end(),
                        std::back_inserter(missing));
    std::set_difference(actual.begin(), actual.end(), expected.rows.begin(), expected.rows.end(),
                        std::back_inserter(extra));
    // In a UNIQUE table an extra row can block the insert of a missing row. So the extra rows are added first, and are
    // deleted in the same round.
    for (const shard::PlacedRow& row : extra) {
      if (!expected.known.contains(row.entry.entity_id)) {
        continue;  // its entity is absent (see sweep_orphans) or unreadable
      }
      report.differences.push_back(difference(kind_of_extra(catalog, expected, row), catalog, row));
      changes.add(changes.deletes, row);
    }
    for (const shard::PlacedRow& row : missing) {
      report.differences.push_back(difference(FindingKind::missing, catalog, row));
      changes.add(changes.inserts, row);
    }
    for (const Uuid& id : expected.unreadable) {
      report.differences.push_back({FindingKind::unreadable, {}, 0, entity_shard_, {{}, id}});
    }
    return report;
  }

  [[nodiscard]] FindingKind kind_of_extra(const shard::Catalog& catalog, const Expectation& expected,
                                          const shard::PlacedRow& row) const {
    if (expected_elsewhere(expected, row)) {
      return FindingKind::misplaced;
    }
    const bool has_another =
        catalog.indexes[row.catalog_position].definition.immutable &&
        std::any_of(expected.rows.begin(), expected.rows.end(), [&](const shard::PlacedRow& other) {
          return other.catalog_position == row.catalog_position && other.entry.entity_id == row.entry.entity_id;
        });
    return has_another ? FindingKind::duplicate : FindingKind::stale;
  }

  [[nodiscard]] bool expected_elsewhere(const Expectation& expected, shard::PlacedRow row) const {
    for (row.shard = 0; row.shard < shards_.count(); ++row.shard) {
      if (std::binary_search(expected.rows.begin(), expected.rows.end(), row)) {
        return true;
      }
    }
    return false;
  }

  // Returns false if a row blocked an insert. Then nothing was changed.
  bool repair(const shard::Catalog& catalog, const shard::ServerLeases& leases, const sql::Database& entity_database,
              const Changes& changes) {
    if (!changes.deletes.empty()) {
      const Step step(steps::reconcile_make_durable, entity_shard_);
      if (!step.left_out()) {
        // Otherwise a crash could restore an old body that calls for the rows deleted below.
        shard::make_durable(leases.on(entity_shard_), entity_shard_);
      }
    }
    IndexTransactions transactions(shards_, leases, catalog);
    if (!transactions.apply(changes.deletes, changes.inserts)) {
      return false;
    }
    validate(entity_database, entity_shard_);
    transactions.commit();
    return true;
  }

  static void note_stamps(const std::vector<shard::EntityRow>& entities, ReconcileReport& report) {
    std::map<Uuid, base::Stamp> stamps;
    for (const shard::EntityRow& entity : entities) {
      stamps.emplace(entity.id, entity.updated);
    }
    for (Difference& difference : report.differences) {
      difference.updated = stamps[difference.entry.entity_id];
    }
  }

  void note_absent(const std::vector<shard::EntityRow>& entities, ReconcileReport& report) const {
    std::set<Uuid> present;
    for (const shard::EntityRow& entity : entities) {
      present.insert(entity.id);
    }
    std::copy_if(ids_.begin(), ids_.end(), std::back_inserter(report.absent),
                 [&](const Uuid& id) { return !present.contains(id); });
  }

  shard::Shards& shards_;
  const std::uint32_t entity_shard_;
  const std::span<const Uuid> ids_;
  const ReconcileMode mode_;
  const base::Deadline& deadline_;
  ReconcileReport report_;
  bool repaired_some_ = false;
};

std::vector<Uuid> absent_entities(std::uint32_t entity_shard, const sql::Database& entity_database,
                                  std::span<const Uuid> ids) {
  const Step step(steps::sweep_look, entity_shard);
  std::vector<Uuid> absent(ids.begin(), ids.end());
  for (const auto& row : shard::read_entities(entity_database, ids, shard::Lock::none)) {
    std::erase(absent, row.id);
  }
  return absent;
}

// Returns the orphan rows of the ids that have no entity. The fence must be held exclusively. In mode repair it deletes
// the rows that it returns. If there are more than fit into one round, it sets `more`.
std::vector<Difference> sweep_batch(shard::Shards& shards, const shard::ServerLeases& leases,
                                    std::uint32_t entity_shard, const sql::Database& entity_database,
                                    std::span<const Uuid> ids, ReconcileMode mode, bool& more) {
  const std::vector<Uuid> absent = absent_entities(entity_shard, entity_database, ids);
  const shard::Catalog catalog = shard::load_catalog(entity_database);
  const bool repairs = mode == ReconcileMode::repair;
  const std::vector<shard::PlacedRow> rows =
      shard::read_rows(shards, leases, catalog, absent, repairs ? max_orphans + 1 : shard::no_limit);
  more = repairs && rows.size() > max_orphans;
  std::vector<Difference> orphans;
  shard::RowsByShard deletes;
  for (const shard::PlacedRow& row : std::span(rows).first(more ? max_orphans : rows.size())) {
    orphans.push_back(difference(FindingKind::orphan, catalog, row));
    shard::add_row(deletes, row);
  }
  if (repairs && !deletes.empty()) {
    IndexTransactions transactions(shards, leases, catalog);
    static_cast<void>(transactions.apply(deletes, {}));  // without inserts no row can block
    validate(entity_database, entity_shard);
    transactions.commit();
  }
  return orphans;
}

// Calls `between` when it has deleted some, and goes on to delete others.
template <typename Between>
std::vector<Difference> sweep(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                              ReconcileMode mode, const base::Deadline& deadline, const Between& between) {
  std::vector<Difference> orphans;
  shard::in_batches(ids, batch_size, [&](std::span<const Uuid> batch) {
    shard::ServerLeases leases = shard::connect_all(shards, deadline);
    base::Deadline round_deadline = deadline;  // each later round, which deletes what others left, has its own
    while (true) {
      const auto connect_again = [&] { leases.replace_broken(round_deadline, shard::Purpose::index_writes); };
      std::vector<Difference> round;
      bool more = false;
      const auto sweep_some = [&](const sql::Database& database, const shard::Fence&) {
        round = sweep_batch(shards, leases, entity_shard, database, batch, mode, more);
      };
      shard::with_fence_exclusive(shards, entity_shard, round_deadline, sweep_some, connect_again);
      std::move(round.begin(), round.end(), std::back_inserter(orphans));
      if (!more) {
        return;
      }
      between();
      round_deadline = shards.deadline();
    }
  });
  return orphans;
}

}  // namespace

ReconcileReport reconcile(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                          ReconcileMode mode, const base::Deadline& deadline) {
  ReconcileReport report;
  shard::in_batches(ids, batch_size, [&](std::span<const Uuid> batch) {
    ReconcileReport part = Reconciliation(shards, entity_shard, batch, mode, deadline).run();
    std::move(part.differences.begin(), part.differences.end(), std::back_inserter(report.differences));
    std::move(part.absent.begin(), part.absent.end(), std::back_inserter(report.absent));
  });
  return report;
}

ReconcileReport reconcile_in_slices(shard::Shards& shards, job::Job& job, std::uint32_t entity_shard,
                                    std::span<const Uuid> ids, ReconcileMode mode) {
  const auto checkpoint = [&] { job.checkpoint(entity_shard); };
  ReconcileReport report;
  shard::in_batches(ids, reconcile_slice, [&](std::span<const Uuid> part) {
    checkpoint();
    const base::Deadline deadline = shards.deadline();
    ReconcileReport found;
    try {
      found = reconcile(shards, entity_shard, part, mode, deadline);
    } catch (const Error& error) {
      const auto* server = dynamic_cast<const sql::ServerError*>(&error);
      const bool too_slow = server ? server->retryable() : error.code() == ErrorCode::unavailable;
      if (!too_slow || part.size() == 1) {
        throw;
      }
      throw shard::TooManyRows();  // too many rows for one timeout; changes so far are kept
    }
    std::move(found.differences.begin(), found.differences.end(), std::back_inserter(report.differences));
    for (Difference& orphan : sweep(shards, entity_shard, found.absent, mode, deadline, checkpoint)) {
      report.differences.push_back(std::move(orphan));
    }
  });
  return report;
}

std::vector<Difference> sweep_orphans(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                                      ReconcileMode mode, const base::Deadline& deadline) {
  return sweep(shards, entity_shard, ids, mode, deadline, [] {});
}

}  // namespace looseleaf::reconcile
