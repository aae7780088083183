// A pass does what the cleanup records of all shards name, and deletes them.
#include "clean/cleaner.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "model/value.hpp"
#include "reconcile/reconcile.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/fence.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/rows_of_entities.hpp"
#include "sql/errors.hpp"
#include "sql/transaction.hpp"
#include "verify/verify.hpp"

namespace looseleaf::clean {
namespace {

constexpr std::int64_t day = 86'400'000'000, hour = day / 24;  // microseconds
constexpr std::size_t most_looked_at = 2000;                   // entities that one search for tombstones reads
constexpr auto between_purges = std::chrono::minutes(1);
constexpr auto after_a_failed_purge = std::chrono::seconds(5);  // at least
constexpr auto between_heartbeats = std::chrono::seconds(10);
// This limits the delay of what else is to be done: a pass that follows leaves the rest of many records to the next
// one.
constexpr auto longest_round = std::chrono::seconds(5);
constexpr auto next_incident = std::chrono::hours(1);  // what is found again then, is told again
constexpr std::size_t records_at_once = 100;           // are read; a record has as many ids as a put's batch had
constexpr std::size_t most_in_unit = 2000;             // ids, unless its last record has more

}  // namespace

Cleaner::Cleaner(shard::Shards& shards, const CleanOptions& options, JobControl& control)
    : shards_(shards),
      options_(options),
      job_(shards, control, options.throttle, "clean", Error(ErrorCode::interrupted, "interrupted before the end")),
      token_(job_.take_lock(job::clean_job, {""}).token()),
      named_(shards.count()),
      records_(shards, job_, options.follow),
      purging_(shards.count()),
      purges_(shards.count()),
      heartbeats_(job_.keep_alive_with([this] { show_life(); })),
      flusher_(shards, job_, options.follow, [this](const FlushReport& flushed) { count_flushed(flushed); }) {}

void Cleaner::pass() {
  std::exception_ptr failure;
  const auto attempt = [&](const auto& part) {
    try {
      part();
    } catch (const Error&) {
      failure = failure ? failure : std::current_exception();
    }
  };
  attempt([&] { name_holder(); });
  records_.begin_pass();
  const auto until = options_.follow ? Clock::now() + longest_round : Clock::time_point::max();
  do {
    attempt([&] { records_.list(); });
    attempt([&] {
      shard::for_shards(shards_, records_.shards_due(), [&](std::uint32_t shard) {
        try {
          handle_records(shard, until);
        } catch (...) {
          records_.leave_out(shard);  // the others go on
          throw;
        }
      });
    });
  } while (records_.has_more() && Clock::now() < until);
  attempt([&] { flusher_.flush(); });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void Cleaner::count_flushed(const FlushReport& flushed) {
  const std::lock_guard lock(mutex_);
  report_.flushed += flushed.stored;
  report_.refused += flushed.refused;
}

std::optional<job::JobRow> Cleaner::read_row(std::uint32_t shard, const std::string& job) {
  return shard::read_shard(shards_, shard, shards_.deadline(),
                           [&](const sql::Database& database) { return job::read_job(database, job, ""); });
}

void Cleaner::write_row(std::uint32_t shard, const std::string& job, const std::optional<base::Stamp>& barrier,
                        const std::string& holder) {
  job::JobRow row;
  row.job = job;
  row.barrier = barrier;
  row.token = token_;
  row.holder = holder;
  shard::with_shard(shards_, shard, shards_.deadline(),
                    [&](const sql::Database& database) { job::write_job(database, row); });
}

// Names this process on each shard, once.
void Cleaner::name_holder() {
  std::vector<std::uint32_t> unnamed;
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    if (!named_[shard]) {
      unnamed.push_back(shard);
    }
  }
  shard::for_shards(shards_, unnamed, [this](std::uint32_t shard) {
    write_row(shard, job::clean_job, {}, job::this_process());
    if (const auto purge = read_row(shard, job::purge_job)) {
      write_row(shard, job::purge_job, purge->barrier, job::this_process());
    }
    named_[shard] = 1;
  });
}

// Updates the heartbeats on shard 0 now and then, at the checkpoints of all that clean does. If that fails, or a
// connection is not to be had at once, the work goes on: the lock tells whether shard 0 is there.
void Cleaner::show_life() {
  if (Clock::now() < heartbeat_at_) {
    return;
  }
  heartbeat_at_ = Clock::now() + between_heartbeats;
  try {
    const shard::Lease lease =
        shards_.sessions().connect_once(0, shard::Purpose::general, std::chrono::milliseconds(0));
    job::touch_jobs(*lease, {job::clean_job, job::purge_job}, token_);
  } catch (const Error&) {
  }
}

// Does one unit of records after the other. So that a unit is soon done, it ends with the record that makes it large.
void Cleaner::handle_records(std::uint32_t shard, Clock::time_point until) {
  const std::span<const std::uint64_t> due(records_.due(shard));
  const auto catalog = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    return shards_.catalogs().reload(shard, database);
  });
  const std::size_t large = job_.limit_chunk(most_in_unit);
  for (std::size_t from = 0; from < due.size(); from += records_at_once) {
    const auto some = due.subspan(from, std::min(records_at_once, due.size() - from));
    const auto ids_by_token = shard::read_shard(shards_, shard, shards_.deadline(), [&](const auto& database) {
      return shard::read_cleanup_ids(database, some);
    });
    std::vector<Uuid> ids;
    for (std::size_t begin = 0, end = 1; end <= some.size(); ++end) {
      if (const auto found = ids_by_token.find(some[end - 1]); found != ids_by_token.end()) {
        ids.insert(ids.end(), found->second.begin(), found->second.end());
      }
      if (ids.size() >= large || end == some.size()) {
        if (from + begin > 0 && Clock::now() >= until) {
          return;
        }
        handle_unit(shard, *catalog, some.subspan(begin, end - begin), ids);
        ids.clear();
        begin = end;
      }
    }
  }
  records_.mark_handled(shard);
}

// Reconciles the entities that the records name, and then deletes the records. So a crash repeats some work, and
// forgets nothing.
void Cleaner::handle_unit(std::uint32_t shard, const shard::Catalog& catalog, std::span<const std::uint64_t> records,
                          const std::vector<Uuid>& ids) {
  shard::in_batches(ids, reconcile::reconcile_slice, [&](std::span<const Uuid> slice) {
    repair(shard, catalog, slice);
    count_checked(slice.size());
    job_.progress().advance(shard, slice.size());
  });
  shard::with_shard(shards_, shard, shards_.deadline(),
                    [&](const sql::Database& database) { shard::delete_cleanup_records(database, shard, records); });
}

void Cleaner::count_checked(std::uint64_t entities) {
  const std::lock_guard lock(mutex_);
  report_.checked += entities;
}

// Repairs few ids at a time, so that an interruption in between loses no counts.
void Cleaner::repair(std::uint32_t shard, const shard::Catalog& catalog, std::span<const Uuid> ids) {
  const reconcile::ReconcileReport repaired = reconcile::reconcile_in_slices(
      shards_, job_, shard, ids, reconcile::ReconcileMode::repair, reconcile::Pace::by_job);
  for (const reconcile::Difference& difference : repaired.differences) {
    if (difference.kind == FindingKind::unreadable) {
      warn_of_unreadable(difference.entry.entity_id, shard);
      continue;
    }
    const shard::CatalogIndex* const index = catalog.find(difference.table);
    const bool is_ready = index && index->generation == difference.generation && index->state == IndexState::ready;
    if (difference.kind == FindingKind::conflict) {  // in an index that is building it is the backfill's
      if (is_ready) {
        warn_of_conflict(difference.table, model::to_json(difference.entry.values), difference.entry.entity_id,
                         *difference.holder);
      }
      continue;
    }
    if (difference.kind == FindingKind::missing && !is_ready) {
      const std::lock_guard lock(mutex_);
      ++report_.filled;
    } else {
      note_mended(difference.kind, difference.table, difference.shard);
    }
  }
}

// Only of a ready index, because one that is building lacks rows by nature.
void Cleaner::note_mended(FindingKind kind, const std::string& table, std::uint32_t shard) {
  if (kind == FindingKind::missing) {
    warn_of_missing(table, shard);
  }
  const std::lock_guard lock(mutex_);
  ++report_.mended[kind];
}

void Cleaner::warn_of_missing(const std::string& table, std::uint32_t shard) {
  shards_.warnings().give(
      {"rows were missing from a ready index and were inserted",
       {{"index", table}, {"shard", std::to_string(shard)}},
       "find out what changed the table or which server lost commits: queries missed entities until now; then "
       "run `looseleaf verify`"},
      next_incident);
}

void Cleaner::warn_of_unreadable(const Uuid& id, std::uint32_t shard) {
  shards_.warnings().give({"an entity cannot be read; its index rows were not checked",
                           {{"id", to_string(id)}, {"shard", std::to_string(shard)}},
                           "run `looseleaf verify` to list all such entities"},
                          next_incident);
}

void Cleaner::warn_of_conflict(const std::string& table, const std::string& values, const Uuid& id,
                               const Uuid& holder) {
  shards_.warnings().give(
      {"two entities have the same values in a unique index",
       {{"index", table}, {"values", values}, {"id", to_string(id)}, {"holder", to_string(holder)}},
       "change or delete one of them; find out which server lost commits, and run `looseleaf verify`"},
      next_incident);
}

void Cleaner::sweep() {
  VerifyOptions options;
  options.repair = true;
  options.on_repaired = [this](const Finding& finding) {  // at once: the sweep may fail later
    note_mended(finding.kind, finding.index, finding.shard);
  };
  job::Job part(job_, options_.throttle, "verify");
  const VerifyReport found = verify::verify(shards_, options, part, {.wait_for_shards = true});
  count_checked(found.entities);
  for (const Finding& finding : found.findings) {
    switch (finding.kind) {
      case FindingKind::table_differs:
        shards_.warnings().give({"a table is not as it should be, so not everything was swept",
                                 {{"table", finding.index}, {"shard", std::to_string(finding.shard)}},
                                 "run `looseleaf verify` to see what differs"},
                                next_incident);
        break;
      case FindingKind::conflict:
        warn_of_conflict(finding.index, finding.values, finding.entity_id, *finding.holder);
        break;
      case FindingKind::unreadable:
        warn_of_unreadable(finding.entity_id, finding.shard);
        break;
      case FindingKind::wrong_id:
      case FindingKind::wrong_shard:
      case FindingKind::catalog_differs:
        shards_.warnings().give({"the sweep has found what it cannot repair",
                                 {{"finding", to_string(finding.kind)}, {"shard", std::to_string(finding.shard)}},
                                 "run `looseleaf verify` to see all of it"},
                                next_incident);
        break;
      case FindingKind::missing:
      case FindingKind::stale:
      case FindingKind::orphan:
      case FindingKind::misplaced:
      case FindingKind::duplicate:
      case FindingKind::definition_differs:
        break;  // counted as far as it was repaired
    }
  }
}

template <typename Work>
void Cleaner::Part::run(const Work& work) {
  const auto begun = Clock::now();
  was_tried = true;
  try {
    at = work() ? Clock::now() + between_purges : Clock::now();
    failure = nullptr;
  } catch (...) {  // it may have waited for long, and the passes with it
    at = Clock::now() + std::clamp<Clock::duration>(2 * (Clock::now() - begun), after_a_failed_purge, between_purges);
    failure = std::current_exception();
  }
}

// Each shard has its own time, so that one that fails does not keep the others busy. Those that wait for the longest
// come first.
std::vector<Cleaner::PurgeFailure> Cleaner::purge(Clock::time_point until) {
  const auto for_parts = [this](const auto& work) {
    std::for_each(purges_.begin(), purges_.end(), work);
    work(forgetting_);
  };
  for_parts([](Part& part) { part.was_tried = false; });
  std::vector<std::uint32_t> due = shard::all_shards(shards_);
  std::erase_if(due, [&](std::uint32_t shard) { return purges_[shard].at > Clock::now(); });
  std::stable_sort(due.begin(), due.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return purges_[a].at < purges_[b].at; });
  if (Clock::now() >= forgetting_.at) {
    forgetting_.run([&] {
      forget_ended_backfills();
      return true;
    });
  }
  shard::for_shards(shards_, due, [&](std::uint32_t shard) {
    if (Clock::now() < until) {
      purges_[shard].run([&] { return purge_settled(shard, until); });
    }
  });
  std::vector<PurgeFailure> failures;
  for_parts([&](const Part& part) {
    if (part.failure) {
      failures.push_back({part.failure, part.was_tried});
    }
  });
  return failures;
}

// A backfill that died when its index was already ready leaves its cursor, which would block purging forever. The
// catalogs are read after the cursors, so that they have every index that is being filled.
void Cleaner::forget_ended_backfills() {
  std::mutex mutex;
  std::vector<std::pair<std::uint32_t, job::JobRow>> cursors;  // with their shards
  shard::for_each_shard(shards_, [&](std::uint32_t shard) {
    const auto jobs = shard::read_shard(shards_, shard, shards_.deadline(), job::read_jobs);
    const std::lock_guard lock(mutex);
    for (const job::JobRow& job : jobs) {
      if (job.job == job::backfill_job) {
        cursors.emplace_back(shard, job);
      }
    }
  });
  if (cursors.empty()) {
    return;
  }
  const std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards_, shards_.deadline());
  for (const auto& [shard, cursor] : cursors) {
    const shard::IndexEverywhere everywhere = shard::find_index(catalogs, cursor.table);
    const bool is_building =
        std::any_of(everywhere.on_shard.begin(), everywhere.on_shard.end(), [&, of = &cursor](const auto& index) {
          return index && index->generation == of->generation && index->state == IndexState::building;
        });
    if (!is_building) {
      shard::with_shard(shards_, shard, shards_.deadline(), [&, of = &cursor](const sql::Database& database) {
        job::remove_job(database, of->job, of->table, of->generation);
      });
    }
  }
}

// Returns the earliest of these times: one day ago, the barriers of unfinished backfills, the positions of copies, and
// those of triggers, unless a trigger is late for too long.
//
// Raises the clock floor to that time, so that no stamp that is purged ever recurs, even if the clock is set back.
base::Stamp Cleaner::purge_before(std::uint32_t shard) {
  base::Stamp clock_floor;
  const base::Stamp limit = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    const sql::Result clocks = database->query("SELECT NOW(6), clock_floor FROM " + database.table("looseleaf_shard"));
    base::Stamp before = base::parse_stamp(clocks.text(0, 0));
    clock_floor = base::parse_stamp(clocks.text(0, 1));
    const base::Stamp longest_kept = {before.micros - std::chrono::microseconds(options_.keep_tombstones).count()};
    before.micros -= day;
    for (const job::JobRow& job : job::read_jobs(database)) {
      if (job.barrier && (job.job == job::backfill_job || job.job == job::copied_to_job)) {
        before = std::min(before, *job.barrier);
      } else if (job.barrier && job.job == job::trigger_job) {
        before = std::min(before, std::max(*job.barrier, longest_kept));
      }
    }
    return before;
  });
  if (clock_floor < limit) {
    static_cast<void>(shard::take_barrier(shards_, shard, shards_.deadline()));
  }
  return limit;
}

// Stores how far the purge is, so that after a crash another cleaner does not start over.
void Cleaner::store_purged(std::uint32_t shard, base::Stamp settled) {
  job::JobRow row;
  row.job = job::purge_job;
  row.barrier = settled;
  row.token = token_;
  row.holder = job::this_process();
  shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    sql::Transaction transaction(database);
    if (!job::advance_job(database, row)) {
      job::write_job(database, row);
    }
    transaction.commit();
  });
}

bool Cleaner::purge_settled(std::uint32_t shard, Clock::time_point until) {
  constexpr auto between_writes = std::chrono::seconds(1);
  const base::Stamp before = purge_before(shard);
  base::Stamp written = read_row(shard, job::purge_job).value_or(job::JobRow{}).barrier.value_or(base::Stamp{});
  Purging now = purging_[shard].value_or(Purging{{written, 0}});
  base::Stamp settled = written;
  auto write_at = Clock::now() + between_writes;
  bool found_any = false;  // of an idle store nothing need be written each minute
  const std::size_t at_once = job_.limit_chunk(most_looked_at);
  job_.pace(shard, 0);
  for (bool more = now.place.updated < before; more;) {
    const Tombstones found = find_tombstones(shards_, shard, now.place, before, at_once);
    now.all_settled = purge(shard, found.ids, before) && now.all_settled;
    more = found.next.has_value();
    found_any = found_any || more || !found.ids.empty() || before.micros - written.micros > hour;
    now.place = found.next.value_or(shard::StampPlace{before, 0});
    settled = now.all_settled ? std::max(settled, now.place.updated) : settled;
    purging_[shard] = more ? std::optional(now) : std::nullopt;
    if (found_any && settled > written && (!more || Clock::now() >= std::min(write_at, until))) {
      store_purged(shard, settled);
      written = settled;
      write_at = Clock::now() + between_writes;
    }
    job_.pace(shard, more ? at_once : 0);
    if (more && Clock::now() >= until) {
      return false;
    }
  }
  return true;
}

bool Cleaner::purge(std::uint32_t shard, std::span<const Uuid> tombstones, base::Stamp before) {
  bool all_settled = true;
  shard::in_batches(tombstones, purge_batch, [&](std::span<const Uuid> batch) {
    job_.pace(shard, 0);
    const Purged purged = clean::purge(shards_, job_, shard, batch, before);
    all_settled = all_settled && purged.all_settled;
    const std::lock_guard lock(mutex_);
    report_.purged += purged.removed;
  });
  return all_settled;
}

void Cleaner::release() {
  shard::for_each_shard(shards_, [this](std::uint32_t shard) {
    for (const char* job : {job::clean_job, job::purge_job}) {
      if (const auto row = read_row(shard, job); row && row->token == token_) {
        write_row(shard, job, row->barrier, "");
      }
    }
  });
}

CleanReport Cleaner::report() {
  const std::lock_guard lock(mutex_);
  return report_;
}

void Cleaner::count_failure(const Error& error) {
  const auto* server = dynamic_cast<const sql::ServerError*>(&error);
  const std::lock_guard lock(mutex_);
  ++report_.failures[server ? server->number() : 0];
}

}  // namespace looseleaf::clean
