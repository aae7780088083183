// Scans the newest entities first. One scan serves all indexes, inserts rows in the order of their tables and keeps a
// cursor for each index.
#include "backfill/shard_fill.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/indexing.hpp"
#include "reconcile/reconcile.hpp"
#include "scan/entity_scan.hpp"
#include "shard/placement.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::backfill {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t largest_transaction = 10'000;  // index rows, if they belong to few shards
constexpr std::size_t smallest_share = 500;          // index rows of one index shard in a transaction
constexpr std::size_t gathered_of_index = 8 << 20;   // bytes of rows of one index, over all shards that are scanned
constexpr std::size_t most_gathered = 32 << 20;      // bytes of rows of all indexes
// This is small, so that rows are stored soon and even a scan that always dies makes progress.
constexpr std::size_t first_gathered = 64 << 10;
constexpr std::size_t least_gathered = 256 << 10;
// How long rows are gathered. Entities without rows fill no buffer, but the cursor must pass them.
constexpr auto longest_gathering = std::chrono::milliseconds(2000), paced_gathering = std::chrono::milliseconds(500);
constexpr std::size_t paced_statement = 50;  // rows
constexpr auto touch_every = std::chrono::seconds(5);

// Returns the approximate memory that a row uses, in bytes.
std::size_t size_of(const shard::IndexEntry& entry) {
  constexpr std::size_t overhead = 32;  // of each allocation
  std::size_t size = sizeof(entry) + overhead + entry.values.size() * sizeof(model::Value);
  for (const model::Value& value : entry.values) {
    const auto* const text = std::get_if<std::string>(&value);
    size += text != nullptr ? text->capacity() + overhead : 0;
  }
  return size;
}

// Returns what earlier runs have counted. Older versions counted nothing.
IndexingCounts counts_so_far(const job::JobRow& row) {
  IndexingCounts counts = model::parse_indexing_counts(row.detail);
  counts.complete = counts.complete && (!row.detail.empty() || row.done == 0);
  return counts;
}

// Returns how many entities earlier runs have read for all of these indexes, at most `expected`. In its later phases, a
// run adds the work of these to `done`.
std::uint64_t scanned_before(const std::vector<job::JobRow>& rows, std::uint64_t expected) {
  const auto fewest =
      std::min_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.done < b.done; });
  return std::min(fewest->done, expected);
}

}  // namespace

ShardFill::ShardFill(shard::Shards& shards, std::uint32_t shard, const std::vector<FillTarget>& targets, job::Job& job,
                     bool restart)
    : shards_(shards), shard_(shard), targets_(targets), job_(job), enough_(first_gathered) {
  const base::Deadline deadline = shards_.deadline();
  rows_ = shard::read_shard(shards_, shard_, deadline, [&](const sql::Database& database) {
    std::vector<job::JobRow> rows;
    for (const FillTarget& target : targets_) {
      rows.push_back(job::read_job(database, job::backfill_job, target.definition.table).value_or(job::JobRow{}));
    }
    expected_ = shard::estimate_rows(database, "entities");
    return rows;
  });
  std::optional<job::JobRow> fresh;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (restart || !resumes(i)) {
      fresh = fresh ? fresh : start_anew(deadline);
      rows_[i] = *fresh;
    } else {
      begins_ = false;
    }
    counts_.push_back(counts_so_far(rows_[i]));
    rows_[i].detail = model::to_json(counts_.back());
    rows_[i].job = job::backfill_job;
    rows_[i].table = targets_[i].definition.table;
    rows_[i].generation = targets_[i].generation;
    rows_[i].token = targets_[i].token;
    rows_[i].holder = job::this_process();
  }
  scanned_ = scanned_before(rows_, expected_);
  shard::with_shard(shards_, shard_, deadline, [&](const sql::Database& database) {
    for (const job::JobRow& row : rows_) {
      const Step step(steps::backfill_claim, shard_);
      job::write_job(database, row);
    }
  });
}

// Returns a cursor above every existing entity, and the barrier that was taken before the cursor was read.
job::JobRow ShardFill::start_anew(const base::Deadline& deadline) {
  const base::Stamp barrier = shard::take_barrier(shards_, shard_, deadline);
  return shard::read_shard(shards_, shard_, deadline, [&](const sql::Database& database) {
    job::JobRow row;
    row.barrier = barrier;
    row.position = shard::last_added(database) + 1;
    return row;
  });
}

void ShardFill::expect() {
  job_.progress().expect(shard_, expected_, scanned_);
  job_.checkpoint(shard_);
}

std::uint64_t ShardFill::run(ScanRecord* record) {
  record_ = record;
  store_progress();
  while (true) {
    const std::size_t chunk = job_.limit_chunk(chunk_);
    wait(chunk);
    const auto turn = job_.turn();
    const auto start = std::chrono::steady_clock::now();
    auto entities = read_chunk(chunk);
    for (shard::EntityRow& entity : entities) {
      gather(entity);
      entity.body.reset();
      if (gathered_.bytes >= enough_) {
        store_gathered();
        enough_ =
            std::max(least_gathered, std::min(most_gathered, targets_.size() * gathered_of_index) / shards_.count());
      }
    }
    const auto longest = job_.is_paced() ? paced_gathering : longest_gathering;
    if (entities.empty() || job_.stopping() || std::chrono::steady_clock::now() - stored_ >= longest) {
      store_gathered();
    }
    if (entities.empty()) {
      ended_ = true;
      return sent_;
    }
    entities_ += entities.size();
    job_.progress().advance(shard_, entities.size());
    job_.checkpoint(shard_);
    chunk_ = job::next_chunk(chunk_, std::chrono::steady_clock::now() - start);
  }
}

// Stores all gathered rows while the job is paused and when it ends.
void ShardFill::wait(std::size_t chunk) {
  if (job_.stopping()) {
    store_gathered();
  }
  job_.pace(shard_, chunk, [this](const std::string& reason) {
    if (!reason.empty() || job_.stopping()) {
      store_gathered();
    }
    touch();
  });
}

base::Stamp ShardFill::barrier() const {
  base::Stamp earliest = *rows_.front().barrier;
  for (const job::JobRow& row : rows_) {
    earliest = std::min(earliest, *row.barrier);
  }
  return earliest;
}

bool ShardFill::resumes(std::size_t i) const {
  return rows_[i].generation == targets_[i].generation && rows_[i].position && rows_[i].barrier;
}

std::vector<shard::EntityRow> ShardFill::read_chunk(std::size_t chunk) {
  const Step step(steps::backfill_read, shard_);
  return shard::read_shard(shards_, shard_, shards_.deadline(), [&](const sql::Database& database) {
    return shard::read_before(database, gathered_.entities > 0 ? gathered_.added_id : position(), chunk,
                              scan::small_body);
  });
}

void ShardFill::touch() {
  if (std::chrono::steady_clock::now() - touched_ >= touch_every) {
    store_progress();
  }
}

void ShardFill::store_progress() {
  show_progress(rows_, scanned_);
  shard::with_shard(shards_, shard_, shards_.deadline(), [&](const sql::Database& database) {
    for (const job::JobRow& row : rows_) {
      job::touch_job(database, row);
    }
  });
  touched_ = std::chrono::steady_clock::now();
}

// While this scan reads, the rows count what is stored, so that another run can continue from there.
void ShardFill::show_progress(std::vector<job::JobRow>& rows, std::uint64_t scanned) const {
  const job::JobProgress::State state = job_.progress().of(shard_);
  for (job::JobRow& row : rows) {
    row.done = ended_ ? state.done : scanned;
    row.estimate = state.estimate;
  }
}

std::uint64_t ShardFill::position() const {
  std::uint64_t highest = 0;
  for (const job::JobRow& row : rows_) {
    highest = std::max(highest, *row.position);
  }
  return highest;
}

void ShardFill::gather(shard::EntityRow& entity) {
  const auto stored = read(entity);
  const std::size_t place = record_ != nullptr ? record_->add_entity(entity.id) : 0;
  gathered_.counts.resize(targets_.size());
  for (std::size_t i = 0; stored && i < targets_.size(); ++i) {
    if (entity.added_id >= *rows_[i].position) {
      continue;  // an earlier run has stored this entity's rows
    }
    std::vector<model::Row> rows = stored->expected_rows(targets_[i].definition);
    model::count_entity(gathered_.counts[i], targets_[i].definition, *stored, entity.id, rows.size());
    for (model::Row& row : rows) {
      const auto to = shard::index_shard(targets_[i].definition, row, shard_, shards_.count());
      if (record_ != nullptr) {
        record_->add_row(i, to, place, mixer_.mix(row, entity.id));
      }
      auto& entries = gathered_.rows[to][i];
      entries.push_back({std::move(row), entity.id});
      gathered_.bytes += size_of(entries.back());
    }
  }
  deleted_ += entity.body_size ? 0 : 1;
  ++gathered_.entities;
  gathered_.added_id = entity.added_id;
}

void ShardFill::store_gathered() {
  if (gathered_.entities == 0) {
    return;
  }
  std::vector<Slice> slices = sorted_slices();
  // Blocked entities are reconciled before the cursors are behind them: the job may be stopped in between.
  const bool may_be_blocked = std::any_of(targets_.begin(), targets_.end(), [](const FillTarget& target) {
    return target.definition.immutable || target.definition.unique;
  });
  if (may_be_blocked || slices.empty()) {
    slices.emplace_back();
  }
  for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
    store_slice(slices[i], rows_);
  }
  store_slice(slices.back(), moved_cursors());
  scanned_ += gathered_.entities;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    counts_[i].add(gathered_.counts[i]);
  }
  gathered_ = {};
  stored_ = std::chrono::steady_clock::now();
}

std::vector<ShardFill::Slice> ShardFill::sorted_slices() {
  std::vector<Slice> slices;
  for (auto& [to, by_index] : gathered_.rows) {
    const std::size_t share = std::max(smallest_share, largest_transaction / gathered_.rows.size());
    std::size_t number = 0, room = share;
    for (auto& [index, entries] : by_index) {
      std::sort(entries.begin(), entries.end());
      for (std::span<const shard::IndexEntry> left(entries); !left.empty();) {
        slices.resize(std::max(slices.size(), number + 1));
        const auto part = left.first(std::min(room, left.size()));
        slices[number][to].emplace_back(index, part);
        left = left.subspan(part.size());
        room -= part.size();
        if (room == 0) {
          ++number;
          room = share;
        }
      }
    }
  }
  return slices;
}

std::vector<job::JobRow> ShardFill::moved_cursors() const {
  std::vector<job::JobRow> moved = rows_;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    IndexingCounts counts = counts_[i];
    counts.add(gathered_.counts[i]);
    moved[i].detail = model::to_json(counts);
    moved[i].position = std::min(*moved[i].position, gathered_.added_id);
  }
  show_progress(moved, scanned_ + gathered_.entities);
  return moved;
}

void ShardFill::store_slice(const Slice& slice, const std::vector<job::JobRow>& cursors) {
  const base::Deadline deadline = shards_.deadline();
  const std::set<Uuid> blocked = sql::with_retries(deadline, [&] { return transact(slice, cursors, deadline); });
  rows_ = cursors;
  for (const auto& [to, parts] : slice) {
    for (const auto& [index, entries] : parts) {
      sent_ += entries.size();
    }
  }
  // Another row conflicts in a UNIQUE table, and only reconcile may delete it.
  if (!blocked.empty()) {
    const auto report =
        reconcile::reconcile_in_slices(shards_, job_, shard_, std::vector<Uuid>(blocked.begin(), blocked.end()),
                                       reconcile::ReconcileMode::repair, reconcile::Pace::done, selection_of(targets_));
    for (const reconcile::Difference& difference : report.differences) {
      if (difference.kind == FindingKind::conflict) {
        sent_ -= holds(slice, difference) ? 1 : 0;
        warn_of_conflict(difference);
      }
    }
  }
}

bool ShardFill::holds(const Slice& slice, const reconcile::Difference& difference) const {
  const auto there = slice.find(difference.shard);
  return there != slice.end() && std::any_of(there->second.begin(), there->second.end(), [&](const auto& part) {
           return targets_[part.first].definition.table == difference.table &&
                  std::binary_search(part.second.begin(), part.second.end(), difference.entry);
         });
}

// Now, because the end may be hours away. Once for each index: the report names examples.
void ShardFill::warn_of_conflict(const reconcile::Difference& conflict) const {
  shards_.warnings().give({"entities have the same values in a unique index, which stays building unless they change",
                           {{"index", conflict.table}},
                           "find out why meanwhile; `looseleaf backfill` names examples when it ends"});
}

std::set<std::uint32_t> ShardFill::shards_of(const Slice& slice) {
  std::set<std::uint32_t> shards;
  for (const auto& [to, parts] : slice) {
    shards.insert(to);
  }
  return shards;
}

std::set<Uuid> ShardFill::transact(const Slice& slice, const std::vector<job::JobRow>& cursors,
                                   const base::Deadline& deadline) {
  shard::ServerLeases leases(shards_.sessions());
  leases.connect_all(shards_of(slice), deadline, shard::Purpose::index_writes);
  const shard::Lease lease = shards_.connect(shard_, deadline);
  return shard::on_shard(shards_, shard_, [&] {
    sql::Transaction transaction(*lease);
    lock_fence(*lease);
    std::set<Uuid> blocked = insert(leases, slice);
    advance(*lease, cursors);
    const Step step(steps::backfill_commit, shard_);
    transaction.commit();
    return blocked;
  });
}

void ShardFill::lock_fence(const sql::Database& database) {
  const Step step(steps::backfill_fence, shard_);
  check_generations(database, shard::lock_fence_shared(database));
}

void ShardFill::advance(const sql::Database& database, const std::vector<job::JobRow>& cursors) const {
  const Step step(steps::backfill_advance, shard_);
  for (const job::JobRow& row : cursors) {
    if (job::advance_job(database, row)) {
      continue;
    }
    if (!job::lock_job(database, row.job, row.table)) {
      throw Error(
          ErrorCode::busy,
          "another process has filled the index meanwhile, or has set it back because a shard had lost its rows",
          {{"index", row.table}},
          "run `looseleaf status`; if the index is still building, run `looseleaf create-index` with its "
          "definition, and then `looseleaf backfill` again");
    }
    throw Error(ErrorCode::busy, "another process took over the backfill", {{"index", row.table}},
                "run `looseleaf status` to see which one; the index is not damaged");
  }
}

std::set<Uuid> ShardFill::insert(const shard::ServerLeases& leases, const Slice& slice) {
  const auto groups = leases.by_server(shards_of(slice));
  std::vector<std::set<Uuid>> blocked(groups.size());
  std::vector<std::function<void()>> tasks;
  for (const auto& group : groups) {
    tasks.emplace_back([&, n = tasks.size(), &group = group] {
      for (const std::uint32_t to : group) {
        shard::on_shard(shards_, to, [&] {
          for (const auto& [index, entries] : slice.at(to)) {
            const Step step(steps::backfill_insert_index_rows, to);
            blocked[n].merge(insert_rows(leases.on(to), to, index, entries));
          }
        });
      }
    });
  }
  // One server at a time, to leave a processor to other work.
  if (job_.is_paced()) {
    for (const auto& task : tasks) {
      task();
    }
  } else {
    base::run_all(tasks);
  }
  std::set<Uuid> all;
  for (auto& part : blocked) {
    all.merge(part);
  }
  return all;
}

// With a limited rate, short statements let the server process other requests in between. All of them run in one
// transaction, because each commit delays the disk writes of other commits.
std::set<Uuid> ShardFill::insert_rows(const sql::Database& database, std::uint32_t to, std::size_t index,
                                      std::span<const shard::IndexEntry> entries) const {
  std::set<Uuid> blocked;
  const auto insert = [&](std::span<const shard::IndexEntry> some) {
    for (const auto& row : shard::insert_or_report(database, targets_[index].definition, to, index, some).blocked) {
      blocked.insert(row.wanted.entry.entity_id);
    }
  };
  if (!job_.is_paced()) {
    insert(entries);
    return blocked;
  }
  sql::Transaction transaction(database);
  while (!entries.empty()) {
    const auto part = entries.first(std::min(paced_statement, entries.size()));
    insert(part);
    entries = entries.subspan(part.size());
  }
  const Step step(steps::backfill_commit_index_rows, to);
  transaction.commit();
  return blocked;
}

void ShardFill::check_generations(const sql::Database& database, const shard::Fence& fence) {
  if (fence.epoch == epoch_) {
    return;
  }
  const auto catalog = shards_.catalogs().reload(shard_, database);
  for (const FillTarget& target : targets_) {
    const shard::CatalogIndex* index = catalog->find(target.definition.table);
    if (!index || index->generation != target.generation || index->is_being_dropped()) {
      throw Error(ErrorCode::bad_index, "index was dropped during the backfill", {{"index", target.definition.table}},
                  "create it again if it is still wanted");
    }
  }
  epoch_ = fence.epoch;
}

std::optional<model::ParsedEntity> ShardFill::read(shard::EntityRow& entity) {
  if (entity.lacks_body()) {
    entity.body = scan::read_body(shards_, shard_, entity.id);
  }
  if (!entity.body) {
    return std::nullopt;
  }
  try {
    return model::ParsedEntity(codec::decode_body(*entity.body, model::max_body_size));
  } catch (const Error&) {  // the proof at the end reports it
    if (record_ != nullptr) {
      record_->invalidate();
    }
    return std::nullopt;
  }
}

}  // namespace looseleaf::backfill
