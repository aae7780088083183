// Makes the index rows of entities right while these are locked (docs/protocol.md).
#include "reconcile/reconcile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/parsed_entity.hpp"
#include "reconcile/conflicts.hpp"
#include "reconcile/index_transactions.hpp"
#include "reconcile/sweep.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "shard/rows_of_entities.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::reconcile {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t max_changes = 5000;            // index rows changed while the entities are locked
constexpr std::uint64_t most_body_bytes = 16 << 20;  // read at once, unless one entity has more

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
    shard::require_few(expectation.rows.size(), entities.size());
  }
  std::sort(expectation.rows.begin(), expectation.rows.end());
  return expectation;
}

// Reconciles one batch of ids of one entity shard.
class Reconciliation {
 public:
  Reconciliation(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids, ReconcileMode mode,
                 const base::Deadline& deadline, const Selection& only)
      : shards_(shards), entity_shard_(entity_shard), ids_(ids), mode_(mode), deadline_(deadline), only_(only) {}

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
      if (!std::exchange(at_once_, false)) {
        backoff.wait(deadline_);
      }
    }
  }

  // Returns the rows of unique indexes that are missing when run() has ended: in mode repair, because another entity
  // has their values.
  [[nodiscard]] std::vector<shard::PlacedRow> left() const { return {left_.begin(), left_.end()}; }
  // Returns the catalog whose positions they have.
  [[nodiscard]] const shard::Catalog& catalog() const { return catalog_; }

 private:
  // Does one round. Returns false if another round is needed: the catalog changed, a row blocked an insert, or there
  // were too many changes for one round.
  bool attempt() {
    shard::Catalog latest = selected(*shards_.catalog(entity_shard_, deadline_), only_);
    if (latest.epoch != catalog_.epoch) {
      left_.clear();  // their positions are those of the catalog from before
    }
    catalog_ = std::move(latest);
    const shard::Catalog& catalog = catalog_;
    const shard::ServerLeases leases = shard::connect_all(shards_, deadline_, only_.shards);
    const shard::Lease entity_lease = shards_.connect(entity_shard_, deadline_);
    return shard::on_shard(shards_, entity_shard_, [&] {
      sql::Transaction transaction(*entity_lease);
      if (lock_fence(*entity_lease) != catalog.epoch) {
        transaction.roll_back();
        shards_.catalogs().reload(entity_shard_, *entity_lease);
        return false;
      }
      const auto entities = lock_entities(*entity_lease);
      Expectation expected = expect(shards_, catalog, entity_shard_, entities);
      std::erase_if(expected.rows,
                    [&](const shard::PlacedRow& row) { return only_.shards && !only_.shards->contains(row.shard); });
      const std::vector<shard::PlacedRow> actual = read_index_rows(leases, catalog);
      Changes changes;
      ReconcileReport report = compare(catalog, expected, actual, changes);
      note_absent(entities, report);
      note_stamps(entities, report);
      if (!repaired_some_) {
        report_ = std::move(report);  // later rounds find only the differences that remained
      }
      if (mode_ == ReconcileMode::examine || changes.empty()) {
        shard::require_still_writable(*entity_lease);
        return true;
      }
      if (!repair(catalog, leases, *entity_lease, transaction, changes)) {
        return false;
      }
      repaired_some_ = true;
      at_once_ = changes.more;
      return !changes.more;
    });
  }

  [[nodiscard]] std::uint64_t lock_fence(const sql::Database& database) const {
    const Step step(steps::reconcile_fence, entity_shard_);
    return shard::lock_fence_shared(database).epoch;
  }

  [[nodiscard]] std::vector<shard::EntityRow> lock_entities(const sql::Database& database) const {
    const Step step(steps::reconcile_lock_entities, entity_shard_);
    const std::uint64_t max_size = ids_.size() > 1 ? most_body_bytes / ids_.size() : shard::any_size;
    auto entities = shard::read_entities(database, ids_, shard::Lock::shared, max_size);
    if (std::any_of(entities.begin(), entities.end(), [](const auto& entity) { return entity.lacks_body(); })) {
      throw shard::TooManyRows();
    }
    return entities;
  }

  [[nodiscard]] std::vector<shard::PlacedRow> read_index_rows(const shard::ServerLeases& leases,
                                                              const shard::Catalog& catalog) const {
    const Step step(steps::reconcile_read_index_rows, entity_shard_);
    return shard::read_index_rows(shards_, leases, catalog, ids_, shard::no_limit, only_.shards);
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
                          const std::vector<shard::PlacedRow>& actual, Changes& changes) {
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
      report.differences.push_back(difference_of(kind_of_extra(catalog, expected, row), catalog, row));
      changes.add(changes.deletes, row);
    }
    for (const shard::PlacedRow& row : missing) {
      report.differences.push_back(difference_of(FindingKind::missing, catalog, row));
      if (mode_ == ReconcileMode::examine && catalog.indexes[row.catalog_position].definition.unique) {
        left_.insert(row);
      }
      if (!left_.contains(row)) {
        changes.add(changes.inserts, row);
      }
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
              sql::Transaction& entity_transaction, const Changes& changes) {
    IndexTransactions transactions(shards_, leases, catalog);
    if (const auto blocked = transactions.apply(changes.deletes, changes.inserts); !blocked.empty()) {
      for (const shard::BlockedRow& row : blocked) {
        if (row.holder) {  // the next rounds do without it
          left_.insert(row.wanted);
          at_once_ = true;
        }
      }
      return false;
    }
    prove(entity_transaction, entity_shard_, [&] { shard::write_something(entity_database); });
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
  const Selection& only_;
  shard::Catalog catalog_;
  std::set<shard::PlacedRow> left_;
  bool at_once_ = false;  // the next round need not wait, because this one had an effect
  ReconcileReport report_;
  bool repaired_some_ = false;
};

// Reports what is left of one batch as conflicts. In mode repair, what turns out to be none is not reported at all.
void report_conflicts(shard::Shards& shards, const Reconciliation& done, ReconcileMode mode,
                      const base::Deadline& deadline, ReconcileReport& report) {
  const auto left = done.left();
  std::map<std::pair<std::string, shard::IndexEntry>, Uuid> conflicts;
  for (const shard::BlockedRow& row : find_holders(shards, done.catalog(), left, deadline)) {
    if (is_conflict(shards, done.catalog(), row, deadline)) {
      const std::string& table = done.catalog().indexes[row.wanted.catalog_position].definition.table;
      conflicts.emplace(std::pair(table, row.wanted.entry), *row.holder);
    }
  }
  std::set<std::pair<std::string, shard::IndexEntry>> not_inserted;
  for (const shard::PlacedRow& row : left) {
    not_inserted.emplace(done.catalog().indexes[row.catalog_position].definition.table, row.entry);
  }
  std::erase_if(report.differences, [&](Difference& difference) {
    const std::pair row(difference.table, difference.entry);
    if (difference.kind != FindingKind::missing || !not_inserted.contains(row)) {
      return false;
    }
    const auto conflict = conflicts.find(row);
    if (conflict == conflicts.end()) {
      return mode == ReconcileMode::repair;
    }
    difference.kind = FindingKind::conflict;
    difference.holder = conflict->second;
    return false;
  });
}

ReconcileReport reconcile_batch(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> batch,
                                ReconcileMode mode, const base::Deadline& deadline, const Selection& only) {
  Reconciliation first(shards, entity_shard, batch, mode, deadline, only);
  ReconcileReport report = first.run();
  if (first.left().empty()) {
    return report;
  }
  if (mode == ReconcileMode::examine) {
    report_conflicts(shards, first, mode, deadline, report);
    return report;
  }
  const auto blocked = find_holders(shards, first.catalog(), first.left(), deadline);
  const auto free = look_at_holders(shards, first.catalog(), blocked, deadline).free;
  if (free.empty() && blocked.size() == first.left().size()) {  // so another attempt would be in vain
    report_conflicts(shards, first, mode, deadline, report);
    return report;
  }
  clear_values(shards, free, deadline, only);
  Reconciliation again(shards, entity_shard, batch, mode, deadline, only);
  static_cast<void>(again.run());
  report_conflicts(shards, again, mode, deadline, report);
  return report;
}

}  // namespace

ReconcileReport reconcile(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                          ReconcileMode mode, const base::Deadline& deadline, const Selection& only) {
  ReconcileReport report;
  shard::in_batches(ids, batch_size, [&](std::span<const Uuid> batch) {
    ReconcileReport part = reconcile_batch(shards, entity_shard, batch, mode, deadline, only);
    std::move(part.differences.begin(), part.differences.end(), std::back_inserter(report.differences));
    std::move(part.absent.begin(), part.absent.end(), std::back_inserter(report.absent));
  });
  return report;
}

void clear_values(shard::Shards& shards, std::span<const shard::BlockedRow> free, const base::Deadline& deadline,
                  Selection only) {
  std::map<std::uint32_t, std::vector<Uuid>> holders;
  only.shards.emplace();
  for (const shard::BlockedRow& row : free) {
    holders[shard::shard_of(*row.holder, shards.count())].push_back(*row.holder);
    only.shards->insert(row.wanted.shard);
  }
  for (const auto& [shard, ids] : holders) {
    shard::in_batches(ids, batch_size, [&, shard = shard](std::span<const Uuid> batch) {
      const auto report = Reconciliation(shards, shard, batch, ReconcileMode::repair, deadline, only).run();
      sweep_orphans(shards, shard, report.absent, ReconcileMode::repair, deadline, only);
    });
  }
}

ReconcileReport make_right(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                           const base::Deadline& deadline, const Selection& only) {
  ReconcileReport report = reconcile(shards, entity_shard, ids, ReconcileMode::repair, deadline, only);
  sweep_orphans(shards, entity_shard, report.absent, ReconcileMode::repair, deadline, only);
  return report;
}

ReconcileReport reconcile_in_slices(shard::Shards& shards, job::Job& job, std::uint32_t entity_shard,
                                    std::span<const Uuid> ids, ReconcileMode mode, Pace pace, const Selection& only) {
  const auto checkpoint = [&] { job.checkpoint(entity_shard); };
  ReconcileReport report;
  shard::in_batches(ids, reconcile_slice, [&](std::span<const Uuid> part) {
    pace == Pace::by_job ? job.pace(entity_shard, part.size()) : checkpoint();
    const base::Deadline deadline = shards.deadline();
    ReconcileReport found;
    try {
      found = reconcile(shards, entity_shard, part, mode, deadline, only);
    } catch (const Error& error) {
      const auto* server = dynamic_cast<const sql::ServerError*>(&error);
      const bool too_slow = server ? server->retryable() : error.code() == ErrorCode::unavailable;
      if (!too_slow || part.size() == 1) {
        throw;
      }
      throw shard::TooManyRows();  // too many rows for one timeout; changes so far are kept
    }
    std::move(found.differences.begin(), found.differences.end(), std::back_inserter(report.differences));
    for (Difference& orphan : sweep_orphans(shards, entity_shard, found.absent, mode, deadline, only, checkpoint)) {
      report.differences.push_back(std::move(orphan));
    }
  });
  return report;
}

}  // namespace looseleaf::reconcile
