// The positions follow the writes: a page counts once all its writes, and those of all pages before it, are durable.
#include "copy/copier.hpp"

#include <utility>

#include "copy/source_marks.hpp"
#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/placement.hpp"

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

Copier::Copier(shard::Shards& original, Target& target, const CopyOptions& options, job::Job& job, CopyReport& report)
    : original_(original),
      target_(target),
      options_(options),
      job_(job),
      report_(report),
      progress_(original.count()),
      writer_(target.shards()) {
  for (const auto& [shard, position] : target_.positions()) {
    progress_.at(shard).reading = position;
    progress_.at(shard).applied = position;
  }
  pipeline_.emplace(target_.shards(), writer_, [this](const WriteResult& result) { on_result(result); });
}

Copier::~Copier() = default;

void Copier::run(feed::Extent extent) {
  const auto failures = extent == feed::Extent::follow ? feed::Failures::told : feed::Failures::end;
  std::exception_ptr caught;
  try {
    feed::Rounds(original_, *this, extent, failures).run(shard::all_shards(original_));
  } catch (...) {
    caught = std::current_exception();
  }
  pipeline_->finish();
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  {
    const std::lock_guard storing(storing_);
    store_positions();
    write_marks(original_, target_.shards().cluster_id(), target_.positions());
  }
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

// The page is entered before its writes, so that none of their results comes too early.
std::optional<feed::ShardPosition> Copier::take(std::uint32_t shard, const std::optional<feed::ShardPosition>& /*from*/,
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
    if (row.body) {
      pipeline_->put_stored(row.id, *std::move(row.body), to_position(shard, number));
    } else {
      pipeline_->remove(row.id, to_position(shard, number));
    }
  }
  WriteResult whole;
  whole.position = to_position(shard, number);
  settle(whole);
  job_.progress().advance(shard, page.rows.size());
  store_positions_in_time();
  return page.end;
}

void Copier::end_round() {
  const std::lock_guard storing(storing_);
  store_positions();
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
    const bool unreadable = result.error && result.error->code() == ErrorCode::corrupt;
    if (result.status == WriteStatus::rejected && result.error->code() == ErrorCode::refused) {
      replace(*result.id);
    } else if (unreadable) {
      const std::lock_guard lock(mutex_);
      ++report_.unreadable;
      if (options_.on_unreadable) {
        options_.on_unreadable(*result.id, *result.error);
      }
    } else if (result.error && result.error->code() == ErrorCode::frozen) {
      throw taken_over();
    } else if (result.error) {
      throw Error(*result.error);
    } else {
      const std::lock_guard lock(mutex_);
      ++report_.written;
    }
    settle(result);
  } catch (...) {
    fail(std::current_exception());
  }
}

// Counts one write of a page, or the reading of the whole page, as done.
void Copier::settle(const WriteResult& result) {
  const std::lock_guard lock(mutex_);
  Progress& progress = progress_.at(result.position.column);
  --progress.pages.at(result.position.line - progress.first_page).writes_left;
  while (!progress.pages.empty() && progress.pages.front().writes_left == 0) {
    progress.applied = progress.pages.front().end;
    progress.advanced = true;
    progress.pages.pop_front();
    ++progress.first_page;
  }
}

// An immutable property has another value: the entity was deleted and put again in between, and the feed delivers only
// the latest version. So it is deleted here, too. What is put then is what the original has now; a version between the
// refused one and this one may come once more, and this one after it.
void Copier::replace(const Uuid& id) {
  const std::uint32_t from = shard::shard_of(id, original_.count());
  const auto rows = shard::with_shard(original_, from, original_.deadline(), [&](const sql::Database& database) {
    auto found = shard::read_entities(database, {&id, 1}, shard::Lock::none);
    shard::make_durable(database, from);
    return found;
  });
  const auto write = [&](std::optional<std::string> body) {
    WriteResult result;
    result.id = id;
    writer_.write_batch({{id, std::move(body), std::nullopt, &result}}, target_.shards().deadline());
    if (result.error) {
      throw Error(*result.error);
    }
  };
  write(std::nullopt);
  if (!rows.empty() && rows.front().body) {
    write(rows.front().body);
  }
  const std::lock_guard lock(mutex_);
  ++report_.written;
}

void Copier::fail(const std::exception_ptr& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_ ? failure_ : failure;
  ended_ = true;
}

void Copier::store_positions_in_time() {
  const std::unique_lock storing(storing_, std::try_to_lock);
  if (storing.owns_lock() && Clock::now() - stored_ >= between_stores) {
    store_positions();
  }
}

// Call it with storing_ locked.
void Copier::store_positions() {
  Positions positions;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t shard = 0; shard < progress_.size(); ++shard) {
      if (std::exchange(progress_[shard].advanced, false)) {
        positions.emplace(shard, progress_[shard].applied);
      }
    }
  }
  stored_ = Clock::now();
  target_.keep_alive();
  if (!positions.empty()) {
    target_.store(positions);
  }
  if (Clock::now() - marked_ >= between_marks) {
    write_marks(original_, target_.shards().cluster_id(), target_.positions());
    marked_ = Clock::now();
  }
}

}  // namespace looseleaf::copy
