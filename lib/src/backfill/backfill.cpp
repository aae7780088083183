// backfill scans the newest entities first. One scan serves all indexes, and each index has a cursor on every entity
// shard.
#include "backfill/backfill.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "backfill/scan_record.hpp"
#include "backfill/shard_fill.hpp"
#include "backfill/targets.hpp"
#include "base/parallel.hpp"
#include "job/job.hpp"
#include "job/jobs.hpp"
#include "reconcile/reconcile.hpp"
#include "scan/changes.hpp"
#include "shard/access.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "shard/steps.hpp"
#include "sql/transaction.hpp"
#include "verify/digest_comparison.hpp"
#include "verify/verify.hpp"

namespace looseleaf::backfill {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr int most_verify_passes = 3;
constexpr std::size_t most_superfluous = 10'000;  // entities of a shard that are remembered
constexpr auto between_touches = std::chrono::milliseconds(20);

class Backfill {
 public:
  Backfill(shard::Shards& shards, const BackfillOptions& options, JobControl& control)
      : shards_(shards),
        options_(options),
        job_(shards, control, options.throttle, "backfill",
             Error(ErrorCode::interrupted, "interrupted before the end", {}, "run the same command to resume")) {}

  BackfillReport run() {
    targets_ = find_targets(shards_, options_, job_, report_);
    if (!targets_.empty()) {
      require_that_it_can_finish();
      check_tables(shards_, targets_, job_);
      const auto keep_alive = job_.keep_alive_with([this] {
        if (crash_detector_) {
          crash_detector_->keep_alive();
        }
      });
      fill();
      const auto touch = keep_touching();
      count_present();
      reconcile_changed();
      prove();
      publish();
    }
    return std::move(report_);
  }

 private:
  // The last step would be refused, too, but perhaps only after days.
  void require_that_it_can_finish() {
    try {
      shard::require_write_access(shards_, shard::all_shards(shards_), shards_.deadline());
    } catch (Error& error) {
      if (error.code() == ErrorCode::frozen) {
        error.with_hint("a backfill cannot finish while the store is frozen; " + error.hint());
      }
      throw;
    }
  }

  void fill() {
    claim();
    crash_detector_.emplace(shards_);  // before the first read
    const bool begins = std::all_of(fills_.begin(), fills_.end(), [](const auto& fill) { return fill->begins(); });
    plan_progress(begins);
    if (begins) {
      begin_record();
    }
    std::mutex mutex;
    job_.for_each_shard([&](std::uint32_t shard) {
      const std::uint64_t rows = fills_[shard]->run(record_ ? &*record_ : nullptr);
      const std::lock_guard lock(mutex);
      report_.rows += rows;
      report_.entities += fills_[shard]->entities();
      report_.deleted += fills_[shard]->deleted();
    });
    for (const auto& fill : fills_) {
      barriers_.push_back(fill->barrier());
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        report_.indexing[targets_[i].definition.table].add(fill->counts(i));
      }
    }
  }

  // The weights are those of docs/performance.md: with n indexes, reading an entity and writing its rows takes 5.6 n
  // us, reading it again 2.2 us, and digesting its rows 0.3 n us. How much will change meanwhile is unknown.
  void plan_progress(bool begins) {
    std::vector<job::PhaseWeight> phases = {{"backfill", 1}, {"reconcile", 0.05}};
    if (!begins) {
      phases.push_back({"verify", 0.4 / static_cast<double>(targets_.size())});
    }
    phases.push_back({"compare", 0.05});
    job_.progress().plan(phases);
    job_.progress().begin("backfill");
    for (const auto& fill : fills_) {
      fill->expect();
    }
  }

  // Touches one shard at a time, since the other threads wait meanwhile, and on many shards each of them more seldom.
  [[nodiscard]] job::Job::KeepAlive keep_touching() {
    using Clock = std::chrono::steady_clock;
    return job_.keep_alive_with([this, next = std::size_t{0}, touched = Clock::time_point()]() mutable {
      if (Clock::now() - touched >= between_touches) {
        fills_[next++ % fills_.size()]->touch();
        touched = Clock::now();
      }
    });
  }

  // Claims every shard before the first scan begins. A second backfill that starts later then sees the holder.
  void claim() {
    fills_.resize(shards_.count());
    shard::for_each_shard(shards_, [&](std::uint32_t shard) {
      fills_[shard] = std::make_unique<ShardFill>(shards_, shard, targets_, job_, options_.restart);
    });
  }

  void begin_record() {
    std::vector<shard::CatalogIndex> indexes;
    for (const FillTarget& target : targets_) {
      indexes.push_back({target.definition, target.generation, IndexState::building, {}});
    }
    const auto touch = keep_touching();  // on a large store, computing the ranges takes long
    record_.emplace(verify::make_grid(shards_, indexes, job_), indexes.size(), shards_.count());
  }

  // Counts before reconcile_changed() takes its barriers. Entities inserted after the scan then count as changed.
  void count_present() {
    if (!record_) {
      return;
    }
    present_.resize(record_->grid().ranges());
    std::mutex mutex;
    job_.for_each_shard([&](std::uint32_t shard) {
      for (std::size_t range = 0; range < present_.size(); ++range) {
        job_.pace(shard, 0);
        const auto turn = job_.turn();
        const auto count = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
          return shard::count_ids(database, record_->grid().range(range));
        });
        const std::lock_guard lock(mutex);
        present_[range] += count;
      }
    });
  }

  // The scan may have read an entity before a change that came after the barrier was taken. Therefore this function
  // reconciles everything that changed since then.
  void reconcile_changed() {
    job_.progress().begin("reconcile");
    reconciled_until_ = barriers_;
    std::mutex mutex;
    job_.for_each_shard([&](std::uint32_t shard) {
      const Step step(steps::backfill_reconcile, shard);
      if (step.left_out()) {
        return;
      }
      const base::Stamp from = barriers_[shard];
      const base::Stamp until = shard::take_barrier(shards_, shard, shards_.deadline());
      reconciled_until_[shard] = until;
      scan::for_changed(shards_, shard, from, until, [&](const std::vector<Uuid>& ids, base::Stamp reached) {
        repair(shard, ids);
        job_.progress().expect(shard, static_cast<std::uint64_t>(until.micros - from.micros),
                               static_cast<std::uint64_t>(until.micros - reached.micros));
        const std::lock_guard lock(mutex);
        report_.reconciled += ids.size();
        if (record_) {
          record_->add_changed(ids);
        }
      });
    });
  }

  void repair(std::uint32_t shard, std::span<const Uuid> ids) {
    reconcile::reconcile_in_slices(shards_, job_, shard, ids, reconcile::ReconcileMode::repair, reconcile::Pace::by_job,
                                   selection_of(targets_));
  }

  // The indexes become ready only after a pass that compared every one of them and found nothing missing. In addition,
  // no server may still be able to forget anything that the pass saw, because one shard may store `ready` durably
  // before another one dies. The first pass need not read the entities that the scan of this run has read.
  void prove() {
    const Step step(steps::backfill_prove, 0);
    if (record_ && !record_->can_replace_rescan(present_)) {
      record_.reset();
      job_.progress().plan({{"verify", 0.4 / static_cast<double>(targets_.size())}, {"compare", 0.05}});
    }
    for (int i = 0; i < most_verify_passes; ++i) {
      if (!record_) {
        crash_detector_.emplace(shards_);
      }
      find_nothing_missing();
      record_.reset();
      const Step durable(steps::backfill_prove_durable, 0);
      if (durable.left_out() || crash_detector_->make_durable()) {
        return;
      }
    }
    throw Error(ErrorCode::unavailable, "sessions were lost while the index was verified", {},
                "check whether a server was restarted, then run the command again");
  }

  void find_nothing_missing() {
    VerifyOptions options;
    options.grace_seconds = 0;
    std::map<std::uint32_t, std::set<Uuid>> superfluous;  // entities with such rows, by entity shard
    const auto delete_rows = [&](std::uint32_t shard, std::set<Uuid>& ids) {
      repair(shard, std::vector(ids.begin(), ids.end()));
      ids.clear();
    };
    options.on_finding = [&](const Finding& finding) {
      if (!options.repair) {
        name(finding);
        if (is_superfluous(finding.kind)) {
          const std::uint32_t shard = shard::shard_of(finding.entity_id, shards_.count());
          std::set<Uuid>& ids = superfluous[shard];
          ids.insert(finding.entity_id);
          if (ids.size() == most_superfluous) {  // only rows that are missing decide about the pass
            delete_rows(shard, ids);
          }
        }
      }
    };
    verify::AsPart as_part = {
        .building_too = true, .wait_for_shards = true, .scanned = record_ ? &record_->grid() : nullptr};
    for (const FillTarget& target : targets_) {
      options.tables.push_back(target.definition.table);
    }
    for (int pass = 0; pass < most_verify_passes; ++pass) {
      options.repair = false;
      report_.unreadable_ids.clear();
      report_.conflicts.clear();
      superfluous.clear();
      const VerifyReport found = verify::verify(shards_, options, job_, as_part);
      const auto missing = std::find_if(found.findings.begin(), found.findings.end(), [](const Finding& finding) {
        return finding.kind == FindingKind::missing || finding.kind == FindingKind::table_differs;
      });
      if (missing == found.findings.end() && found.verified == options.tables) {
        count_unreadable(found);
        count_conflicts(found);
        // An entity that was written twice, before its row was inserted and again during backfill.reconcile, has left
        // one.
        for (auto& [shard, ids] : superfluous) {
          delete_rows(shard, ids);
        }
        return;
      }
      if (missing == found.findings.end()) {
        throw Error(ErrorCode::bad_index, "an index was dropped or changed during its backfill", {},
                    "run `looseleaf status` to see which one");
      }
      if (pass + 1 == most_verify_passes || missing->kind == FindingKind::table_differs) {
        throw Error(ErrorCode::corrupt, "index is not complete after its backfill",
                    {{"index", missing->index},
                     {"shard", std::to_string(missing->shard)},
                     {"finding", to_string(missing->kind)},
                     {"detail", missing->values}},
                    "look for another program that changes its tables, then run the command again; report a bug if you "
                    "find none");
      }
      as_part.scanned = nullptr;
      options.repair = true;
      verify::verify(shards_, options, job_, as_part);
    }
  }

  static bool is_superfluous(FindingKind kind) {
    return kind == FindingKind::stale || kind == FindingKind::orphan || kind == FindingKind::misplaced ||
           kind == FindingKind::duplicate;
  }

  void name(const Finding& finding) {
    if (finding.kind == FindingKind::unreadable && report_.unreadable_ids.size() < options_.samples) {
      report_.unreadable_ids.push_back(finding.entity_id);
    } else if (finding.kind == FindingKind::conflict) {
      auto& examples = report_.conflicts[finding.index].examples;
      if (examples.size() < options_.samples) {
        examples.push_back(finding);
      }
    }
  }

  // Whether this run or an earlier one scanned an entity that cannot be read, there is no record that could replace the
  // scan of the proof. So this scan has met it.
  void count_unreadable(const VerifyReport& proof) {
    report_.unreadable = 0;
    for (const auto& [place, count] : proof.counts) {
      const auto found = count.findings.find(FindingKind::unreadable);
      report_.unreadable += found != count.findings.end() ? found->second : 0;
    }
  }

  // The rows of the others are all there, so nothing is missing but these.
  void count_conflicts(const VerifyReport& proof) {
    for (const auto& [place, count] : proof.counts) {
      const auto found = count.findings.find(FindingKind::conflict);
      if (found != count.findings.end()) {
        report_.conflicts[place.first].rows += found->second;
      }
    }
  }

  void publish() {
    for (const FillTarget& target : targets_) {
      if (report_.conflicts.contains(target.definition.table)) {
        continue;
      }
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        job_.keep_locks();
        publish_on(shard, target);
      }
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        const Step step(steps::backfill_finish, shard);
        shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
          job::remove_job(database, job::backfill_job, target.definition.table, target.generation);
        });
      }
      report_.ready.push_back(target.definition.table);
    }
    for (const FillTarget& target : targets_) {
      if (report_.conflicts.contains(target.definition.table)) {
        keep_building(target);
      }
    }
  }

  // All rows are there but those in conflict. So the next run begins with what has changed since this one has
  // reconciled, and `clean` may purge what was deleted before.
  void keep_building(const FillTarget& target) {
    for (std::uint32_t shard = 0; shard < reconciled_until_.size(); ++shard) {
      shard::with_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
        sql::Transaction transaction(database);
        auto row = job::read_job(database, job::backfill_job, target.definition.table);
        if (row && row->token == target.token) {
          row->barrier = std::max(row->barrier.value_or(base::Stamp()), reconciled_until_[shard]);
          row->estimate = row->done;  // `status` shows that no part of the scan is left
          static_cast<void>(job::advance_job(database, *row));
        }
        transaction.commit();
      });
    }
  }

  // Marks the index as ready only if it is still the index that this run filled, is still building, and no other run
  // took over the job. A drop, or a create that found lost rows, may have come in between.
  void publish_on(std::uint32_t shard, const FillTarget& target) {
    const Step step(steps::backfill_publish, shard);
    const std::string& table = target.definition.table;
    shard::with_fence_exclusive(
        shards_, shard, shards_.deadline(), [&](const sql::Database& database, const shard::Fence& fence) {
          shard::require_write_access(shards_, shard, database, fence);
          const auto job = job::read_job(database, job::backfill_job, table);
          if (!job || job->token != target.token ||
              !shard::set_index_state(database, table, target.generation, {IndexState::building}, IndexState::ready)) {
            throw Error(ErrorCode::bad_index, "index was dropped or its backfill was taken over before it became ready",
                        {{"index", table}}, "run `looseleaf status` to see its state");
          }
        });
  }

  shard::Shards& shards_;
  const BackfillOptions& options_;
  job::Job job_;
  std::vector<FillTarget> targets_;
  std::vector<std::unique_ptr<ShardFill>> fills_;  // by shard
  std::vector<base::Stamp> barriers_;              // by shard; each was taken before the shard's scan
  std::vector<base::Stamp> reconciled_until_;      // by shard; as in barriers_ if that step was left out
  std::optional<shard::CrashDetector> crash_detector_;
  std::optional<ScanRecord> record_;    // covers the reads made while the crash detector existed
  std::vector<std::uint64_t> present_;  // number of entities in each range of the record's grid, after the scan
  BackfillReport report_;
};

}  // namespace

BackfillReport backfill(shard::Shards& shards, const BackfillOptions& options, JobControl& control) {
  shards.check_identities();
  return Backfill(shards, options, control).run();
}

}  // namespace looseleaf::backfill
