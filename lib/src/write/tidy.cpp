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

// Index rows that are deleted while the fence and the entities are locked, as in a reconcile.
constexpr std::size_t rows_at_once = 5000;

std::chrono::milliseconds time_to_tidy(const base::Deadline& deadline) {
  return std::clamp(deadline.left(), shortest_tidying, longest_tidying);
}

void clear_the_way_on(shard::Shards& shards, std::uint32_t shard, const Items& blocked,
                      const reconcile::Selection& only, const base::Deadline& deadline) {
  reconcile::ReconcileReport report;
  try {
    report = reconcile::make_right(shards, shard, ids_of(blocked), deadline, only);
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

// Takes the rows of one shard's items whose superfluous rows are all known.
reconcile::SupersededOnShard take_superseded(const Items& of_shard) {
  reconcile::SupersededOnShard result;
  for (Item* item : of_shard) {
    if (item->reconcile) {
      result.others = true;
    } else if (item->needs_cleanup()) {
      result.entities.push_back({item->write->id, item->stamp, std::move(item->superseded)});
      result.record = item->record;
    }
  }
  return result;
}

using SupersededByShard = std::map<std::uint32_t, reconcile::SupersededOnShard>;

// Divides the work so that a slice has at most as many rows, unless it has a single entity.
std::vector<SupersededByShard> in_slices(SupersededByShard work, std::size_t most_rows) {
  std::vector<SupersededByShard> slices(1);
  std::size_t rows = 0;
  for (auto& [shard, on_shard] : work) {
    for (reconcile::Superseded& entity : on_shard.entities) {
      if (rows > 0 && rows + entity.rows.size() > most_rows) {
        if (const auto begun = slices.back().find(shard); begun != slices.back().end()) {
          begun->second.others = true;  // the next slice has them
        }
        slices.emplace_back();
        rows = 0;
      }
      rows += entity.rows.size();
      const reconcile::SupersededOnShard none = {on_shard.epoch, on_shard.record, on_shard.others, {}};
      slices.back().try_emplace(shard, none).first->second.entities.push_back(std::move(entity));
    }
  }
  return slices;
}

// Returns the ids whose rows are deleted. A record stays until the last slice, and for reconcile_touched() if an entity
// of it was left out.
std::set<Uuid> delete_in_slices(shard::Shards& shards, const shard::Catalog& catalog, SupersededByShard work,
                                const base::Deadline& deadline) {
  std::set<Uuid> done;
  std::set<std::uint32_t> incomplete;
  try {
    for (SupersededByShard& slice : in_slices(std::move(work), rows_at_once)) {
      for (auto& [shard, on_shard] : slice) {
        on_shard.others = on_shard.others || incomplete.contains(shard);
      }
      done.merge(reconcile::delete_superseded(shards, catalog, slice, deadline));
      for (const auto& [shard, on_shard] : slice) {
        if (std::any_of(on_shard.entities.begin(), on_shard.entities.end(),
                        [&](const reconcile::Superseded& entity) { return !done.contains(entity.id); })) {
          incomplete.insert(shard);
        }
      }
    }
  } catch (const std::exception&) {  // reconcile_touched() tries again, and reports what fails
  }
  return done;
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
  Items known;
  std::copy_if(items.begin(), items.end(), std::back_inserter(known),
               [](const Item* item) { return !item->reconcile && item->needs_cleanup(); });
  SupersededByShard work;
  for (const auto& [shard, of_shard] : by_shard(items)) {
    reconcile::SupersededOnShard on_shard = take_superseded(of_shard);
    if (!on_shard.entities.empty()) {
      on_shard.epoch = epochs.at(shard);
      work.emplace(shard, std::move(on_shard));
    }
  }
  if (work.empty()) {
    return;
  }
  const std::set<Uuid> done =
      delete_in_slices(shards, catalog, std::move(work), base::Deadline(time_to_tidy(deadline)));
  for (Item* item : known) {
    item->reconcile = !done.contains(item->write->id);
  }
}

void reconcile_touched(shard::Shards& shards, const Items& items, const base::Deadline& deadline) {
  Items touched;
  std::copy_if(items.begin(), items.end(), std::back_inserter(touched),
               [](const Item* item) { return item->reconcile; });
  const auto all = shard::all_shards(shards);
  const std::set<std::uint32_t> everywhere(all.begin(), all.end());
  const base::Deadline tidying(time_to_tidy(deadline));
  const auto warn = [&](const Error::Context& context) {
    shards.warnings().give(
        {"index rows of some entities could not be repaired yet", context,
         "`looseleaf clean`, also one that follows, repairs those of stored entities, and a full sweep "
         "the others; queries stay correct until then"});
  };
  for (const auto& [shard, of_shard] : by_shard(touched)) {
    if (tidying.passed()) {
      warn({{"reason", "there was no time for all of them"}});
      return;  // the warning counts for the other shards, too
    }
    const Step step(steps::put_reconcile, shard);
    try {
      // The rows may be anywhere. The put waits for no server after its commit: the record stays for `clean`.
      shard::ServerLeases(shards.sessions()).connect_all_once(everywhere, tidying, shard::Purpose::index_writes);
      static_cast<void>(reconcile::make_right(shards, shard, ids_of(of_shard), tidying));
      delete_records(shards, shard, of_shard, tidying);
    } catch (const std::exception& error) {
      const auto* const known = dynamic_cast<const Error*>(&error);
      warn(known != nullptr ? known->context() : Error::Context{{"reason", error.what()}});
      if (tidying.passed()) {
        return;
      }
    }
  }
}

void clear_the_way(shard::Shards& shards, const Items& blocked, const std::set<std::uint32_t>& on,
                   const base::Deadline& deadline) {
  for (const auto& [shard, of_shard] : by_shard(blocked)) {
    clear_the_way_on(shards, shard, of_shard, {.shards = on}, deadline);
  }
}

}  // namespace looseleaf::write
