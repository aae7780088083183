// Each shard has a watermark, which a pass moves to its barrier, so that no change is missed.
#include "clean/cleaner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/parallel.hpp"
#include "reconcile/reconcile.hpp"
#include "scan/changes.hpp"
#include "shard/fence.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/steps.hpp"
#include "sql/errors.hpp"
#include "sql/literals.hpp"
#include "verify/verify.hpp"

namespace looseleaf::clean {
namespace {

constexpr std::int64_t day = 86'400'000'000;  // microseconds
constexpr std::size_t most_looked_at = 2000;  // entities that one search for tombstones reads

}  // namespace

Cleaner::Cleaner(shard::Shards& shards, const CleanOptions& options, JobControl& control)
    : shards_(shards),
      options_(options),
      job_(shards, control, options.throttle, "clean", Error(ErrorCode::interrupted, "interrupted before the end")),
      token_(job_.take_lock("clean", {""}).token()),
      named_(shards.count(), 0),
      purging_(shards.count()),
      checked_until_(shards.count(), Clock::now()) {}

void Cleaner::pass() {
  shard::for_each_shard(shards_, [this](std::uint32_t shard) { clean_changed(shard); });
}

job::JobRow Cleaner::read_watermark(std::uint32_t shard, const std::string& job) {
  return shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    return job::read_job(database, job, "").value_or(job::JobRow{});
  });
}

// A caller writes the watermark only after it has checked everything below it. A crash before that only repeats some
// work.
void Cleaner::write_watermark(std::uint32_t shard, const std::string& job, base::Stamp watermark,
                              const std::string& holder) {
  job::JobRow row;
  row.job = job;
  row.barrier = watermark;
  row.token = token_;
  row.holder = holder;
  const shard::Step step(shard::steps::clean_watermark, shard);
  shard::with_shard(shards_, shard, shards_.deadline(),
                    [&](const sql::Database& database) { job::write_job(database, row); });
}

bool Cleaner::has_changed(std::uint32_t shard, base::Stamp since) {
  return shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    return !database
                ->query(fmt::format("SELECT 1 FROM {} WHERE updated >= {} LIMIT 1", database.table("entities"),
                                    sql::stamp_literal(since)))
                .empty();
  });
}

void Cleaner::clean_changed(std::uint32_t shard) {
  job_.checkpoint(shard);
  const auto started = Clock::now();
  const base::Stamp from = read_watermark(shard, "clean").barrier.value_or(base::Stamp{});
  if (!named_[shard]) {
    write_watermark(shard, "clean", from);  // names this process to a second cleaner
    named_[shard] = 1;
    find_lag(shard, from);
  } else if (!has_changed(shard, from)) {  // writes in flight will have stamps above the watermark
    mark_checked(shard, started);
    return;
  }
  const base::Stamp until = shard::take_barrier(shards_, shard, shards_.deadline());
  const auto catalog = shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    return shards_.catalogs().reload(shard, database);
  });
  scan::for_changed(shards_, shard, from, until, [&](const std::vector<Uuid>& ids) {
    job_.pace(shard, ids.size());
    const std::vector<Uuid> found = reconcile::suspects(shards_, shard, *catalog, ids, shards_.deadline());
    count_checked(ids.size());
    job_.advance(shard, ids.size());
    shard::in_batches(found, reconcile::reconcile_slice,
                      [&](std::span<const Uuid> some) { repair(shard, *catalog, some); });
  });
  write_watermark(shard, "clean", until);
  mark_checked(shard, started);
}

void Cleaner::mark_checked(std::uint32_t shard, Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  checked_until_[shard] = until;
}

// Computes the lag that an earlier cleaner has left.
void Cleaner::find_lag(std::uint32_t shard, base::Stamp watermark) {
  if (watermark == base::Stamp{}) {
    return;
  }
  const base::Stamp now = shard::with_shard(shards_, shard, shards_.deadline(), [](const sql::Database& database) {
    return base::parse_stamp(database->query("SELECT NOW(6)").text(0, 0));
  });
  mark_checked(shard,
               Clock::now() - std::chrono::microseconds(std::max<std::int64_t>(now.micros - watermark.micros, 0)));
}

void Cleaner::count_checked(std::uint64_t entities) {
  const std::lock_guard lock(mutex_);
  report_.checked += entities;
}

// Repairs few ids at a time, so that an interruption in between loses no counts.
void Cleaner::repair(std::uint32_t shard, const shard::Catalog& catalog, std::span<const Uuid> ids) {
  const reconcile::ReconcileReport repaired =
      reconcile::reconcile_in_slices(shards_, job_, shard, ids, reconcile::ReconcileMode::repair);
  for (const reconcile::Difference& difference : repaired.differences) {
    if (difference.kind == FindingKind::unreadable) {
      shards_.warnings().give({"an entity cannot be read; its index rows were not checked",
                               {{"id", to_string(difference.entry.entity_id)}, {"shard", std::to_string(shard)}},
                               "run `looseleaf verify` to list all such entities"});
      continue;
    }
    const shard::CatalogIndex* const index = catalog.find(difference.table);
    if (difference.kind == FindingKind::missing && index && index->generation == difference.generation &&
        index->state == IndexState::ready) {
      warn_of_missing(difference.table, difference.shard);
    }
    const std::lock_guard lock(mutex_);
    ++report_.mended[difference.kind];
  }
}

// Only a ready index deserves the warning, because an index that is building lacks rows by nature.
void Cleaner::warn_of_missing(const std::string& table, std::uint32_t shard) {
  shards_.warnings().give(
      {"rows were missing from a ready index and were inserted",
       {{"index", table}, {"shard", std::to_string(shard)}},
       "find out what changed the table or which server lost commits: queries missed entities until now; then "
       "run `looseleaf verify`"});
}

void Cleaner::sweep() {
  VerifyOptions options;
  options.repair = true;
  job::Job part(job_, options_.throttle, "verify");
  const VerifyReport found = verify::verify(shards_, options, part, {.wait_for_shards = true});
  count_checked(found.entities);
  for (const auto& [place, count] : found.counts) {
    for (const auto& [kind, mended] : count.mended) {
      if (kind == FindingKind::missing) {
        warn_of_missing(place.first, place.second);  // the verification covers only ready indexes
      }
      const std::lock_guard lock(mutex_);
      report_.mended[kind] += mended;
    }
  }
}

bool Cleaner::purge(Clock::time_point until) {
  std::atomic<bool> all = true;
  shard::for_each_shard(shards_, [&](std::uint32_t shard) {
    forget_ended_backfills(shard);
    if (!purge_settled(shard, until)) {
      all = false;
    }
  });
  return all;
}

// A backfill that died when its index was already ready leaves its cursor, which would block purging forever.
void Cleaner::forget_ended_backfills(std::uint32_t shard) {
  const auto jobs = shard::with_shard(shards_, shard, shards_.deadline(),
                                      [](const sql::Database& database) { return job::read_jobs(database); });
  for (const job::JobRow& job : jobs) {
    if (job.job == "backfill" && !is_building(job)) {
      shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        job::remove_job(database, job.job, job.table, job.generation);
      });
    }
  }
}

bool Cleaner::is_building(const job::JobRow& backfill) {
  const shard::IndexEverywhere everywhere = shard::look_up_index(shards_, backfill.table, shards_.deadline());
  return std::any_of(everywhere.on_shard.begin(), everywhere.on_shard.end(), [&](const auto& index) {
    return index && index->generation == backfill.generation && index->state == IndexState::building;
  });
}

// Returns the earliest of these times: one day ago, the start of a running backfill, and the barrier up to which this
// or another job has checked.
base::Stamp Cleaner::purge_before(std::uint32_t shard) {
  return shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
    base::Stamp before = base::parse_stamp(database->query("SELECT NOW(6)").text(0, 0));
    before.micros -= day;
    for (const job::JobRow& job : job::read_jobs(database)) {
      if (job.barrier && job.job != "purge") {
        before = std::min(before, *job.barrier);
      }
    }
    return before;
  });
}

// The watermark moves along with the purge, so that after a crash another cleaner does not start over.
bool Cleaner::purge_settled(std::uint32_t shard, Clock::time_point until) {
  constexpr auto between_watermarks = std::chrono::seconds(1);
  const base::Stamp before = purge_before(shard);
  base::Stamp written = read_watermark(shard, "purge").barrier.value_or(base::Stamp{});
  Purging now = purging_[shard].value_or(Purging{{written, 0}});
  base::Stamp settled = written;
  auto write_at = Clock::now() + between_watermarks;
  const std::size_t at_once = job_.limit_chunk(most_looked_at);
  job_.pace(shard, 0);
  for (bool more = now.place.updated < before; more;) {
    const Tombstones found = find_tombstones(shards_, shard, now.place, before, at_once);
    now.all_settled = purge(shard, found.ids, before) && now.all_settled;
    more = found.next.has_value();
    now.place = found.next.value_or(shard::StampPlace{before, 0});
    settled = now.all_settled ? std::max(settled, now.place.updated) : settled;
    purging_[shard] = more ? std::optional(now) : std::nullopt;
    if (settled > written && (!more || Clock::now() >= std::min(write_at, until))) {
      write_watermark(shard, "purge", settled);
      written = settled;
      write_at = Clock::now() + between_watermarks;
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
    for (const char* job : {"clean", "purge"}) {
      const job::JobRow row = read_watermark(shard, job);
      if (row.barrier) {
        write_watermark(shard, job, *row.barrier, "");
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

std::vector<std::chrono::seconds> Cleaner::lags() {
  const std::lock_guard lock(mutex_);
  std::vector<std::chrono::seconds> lags;
  for (const Clock::time_point& until : checked_until_) {
    lags.push_back(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - until));
  }
  return lags;
}

}  // namespace looseleaf::clean
