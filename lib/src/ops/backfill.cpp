// backfill: newest entities first, one scan for all indexes, a cursor for each index on every entity shard.
#include "ops/backfill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "ops/changes.hpp"
#include "ops/index_tables.hpp"
#include "ops/reconcile.hpp"
#include "ops/rows.hpp"
#include "ops/throttling.hpp"
#include "ops/verify.hpp"
#include "sql/literals.hpp"
#include "sql/transaction.hpp"
#include "store/durability.hpp"
#include "store/entity_rows.hpp"
#include "store/fence.hpp"
#include "store/jobs.hpp"
#include "store/placement.hpp"
#include "store/statements.hpp"
#include "store/steps.hpp"

namespace looseleaf::ops {
namespace {

using store::Step;
namespace steps = store::steps;

constexpr std::size_t smallest_chunk = 50, largest_chunk = 5000;  // entities
constexpr std::uint64_t largest_transaction = 10'000;             // index rows
constexpr auto chunk_time = std::chrono::milliseconds(500);
constexpr auto touch_every = std::chrono::seconds(5);
constexpr int most_verify_passes = 3;

// One index being filled.
struct Target {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  std::unique_ptr<store::JobLock> lock;
};

void stop_if_asked(const JobControl& control) {
  if (control.stop.load()) {
    throw Error(ErrorCode::interrupted, "stopped; what was done is kept", {},
                "run the command again to go on from there");
  }
}

// The scan of one entity shard.
class ShardFill {
 public:
  ShardFill(store::Shards& shards, std::uint32_t shard, const std::vector<Target>& targets, Throttling& throttling,
            bool restart)
      : shards_(shards), shard_(shard), targets_(targets), throttling_(throttling) {
    const Step step(steps::backfill_claim, shard_);
    const base::Deadline deadline = shards_.deadline();
    store::with_shard(shards_, shard_, deadline, [&](sql::Connection& connection) {
      rows_.clear();
      for (const Target& target : targets_) {
        rows_.push_back(store::read_job(connection, "backfill", target.definition.table).value_or(store::JobRow{}));
      }
    });
    base::Stamp barrier;
    std::uint64_t top = 0, estimate = 0;
    bool all_resume = !restart;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      all_resume = all_resume && resumes(i);
    }
    if (!all_resume) {
      barrier = store::take_barrier(shards_, shard_, deadline);
      store::with_shard(shards_, shard_, deadline, [&](sql::Connection& connection) {
        top = connection.query("SELECT COALESCE(MAX(added_id), 0) + 1 FROM entities").unsigned_integer(0, 0);
        estimate = store::estimate_rows(connection, "entities");
      });
    }
    store::with_shard(shards_, shard_, deadline, [&](sql::Connection& connection) {
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        take_over(i, restart, barrier, top, estimate);
        store::write_job(connection, rows_[i]);
      }
    });
  }

  // Scans to the end. Returns how many index rows were sent.
  std::uint64_t run(JobControl& control, const std::function<void(const Progress&)>& report) {
    std::uint64_t sent = 0;
    while (true) {
      const std::size_t chunk = throttling_.limit_chunk(chunk_);
      throttling_.wait(chunk, [&](const std::string& reason) {
        stop_if_asked(control);
        touch();
        report({"backfill", shard_, rows_.front().done, rows_.front().estimate, reason});
      });
      stop_if_asked(control);
      const auto start = std::chrono::steady_clock::now();
      const auto entities = read_chunk(chunk);
      if (entities.empty()) {
        return sent;
      }
      sent += store_chunk(entities);
      entities_ += entities.size();
      report({"backfill", shard_, rows_.front().done, rows_.front().estimate});
      adapt(std::chrono::steady_clock::now() - start);
    }
  }

  [[nodiscard]] base::Stamp barrier() const {
    base::Stamp earliest = *rows_.front().barrier;
    for (const store::JobRow& row : rows_) {
      earliest = std::min(earliest, *row.barrier);
    }
    return earliest;
  }
  [[nodiscard]] std::uint64_t entities() const { return entities_; }

 private:
  // A cursor counts only for the generation it was stored for.
  [[nodiscard]] bool resumes(std::size_t i) const {
    return rows_[i].generation == targets_[i].generation && rows_[i].position && rows_[i].barrier;
  }

  [[nodiscard]] std::vector<store::EntityRow> read_chunk(std::size_t chunk) {
    const Step step(steps::backfill_read, shard_);
    return store::with_shard(shards_, shard_, shards_.deadline(), [&](sql::Connection& connection) {
      return store::read_before(connection, position(), chunk);
    });
  }

  // For whoever wonders whether this run is alive while it waits.
  void touch() {
    if (std::chrono::steady_clock::now() - touched_ < touch_every) {
      return;
    }
    store::with_shard(shards_, shard_, shards_.deadline(), [&](sql::Connection& connection) {
      for (const store::JobRow& row : rows_) {
        store::touch_job(connection, row);
      }
    });
    touched_ = std::chrono::steady_clock::now();
  }

  void take_over(std::size_t i, bool restart, base::Stamp barrier, std::uint64_t top, std::uint64_t estimate) {
    store::JobRow& row = rows_[i];
    if (restart || !resumes(i)) {
      row = {};
      row.position = top;
      row.barrier = barrier;
      row.estimate = estimate;
    }
    row.job = "backfill";
    row.table = targets_[i].definition.table;
    row.generation = targets_[i].generation;
    row.token = targets_[i].lock->token();
    row.holder = store::this_process();
  }

  // Indexes may have come to different positions in earlier runs: the scan starts at the highest.
  [[nodiscard]] std::uint64_t position() const {
    std::uint64_t highest = 0;
    for (const store::JobRow& row : rows_) {
      highest = std::max(highest, *row.position);
    }
    return highest;
  }

  // Inserts the rows of one chunk and moves the cursors, in transactions of bounded size.
  std::uint64_t store_chunk(const std::vector<store::EntityRow>& entities) {
    std::uint64_t sent = 0;
    RowsByShard rows;
    std::uint64_t pending_rows = 0, pending_entities = 0;
    for (const store::EntityRow& entity : entities) {
      pending_rows += add_expected(entity, rows);
      ++pending_entities;
      if (pending_rows >= largest_transaction || &entity == &entities.back()) {
        store_rows(rows, entity.added_id, pending_entities);
        sent += pending_rows;
        rows.clear();
        pending_rows = pending_entities = 0;
      }
    }
    return sent;
  }

  std::uint64_t add_expected(const store::EntityRow& entity, RowsByShard& rows) {
    std::uint64_t added = 0;
    const auto json = read(entity);
    for (std::size_t i = 0; json && i < targets_.size(); ++i) {
      if (entity.added_id >= *rows_[i].position) {
        continue;  // an earlier run has done it
      }
      for (model::Row& row : model::expected_rows(targets_[i].definition, *json)) {
        const auto to = store::index_shard(targets_[i].definition, row, shard_, shards_.count());
        rows[to][i].push_back({std::move(row), entity.id});
        ++added;
      }
    }
    return added;
  }

  // Down to and including the entity `added_id`.
  void store_rows(RowsByShard& rows, std::uint64_t added_id, std::uint64_t entities) {
    for (auto& [to, by_index] : rows) {
      for (auto& [index, entries] : by_index) {
        std::sort(entries.begin(), entries.end());
      }
    }
    std::vector<store::JobRow> moved = rows_;
    for (store::JobRow& row : moved) {
      row.position = std::min(*row.position, added_id);
      row.done += entities;
    }
    const base::Deadline deadline = shards_.deadline();
    const std::set<Uuid> blocked = sql::with_retries(deadline, [&] { return transact(moved, rows, deadline); });
    rows_ = std::move(moved);
    if (!blocked.empty()) {  // another row stands in the way in a UNIQUE table: only reconcile may remove it
      reconcile(shards_, shard_, std::vector<Uuid>(blocked.begin(), blocked.end()), ReconcileMode::repair, deadline);
    }
  }

  // Under the shared fence.
  std::set<Uuid> transact(const std::vector<store::JobRow>& moved, const RowsByShard& rows,
                          const base::Deadline& deadline) {
    std::map<std::uint32_t, store::Lease> leases;
    for (const auto& [to, by_index] : rows) {
      leases.emplace(to, shards_.connect(to, deadline, store::Purpose::index_writes));
    }
    const store::Lease lease = shards_.connect(shard_, deadline);
    return store::on_shard(shards_, shard_, [&] {
      sql::Transaction transaction(*lease);
      lock_fence(*lease);
      std::set<Uuid> blocked = insert(leases, rows);
      advance(*lease, moved);
      const Step step(steps::backfill_commit, shard_);
      transaction.commit();
      return blocked;
    });
  }

  void lock_fence(sql::Connection& connection) {
    const Step step(steps::backfill_fence, shard_);
    check_generations(connection, store::lock_fence_shared(connection));
  }

  void advance(sql::Connection& connection, const std::vector<store::JobRow>& moved) const {
    const Step step(steps::backfill_advance, shard_);
    for (const store::JobRow& row : moved) {
      if (!store::advance_job(connection, row)) {
        throw Error(ErrorCode::busy, "another process took the backfill over", {{"index", row.table}},
                    "`looseleaf status` names it; nothing is wrong with the index");
      }
    }
  }

  std::set<Uuid> insert(const std::map<std::uint32_t, store::Lease>& leases, const RowsByShard& rows) {
    std::vector<std::set<Uuid>> blocked(rows.size());
    std::vector<std::function<void()>> tasks;
    for (const auto& [to, by_index] : rows) {
      tasks.emplace_back([&, n = tasks.size(), to = to, &by_index = by_index] {
        const Step step(steps::backfill_insert_index_rows, to);
        store::on_shard(shards_, to, [&] {
          bool all_new = true;
          for (const auto& [index, entries] : by_index) {
            Inserted inserted = insert_or_report(*leases.at(to), targets_[index].definition, entries);
            blocked[n].merge(inserted.blocked);
            all_new = all_new && inserted.all_new;
          }
          if (!all_new) {
            store::make_durable(*leases.at(to));
          }
        });
      });
    }
    base::run_all(tasks);
    std::set<Uuid> all;
    for (auto& part : blocked) {
      all.merge(part);
    }
    return all;
  }

  void check_generations(sql::Connection& connection, const store::Fence& fence) {
    if (fence.epoch == epoch_) {
      return;
    }
    const auto catalog = shards_.reload_catalog(shard_, connection);
    for (const Target& target : targets_) {
      const store::CatalogIndex* index = catalog->find(target.definition.table);
      if (!index || index->generation != target.generation || index->state == IndexState::dropping ||
          index->state == IndexState::dropped) {
        throw Error(ErrorCode::bad_index, "index was dropped during the backfill",
                    {{"index", target.definition.table}});
      }
    }
    epoch_ = fence.epoch;
  }

  std::optional<model::Json> read(const store::EntityRow& entity) {
    if (!entity.body) {
      return std::nullopt;
    }
    try {
      return model::parse_stored(codec::decode_body(*entity.body, model::max_body_size));
    } catch (const Error& error) {
      Error::Context context = error.context();
      context.emplace_back("id", to_string(entity.id));
      shards_.warn(
          {"an entity cannot be read and is not indexed", context, "`looseleaf verify` lists all such entities"});
      return std::nullopt;
    }
  }

  void adapt(std::chrono::steady_clock::duration took) {
    if (took < chunk_time / 2) {
      chunk_ = std::min(largest_chunk, chunk_ * 2);
    } else if (took > chunk_time * 2) {
      chunk_ = std::max(smallest_chunk, chunk_ / 2);
    }
  }

  store::Shards& shards_;
  const std::uint32_t shard_;
  const std::vector<Target>& targets_;
  Throttling& throttling_;
  std::chrono::steady_clock::time_point touched_ = std::chrono::steady_clock::now();
  std::vector<store::JobRow> rows_;  // one for each target, as stored
  std::uint64_t epoch_ = 0;          // of the catalog that was last checked
  std::size_t chunk_ = 500;          // entities
  std::uint64_t entities_ = 0;
};

class Backfill {
 public:
  Backfill(store::Shards& shards, const BackfillOptions& options, JobControl& control)
      : shards_(shards), options_(options), control_(control), throttling_(shards, options.throttle) {}

  BackfillReport run() {
    find_targets();
    if (!targets_.empty()) {
      fill();
      reconcile_changed();
      prove();
      publish();
    }
    return std::move(report_);
  }

 private:
  void find_targets() {
    const base::Deadline deadline = shards_.deadline();
    std::vector<std::string> tables = options_.tables;
    if (tables.empty()) {
      tables = all_indexes(shards_, deadline);
    }
    std::sort(tables.begin(), tables.end());
    tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    for (const std::string& table : tables) {
      const IndexEverywhere everywhere = look_up_index(shards_, table, deadline);
      check(table, everywhere, deadline);
      const bool ready = std::all_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                                     [](const auto& index) { return index->state == IndexState::ready; });
      if (ready) {
        if (!options_.tables.empty()) {
          report_.ready.push_back(table);
        }
        continue;
      }
      targets_.push_back({everywhere.on_shard.front()->definition, *everywhere.generation(),
                          std::make_unique<store::JobLock>(shards_, "backfill", table)});
    }
  }

  void check(const std::string& table, const IndexEverywhere& everywhere, const base::Deadline& deadline) const {
    if (!everywhere.in_any_catalog()) {
      throw no_such_index(shards_, table, deadline);
    }
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const auto& index = everywhere.on_shard[shard];
      Error::Context context = shards_.where(shard);
      context.emplace(context.begin(), "index", table);
      if (!index || index->generation != everywhere.generation()) {
        throw Error(ErrorCode::bad_index, "index is not created on every shard", context,
                    "run `looseleaf create-index` with its definition again");
      }
      if (index->state == IndexState::dropping || index->state == IndexState::dropped) {
        throw Error(ErrorCode::bad_index, "index is being dropped", context,
                    fmt::format("run `looseleaf drop-index {}` to finish that", table));
      }
    }
  }

  void fill() {
    std::mutex mutex;
    std::exception_ptr failure;  // the first; it stops the scans of the other shards too
    const auto report = [&](const Progress& progress) {
      const std::lock_guard lock(mutex);
      if (failure) {
        std::rethrow_exception(failure);
      }
      keep_alive();
      if (control_.on_progress) {
        control_.on_progress(progress);
      }
    };
    std::vector<std::function<void()>> tasks;
    barriers_.resize(shards_.count());
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      tasks.emplace_back([&, shard] {
        try {
          ShardFill fill(shards_, shard, targets_, throttling_, options_.restart);
          const std::uint64_t rows = fill.run(control_, report);
          const std::lock_guard lock(mutex);
          report_.rows += rows;
          report_.entities += fill.entities();
          barriers_[shard] = fill.barrier();
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = failure ? failure : std::current_exception();
        }
      });
    }
    base::run_all(tasks);
    if (failure) {
      std::rethrow_exception(failure);
    }
  }

  void keep_alive() {
    for (const Target& target : targets_) {
      target.lock->keep_alive();
    }
  }

  // What changed since the barrier was taken may have been read by the scan before it changed.
  void reconcile_changed() {
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      const Step step(steps::backfill_reconcile, shard);
      if (step.left_out()) {
        continue;
      }
      const base::Stamp until = store::take_barrier(shards_, shard, shards_.deadline());
      for_changed(shards_, shard, barriers_[shard], until, [&](const std::vector<Uuid>& ids) {
        reconcile_in_slices(shards_, shard, ids, ReconcileMode::repair, [&] {
          throttling_.wait(reconcile_slice, [&](const std::string& reason) { breathe(shard, reason); });
          breathe(shard, {});
        });
        report_.reconciled += ids.size();
      });
    }
  }

  void breathe(std::uint32_t shard, const std::string& waiting) {
    stop_if_asked(control_);
    keep_alive();
    if (control_.on_progress) {
      control_.on_progress({"reconcile", shard, report_.reconciled, 0, waiting});
    }
  }

  // Only a pass that compared every one of these indexes, and found nothing missing, makes them ready.
  void prove() {
    const Step step(steps::backfill_prove, 0);
    VerifyOptions options;
    options.grace_seconds = 0;
    options.throttle = options_.throttle;
    const VerifyHooks hooks = {[this] { keep_alive(); }, true};
    for (const Target& target : targets_) {
      options.tables.push_back(target.definition.table);
    }
    for (int pass = 0; pass < most_verify_passes; ++pass) {
      options.repair = false;
      const VerifyReport found = verify(shards_, options, control_, hooks);
      const auto missing = std::find_if(found.findings.begin(), found.findings.end(), [](const Finding& finding) {
        return finding.kind == FindingKind::missing || finding.kind == FindingKind::table_differs;
      });
      if (missing == found.findings.end() && found.verified == options.tables) {
        return;
      }
      if (missing == found.findings.end()) {
        throw Error(ErrorCode::bad_index, "an index was dropped or changed during its backfill", {},
                    "`looseleaf status` shows which");
      }
      if (pass + 1 == most_verify_passes || missing->kind == FindingKind::table_differs) {
        throw Error(ErrorCode::corrupt, "index is not complete after its backfill",
                    {{"index", missing->index}, {"finding", to_string(missing->kind)}, {"detail", missing->values}},
                    "run `looseleaf verify`, and report this as a bug if its cause is not plain");
      }
      options.repair = true;
      verify(shards_, options, control_, hooks);
    }
  }

  void publish() {
    for (const Target& target : targets_) {
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        publish_on(shard, target);
      }
      for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
        const Step step(steps::backfill_finish, shard);
        store::with_shard(shards_, shard, shards_.deadline(), [&](sql::Connection& connection) {
          store::remove_job(connection, "backfill", target.definition.table, target.generation);
        });
      }
      report_.ready.push_back(target.definition.table);
    }
  }

  // Ready only if it is still the index that was filled, still building, and nobody took the job over: a drop, or a
  // create that found rows lost, may have come between.
  void publish_on(std::uint32_t shard, const Target& target) {
    const Step step(steps::backfill_publish, shard);
    const std::string& table = target.definition.table;
    store::with_fence_exclusive(
        shards_, shard, shards_.deadline(), [&](sql::Connection& connection, const store::Fence&) {
          const auto job = store::read_job(connection, "backfill", table);
          if (!job || job->token != target.lock->token() ||
              !store::set_index_state(connection, table, target.generation, {IndexState::building},
                                      IndexState::ready)) {
            throw Error(ErrorCode::bad_index, "index was dropped, or its backfill taken over, before it became ready",
                        {{"index", table}}, "`looseleaf status` shows its state");
          }
        });
  }

  store::Shards& shards_;
  const BackfillOptions& options_;
  JobControl& control_;
  Throttling throttling_;
  std::vector<Target> targets_;
  std::vector<base::Stamp> barriers_;  // of each shard, taken before its scan
  BackfillReport report_;
};

}  // namespace

BackfillReport backfill(store::Shards& shards, const BackfillOptions& options, JobControl& control) {
  shards.check_identities();
  return Backfill(shards, options, control).run();
}

}  // namespace looseleaf::ops
