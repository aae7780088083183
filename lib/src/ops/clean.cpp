// clean: the watermark of each shard moves by the barrier, so that nothing is passed over.
#include "ops/clean.hpp"

#include <algorithm>

#include "ops/changes.hpp"
#include "ops/index_tables.hpp"
#include "ops/purge.hpp"
#include "ops/reconcile.hpp"
#include "ops/verify.hpp"
#include "store/fence.hpp"
#include "store/jobs.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

constexpr std::int64_t day = 86'400'000'000;  // microseconds

class Cleaner {
 public:
  Cleaner(store::Shards& shards, JobControl& control)
      : shards_(shards), control_(control), lock_(shards, "clean", "") {}

  CleanReport run(bool full) {
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      clean_changed(shard);
    }
    if (full) {
      sweep();
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      forget_ended_backfills(shard);
      purge_settled(shard);
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      for (const char* job : {"clean", "purge"}) {
        store::JobRow row = read_watermark(shard, job);
        if (row.barrier) {
          write_watermark(shard, job, *row.barrier, "");
        }
      }
    }
    return report_;
  }

 private:
  void breathe(std::uint32_t shard) {
    if (control_.stop.load()) {
      throw Error(ErrorCode::interrupted, "stopped; what was done is kept");
    }
    lock_.keep_alive();
    if (control_.on_progress) {
      control_.on_progress({"clean", shard, report_.checked, 0});
    }
  }

  store::JobRow read_watermark(std::uint32_t shard, const std::string& job) {
    return store::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
      return store::read_job(connection, job, "").value_or(store::JobRow{});
    });
  }

  // The watermark is written only now that everything below it was looked at; a crash repeats some of it.
  void write_watermark(std::uint32_t shard, const std::string& job, base::Stamp watermark,
                       const std::string& holder = store::this_process()) {
    store::JobRow row;
    row.job = job;
    row.barrier = watermark;
    row.token = lock_.token();
    row.holder = holder;
    const store::Step step(store::steps::clean_watermark, shard);
    store::with_shard(shards_, shard, shards_.deadline(),
                      [&](sql::Connection& connection) { store::write_job(connection, row); });
  }

  void clean_changed(std::uint32_t shard) {
    const base::Stamp from = read_watermark(shard, "clean").barrier.value_or(base::Stamp{});
    write_watermark(shard, "clean", from);  // names us to a second cleaner
    const base::Stamp until = store::take_barrier(shards_, shard, shards_.deadline());
    for_changed(shards_, shard, from, until, [&](const std::vector<Uuid>& ids) {
      count(reconcile_in_slices(shards_, shard, ids, ReconcileMode::repair, [&] { breathe(shard); }));
      report_.checked += ids.size();
    });
    write_watermark(shard, "clean", until);
  }

  void count(const ReconcileReport& report) {
    for (const Difference& difference : report.differences) {
      if (difference.kind == FindingKind::missing) {
        ++report_.inserted;
      } else if (difference.kind != FindingKind::unreadable) {
        ++report_.deleted;
      }
    }
  }

  // Everything, orphans included: what a put left that died before its commit.
  void sweep() {
    VerifyOptions options;
    options.repair = true;
    const VerifyReport report = verify(shards_, options, control_, {[this] { lock_.keep_alive(); }, false});
    report_.checked += report.entities;
    for (const auto& [place, count] : report.counts) {
      for (const auto& [kind, mended] : count.mended) {
        (kind == FindingKind::missing ? report_.inserted : report_.deleted) += mended;
      }
    }
  }

  // A backfill that died when its index was ready leaves its cursor, which would hold up purging for good.
  void forget_ended_backfills(std::uint32_t shard) {
    const auto jobs = store::with_shard(shards_, shard, shards_.deadline(),
                                        [](sql::Connection& connection) { return store::read_jobs(connection); });
    for (const store::JobRow& job : jobs) {
      if (job.job == "backfill" && !is_building(job)) {
        store::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
          store::remove_job(connection, job.job, job.table, job.generation);
        });
      }
    }
  }

  bool is_building(const store::JobRow& backfill) {
    const IndexEverywhere everywhere = look_up_index(shards_, backfill.table, shards_.deadline());
    return std::any_of(everywhere.on_shard.begin(), everywhere.on_shard.end(), [&](const auto& index) {
      return index && index->generation == backfill.generation && index->state == IndexState::building;
    });
  }

  // Tombstones older than a day, than every running backfill's start and than every watermark.
  void purge_settled(std::uint32_t shard) {
    breathe(shard);
    base::Stamp before;
    store::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
      before = base::parse_stamp(connection.query("SELECT NOW(6)").text(0, 0));
      before.micros -= day;
      for (const store::JobRow& job : store::read_jobs(connection)) {
        if (job.barrier && job.job != "purge") {
          before = std::min(before, *job.barrier);
        }
      }
    });
    const base::Stamp from = read_watermark(shard, "purge").barrier.value_or(base::Stamp{});
    base::Stamp settled;
    report_.purged += purge(shards_, shard, from, before, settled);
    if (settled > from) {
      write_watermark(shard, "purge", settled);
    }
  }

  store::Shards& shards_;
  JobControl& control_;
  store::JobLock lock_;
  CleanReport report_;
};

}  // namespace

CleanReport clean(store::Shards& shards, const CleanOptions& options, JobControl& control) {
  shards.check_identities();
  return Cleaner(shards, control).run(options.full);
}

}  // namespace looseleaf::ops
