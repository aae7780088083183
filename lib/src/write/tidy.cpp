// Deletes the index rows that a put made superfluous, or that are in its way.
#include "write/tidy.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "reconcile/reconcile.hpp"
#include "reconcile/superseded.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/steps.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

// The time that a put may still spend on repairing index rows after its outcome is decided.
constexpr std::chrono::milliseconds shortest_tidying(500), longest_tidying(5000);

std::chrono::milliseconds time_to_tidy(const base::Deadline& deadline) {
  return std::clamp(deadline.left(), shortest_tidying, longest_tidying);
}

void clear_the_way_on(shard::Shards& shards, std::uint32_t shard, const Items& blocked,
                      const base::Deadline& deadline) {
  reconcile::ReconcileReport report;
  try {
    report = reconcile::make_right(shards, shard, ids_of(blocked), deadline);
  } catch (const Error& error) {
    fail(blocked, error);
    return;
  }
  for (Item* item : blocked) {
    const Error::Context context = {{"id", to_string(item->write->id)}};
    const bool unreadable =
        std::any_of(report.differences.begin(), report.differences.end(), [&](const reconcile::Difference& difference) {
          return difference.kind == FindingKind::unreadable && difference.entry.entity_id == item->write->id;
        });
    if (unreadable) {  // an unreadable body does not show which of its rows are right
      decide(*item, WriteStatus::failed,
             Error(ErrorCode::corrupt, "the stored entity with this id cannot be read", context,
                   "delete it first, then put it"));
    } else if (deadline.passed()) {
      decide(*item, WriteStatus::failed,
             Error(ErrorCode::unavailable, "a conflicting row persisted until the timeout", context, "retry"));
    }
  }
}

// Returns the items of one shard whose superfluous rows are all known.
reconcile::SupersededOnShard superseded_of(const Items& of_shard) {
  reconcile::SupersededOnShard result;
  for (const Item* item : of_shard) {
    if (item->reconcile) {
      result.others = true;
    } else if (item->needs_cleanup()) {
      result.entities.push_back({item->write->id, item->stamp, item->superseded});
      result.record = item->record;
    }
  }
  return result;
}

// Deletes the records of items that were reconciled. Items of the same records that are not among these need nothing
// any more: delete_old_rows() has deleted their rows.
void delete_records(shard::Shards& shards, std::uint32_t shard, const Items& reconciled,
                    const base::Deadline& deadline) {
  std::set<std::uint64_t> records;
  for (const Item* item : reconciled) {
    if (item->record != 0) {  // the record of an attempt that was rolled back is absent, which is no error
      records.insert(item->record);
    }
  }
  if (!records.empty()) {
    const std::vector<std::uint64_t> tokens(records.begin(), records.end());
    shard::with_shard(shards, shard, deadline,
                      [&](const sql::Database& database) { shard::delete_cleanup_records(database, shard, tokens); });
  }
}

}  // namespace

void delete_old_rows(shard::Shards& shards, const shard::Catalog& catalog,
                     const std::map<std::uint32_t, std::uint64_t>& epochs, const Items& items,
                     const base::Deadline& deadline) {
  std::map<std::uint32_t, reconcile::SupersededOnShard> work;
  for (const auto& [shard, of_shard] : by_shard(items)) {
    reconcile::SupersededOnShard on_shard = superseded_of(of_shard);
    if (!on_shard.entities.empty()) {
      on_shard.epoch = epochs.at(shard);
      work.emplace(shard, std::move(on_shard));
    }
  }
  if (work.empty()) {
    return;
  }
  std::set<Uuid> done;
  try {
    done = reconcile::delete_superseded(shards, catalog, work, base::Deadline(time_to_tidy(deadline)));
  } catch (const std::exception&) {
    done.clear();  // reconcile_touched() tries again, and reports what fails
  }
  for (Item* item : items) {
    item->reconcile = item->reconcile || (!item->superseded.empty() && !done.contains(item->write->id));
  }
}

void reconcile_touched(shard::Shards& shards, const Items& items, const base::Deadline& deadline) {
  Items touched;
  std::copy_if(items.begin(), items.end(), std::back_inserter(touched),
               [](const Item* item) { return item->reconcile; });
  const base::Deadline tidying(time_to_tidy(deadline));
  for (const auto& [shard, of_shard] : by_shard(touched)) {
    const Step step(steps::put_reconcile, shard);
    try {
      static_cast<void>(reconcile::make_right(shards, shard, ids_of(of_shard), tidying));
      delete_records(shards, shard, of_shard, tidying);
    } catch (const std::exception& error) {
      const auto* const known = dynamic_cast<const Error*>(&error);
      shards.warnings().give({"index rows of some entities could not be repaired yet",
                              known != nullptr ? known->context() : Error::Context{{"reason", error.what()}},
                              "run `looseleaf clean --full` to repair them; queries stay correct until then"});
      if (tidying.passed()) {
        return;  // the warning counts for the other shards, too
      }
    }
  }
}

void clear_the_way(shard::Shards& shards, const Items& blocked, const base::Deadline& deadline) {
  for (const auto& [shard, of_shard] : by_shard(blocked)) {
    clear_the_way_on(shards, shard, of_shard, deadline);
  }
}

}  // namespace looseleaf::write
