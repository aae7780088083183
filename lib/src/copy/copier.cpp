// The positions follow the writes: a page counts once all its writes, and those of all pages before it, are durable.
#include "copy/copier.hpp"

#include <algorithm>
#include <utility>

#include "copy/indexes.hpp"
#include "copy/source_marks.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/other_store.hpp"
#include "shard/placement.hpp"
#include "write/encode.hpp"
#include "write/old_bodies.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::copy {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto between_stores = std::chrono::seconds(1);
constexpr auto between_marks = std::chrono::minutes(1);

// The reader of the feed and the writer meet in the result of each write: it says to which page it belongs.
Position to_position(std::uint32_t shard, std::uint64_t page) {
  return {page, shard};
}

}  // namespace

Copier::Copier(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report,
               CopierEvents events)
    : original_(original),
      target_(target),
      options_(options),
      events_(std::move(events)),
      job_(job),
      report_(report),
      progress_(original.count()),
      crash_detector_(target.shards()),
      writer_(target.shards()) {
  for (const auto& [shard, position] : target_.positions()) {
    progress_.at(shard).reading = position;
    progress_.at(shard).applied = position;
  }
  pipeline_.emplace(target_.shards(), writer_, [this](const WriteResult& result) { on_result(result); });
}

Copier::~Copier() = default;

void Copier::run(feed::Extent extent) {
  const auto keep_alive = job_.keep_alive_with([this] {
    if (const std::unique_lock storing(storing_, std::try_to_lock); storing.owns_lock()) {
      crash_detector_.keep_alive();
    }
  });
  const auto failures = extent == feed::Extent::follow ? feed::Failures::told : feed::Failures::end;
  std::exception_ptr caught;
  try {
    feed::Rounds(original_, *this, extent, failures).run(shard::all_shards(original_));
  } catch (...) {
    caught = std::current_exception();
  }
  pipeline_->finish();
  store_now();  // also after a failure: what was copied counts
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  mark();
  if (caught) {
    std::rethrow_exception(caught);
  }
}

std::vector<std::uint32_t> Copier::choose(std::span<const std::uint32_t> shards) {
  return {shards.begin(), shards.end()};
}

std::optional<feed::ShardPosition> Copier::position(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  return progress_[shard].reading;
}

// The page is entered before its writes, so that none of their results comes too early. Where a shard begins, the
// position is stored before anything is written: another run would begin again with a later barrier, and would not
// learn what was deleted since this one.
std::optional<feed::ShardPosition> Copier::take(std::uint32_t shard, const std::optional<feed::ShardPosition>& from,
                                                feed::Page page, feed::Source /*source*/) {
  job_.pace(shard, page.rows.size());
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Progress& progress = progress_[shard];
    number = progress.first_page + progress.pages.size();
    progress.pages.push_back({page.rows.size() + 1, page.end});
    progress.reading = page.end;
  }
  for (shard::EntityRow& row : page.rows) {
    if (ended()) {
      return std::nullopt;
    }
    if (shard::shard_of(row.id, original_.count()) != shard) {
      leave_out(row.id, Error(ErrorCode::corrupt, "the entity is on the wrong shard"));
      settle_one(shard, number);
    } else if (row.body) {
      pipeline_->put_stored(row.id, *std::move(row.body), to_position(shard, number));
    } else {
      pipeline_->remove(row.id, to_position(shard, number));
    }
  }
  settle_one(shard, number);
  job_.progress().advance(shard, page.rows.size());
  if (!from) {
    store_now();
  } else {
    store_in_time();
  }
  return ended() ? std::nullopt : std::optional(page.end);
}

void Copier::caught_up(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  Progress& progress = progress_[shard];
  if (!progress.caught_up) {
    progress.caught_up = progress.first_page + progress.pages.size();
  }
}

void Copier::end_round() {
  store_now();
}

void Copier::tell(std::uint32_t shard, const Error* failure) {
  const std::lock_guard lock(mutex_);
  if (options_.on_failure) {
    options_.on_failure(shard, failure);
  }
}

// Runs in the pipeline's own thread, which must not throw.
void Copier::on_result(const WriteResult& result) {
  try {
    if (gave_up_) {
      return;
    }
    const bool rejected = result.status == WriteStatus::rejected;
    if (rejected && result.error->code() == ErrorCode::refused) {
      gave_up_ = true;
      if (!replace(*result.id)) {
        return;  // the page does not count, so the next run reads it again
      }
      gave_up_ = false;
    } else if (rejected && result.error->code() == ErrorCode::corrupt) {
      leave_out(*result.id, *result.error);
    } else if (result.error) {
      throw_error_of(result);
    } else {
      const std::lock_guard lock(mutex_);
      ++report_.written;
    }
    note_if_found_done(result);
    settle_one(static_cast<std::uint32_t>(result.position.column), result.position.line);
  } catch (...) {
    fail(std::current_exception());
  }
}

void Copier::throw_error_of(const WriteResult& result) {
  if (result.error->code() == ErrorCode::frozen) {  // it has another token
    throw taken_over();
  }
  Error error = *result.error;
  error.with("id", to_string(*result.id)).with("cluster", "the other one");
  shard::of_other_store(error, target_.shards());
  throw error;
}

void Copier::leave_out(const Uuid& id, const Error& reason) {
  const std::lock_guard lock(mutex_);
  ++report_.unreadable;
  if (options_.on_unreadable) {
    options_.on_unreadable(id, reason);
  }
}

// Counts one write of a page, or the reading of the whole page, as done.
void Copier::settle_one(std::uint32_t shard, std::uint64_t page) {
  const std::lock_guard lock(mutex_);
  Progress& progress = progress_.at(shard);
  --progress.pages.at(page - progress.first_page).writes_left;
  while (!progress.pages.empty() && progress.pages.front().writes_left == 0) {
    progress.applied = progress.pages.front().end;
    progress.advanced = true;
    progress.pages.pop_front();
    ++progress.first_page;
  }
}

// The entity there has another immutable value, because it was deleted and put again in between, or another entity
// there has a unique value that was given to this one in between: the feed delivers only the latest versions. So the
// entity is deleted here, too, and what the original has now is put. Meanwhile a later version may come from the feed:
// this is repeated until the original has not changed since it was read. Then what was put is its last version, or a
// later one comes from the feed. A later version that the feed has not read by then comes anyway, so an entity that is
// written all the time holds nothing up. If it has not changed and another entity is in its way here, that one has
// given the value up in the original, and its later version does not count as delivered yet. So it is deleted and put
// in the same way first. Entities that have swapped values are all absent for a moment. Returns false if the run ends
// before.
bool Copier::replace(const Uuid& refused) {
  std::vector<Uuid> waiting = {refused};  // each waits for the next one
  while (!waiting.empty()) {
    if (ended()) {
      return false;
    }
    const Uuid id = waiting.back();
    const std::optional<shard::EntityRow> row = read_original(id);
    static_cast<void>(write(id, std::nullopt));
    const WriteResult result = row && row->body ? write(id, row->body) : WriteResult();
    const auto holder = result.holder ? read_original(*result.holder) : std::nullopt;
    const std::optional<shard::EntityRow> now = read_original(id);
    if (now.has_value() != row.has_value() || (now && now->updated != row->updated)) {
      if (now && is_yet_to_come(*now)) {
        waiting.pop_back();
      }
      continue;
    }
    if (!result.error) {
      waiting.pop_back();
    } else if (result.error->code() != ErrorCode::refused) {
      leave_out(id, *result.error);
      waiting.pop_back();
    } else if (result.holder) {
      require_other_values(result, *row, holder);
      waiting.push_back(*result.holder);
    }
  }
  const std::lock_guard lock(mutex_);
  ++report_.written;
  return true;
}

// Returns true if the feed has not read this version yet, and will deliver it or a later one.
bool Copier::is_yet_to_come(const shard::EntityRow& row) {
  const std::uint32_t shard = shard::shard_of(row.id, original_.count());
  const std::lock_guard lock(mutex_);
  const auto& reading = progress_[shard].reading;
  return !reading || shard::StampPlace{row.updated, row.added_id} > reading->place;
}

// Throws if the original has the same unique values in both entities, which no copy can have: an index that is building
// may lack the row of one of them, and servers may have lost commits. Nothing is lost here by then, because the later
// version of every entity that was deleted has yet to come from the feed.
void Copier::require_other_values(const WriteResult& refused, const shard::EntityRow& row,
                                  const std::optional<shard::EntityRow>& holder) {
  if (!holder || !holder->body) {
    return;
  }
  const auto catalog = target_.shards().catalog(0, target_.shards().deadline());
  try {
    if (!write::share_values(*catalog, write::parse_stored_body(*row.body), write::parse_stored_body(*holder->body))) {
      return;
    }
  } catch (const Error&) {  // one that cannot be read is not in the way
    return;
  }
  require_same_indexes(original_, target_.shards());  // the original may have dropped the index, or made another one
  throw Error(ErrorCode::refused, "two entities of the original have the same values in a unique index",
              refused.error->context(),
              "change or delete one of them in the original, then run the command again; `looseleaf backfill` or "
              "`looseleaf verify`, run there, finds all of them");
}

// What is read is on the disk of its server, like everything that the feed delivers.
std::optional<shard::EntityRow> Copier::read_original(const Uuid& id) {
  const std::uint32_t shard = shard::shard_of(id, original_.count());
  return shard::with_shard(original_, shard, original_.deadline(), [&](const sql::Database& database) {
    auto row = shard::read_entity(database, id, shard::Lock::none);
    shard::make_durable(database, shard);
    return row;
  });
}

// Returns an error only if something that is there forbids the write, or if the body cannot be read.
WriteResult Copier::write(const Uuid& id, const std::optional<std::string>& body) {
  WriteResult result;
  result.id = id;
  std::optional<write::Write> write;
  if (body) {
    write = write::encode_stored(target_.shards(), *body, result);
    if (write) {
      write->is_copy = true;
    }
  } else {
    write = write::Write{id, std::nullopt, std::nullopt, &result};
  }
  if (!write) {
    return result;
  }
  writer_.write_batch({&*write, 1}, target_.shards().deadline());
  note_if_found_done(result);
  if (result.error && result.error->code() != ErrorCode::refused) {
    throw_error_of(result);
  }
  return result;
}

void Copier::fail(const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_ ? failure_ : failure;
  ended_ = true;
}

void Copier::store_in_time() {
  const std::unique_lock storing(storing_, std::try_to_lock);
  if (storing.owns_lock() && Clock::now() - stored_ >= between_stores) {
    store_positions();
  }
}

void Copier::store_now() {
  const std::lock_guard storing(storing_);
  store_positions();
}

// Call it with storing_ locked. A failure is one of the other cluster, and ends the run.
void Copier::store_positions() {
  Positions positions;
  bool found_done = false;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t shard = 0; shard < progress_.size(); ++shard) {
      if (std::exchange(progress_[shard].advanced, false)) {
        positions.emplace(shard, progress_[shard].applied);
      }
    }
    if (!positions.empty()) {
      found_done = std::exchange(found_done_, false);
    }
  }
  stored_ = Clock::now();
  try {
    crash_detector_.keep_alive();
    if (found_done) {
      make_durable();
    }
    if (!positions.empty()) {
      target_.store(positions);
    }
  } catch (...) {
    fail(std::current_exception());
    return;
  }
  if (!has_caught_up_ && everything_is_there()) {
    has_caught_up_ = true;
    events_.caught_up();
  }
  if (has_caught_up_ || Clock::now() - begun_ >= proof_time()) {
    events_.works();
  }
  if (Clock::now() - marked_ >= between_marks) {
    try {
      mark();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

// By then a write that hangs would have failed.
Clock::duration Copier::proof_time() const {
  constexpr auto margin = std::chrono::seconds(5);
  return target_.shards().sessions().connector().timeout() + margin;
}

void Copier::note_if_found_done(const WriteResult& result) {
  if (result.status == WriteStatus::not_found) {
    const std::lock_guard lock(mutex_);
    found_done_ = true;
  }
}

// A delete that was found done has committed nothing, and what it found may not be on disk yet.
void Copier::make_durable() {
  if (!crash_detector_.make_durable()) {
    throw Error(ErrorCode::unavailable,
                "the connection to a server of the other cluster was lost; the server may have forgotten deletes",
                {{"cluster", "the other one"}}, "run the same command to resume");
  }
}

bool Copier::everything_is_there() {
  const std::lock_guard lock(mutex_);
  return std::all_of(progress_.begin(), progress_.end(), [](const Progress& progress) {
    return progress.caught_up && progress.first_page >= *progress.caught_up;
  });
}

// If a shard of the original does not answer, the mark of before stays, which spares more deletes than necessary.
void Copier::mark() {
  marked_ = Clock::now();
  target_.require_own_row();  // whoever has completed the copy has deleted the marks
  try {
    write_marks(original_, target_.shards().cluster_id(), target_.marks());
  } catch (const Error& error) {
    if (!feed::passes(error)) {
      throw;
    }
  }
  try {
    target_.require_own_row();
  } catch (const Error&) {
    if (!origin_of(target_.shards())) {  // it was completed meanwhile, and nobody would delete the marks again
      static_cast<void>(remove_marks(original_, target_.shards().cluster_id()));
    }
    throw;
  }
}

}  // namespace looseleaf::copy
