// Sweeps orphans (docs/protocol.md).
#include "reconcile/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "reconcile/index_transactions.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/rows_of_entities.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"

namespace looseleaf::reconcile {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t max_orphans = 1000;  // index rows deleted while the fence is held exclusively

std::vector<Uuid> absent_entities(std::uint32_t entity_shard, const sql::Database& entity_database,
                                  std::span<const Uuid> ids) {
  const Step step(steps::sweep_look, entity_shard);
  std::vector<Uuid> absent(ids.begin(), ids.end());
  for (const auto& row : shard::read_entities(entity_database, ids, shard::Lock::none)) {
    std::erase(absent, row.id);
  }
  return absent;
}

// Throws a retryable ServerError unless the entities are still absent, which a statement checks that writes. Nobody can
// put one while the fence is held; but if the server was demoted and promoted again since it was locked, one may have
// come by replication.
void require_still_absent(std::uint32_t entity_shard, const sql::Database& entity_database,
                          std::span<const Uuid> absent) {
  const Step step(steps::sweep_look_again, entity_shard);
  const std::string still_absent =
      fmt::format("{} AND NOT EXISTS (SELECT 1 FROM {} WHERE id IN ({}))", entity_database->facts().is_writable,
                  entity_database.table("entities"), shard::id_list(absent));
  if (!step.left_out() && !shard::write_if(entity_database, still_absent)) {
    throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                           "an entity came while its index rows were swept", {}, "retry");
  }
}

// One round of a sweep: at most max_orphans rows.
class SweepRound {
 public:
  SweepRound(shard::Shards& shards, const shard::ServerLeases& leases, std::uint32_t entity_shard, ReconcileMode mode,
             const Selection& only)
      : shards_(shards), leases_(leases), entity_shard_(entity_shard), mode_(mode), only_(only) {}

  // Finds the orphan rows of the ids that have no entity. The fence must be held exclusively. In mode repair, deletes
  // them, and commits nothing.
  void run(const sql::Database& entity_database, std::span<const Uuid> ids) {
    const std::vector<Uuid> absent = absent_entities(entity_shard_, entity_database, ids);
    catalog_ = selected(shard::load_catalog(entity_database), only_);
    const bool repairs = mode_ == ReconcileMode::repair;
    const std::vector<shard::PlacedRow> rows = shard::read_index_rows(
        shards_, leases_, catalog_, absent, repairs ? max_orphans + 1 : shard::no_limit, only_.shards);
    more_ = repairs && rows.size() > max_orphans;
    orphans_.clear();
    shard::RowsByShard deletes;
    for (const shard::PlacedRow& row : std::span(rows).first(more_ ? max_orphans : rows.size())) {
      orphans_.push_back(difference_of(FindingKind::orphan, catalog_, row));
      shard::add_row(deletes, row);
    }
    if (repairs && !deletes.empty()) {
      deletes_.emplace(shards_, leases_, catalog_);
      static_cast<void>(deletes_->apply(deletes, {}));  // without inserts no row can block
      require_still_absent(entity_shard_, entity_database, absent);
    }
  }

  void roll_back() { deletes_.reset(); }
  // Call this when the transaction that held the fence was committed.
  void commit() {
    if (deletes_) {
      deletes_->commit();
    }
  }

  [[nodiscard]] const std::vector<Difference>& orphans() const { return orphans_; }
  // Returns true if there are more than fit into one round.
  [[nodiscard]] bool more() const { return more_; }

 private:
  shard::Shards& shards_;
  const shard::ServerLeases& leases_;
  const std::uint32_t entity_shard_;
  const ReconcileMode mode_;
  const Selection& only_;
  shard::Catalog catalog_;
  std::vector<Difference> orphans_;
  std::optional<IndexTransactions> deletes_;
  bool more_ = false;
};

}  // namespace

std::vector<Difference> sweep_orphans(shard::Shards& shards, std::uint32_t entity_shard, std::span<const Uuid> ids,
                                      ReconcileMode mode, const base::Deadline& deadline, const Selection& only,
                                      const std::function<void()>& between) {
  std::vector<Difference> orphans;
  shard::in_batches(ids, batch_size, [&](std::span<const Uuid> batch) {
    shard::ServerLeases leases = shard::connect_all(shards, deadline, only.shards);
    base::Deadline round_deadline = deadline;  // each later round, which deletes what others left, has its own
    while (true) {
      SweepRound round(shards, leases, entity_shard, mode, only);
      const auto start_over = [&] {
        round.roll_back();
        leases.replace_broken(round_deadline, shard::Purpose::index_writes);
      };
      sql::with_retries(round_deadline, [&] {
        shard::with_fence_exclusive(
            shards, entity_shard, round_deadline,
            [&](const sql::Database& database, const shard::Fence&) { round.run(database, batch); }, start_over);
        round.commit();
      });
      std::copy(round.orphans().begin(), round.orphans().end(), std::back_inserter(orphans));
      if (!round.more()) {
        return;
      }
      between();
      round_deadline = shards.deadline();
    }
  });
  return orphans;
}

}  // namespace looseleaf::reconcile
