// Gives each page to the caller as a batch, and keeps the position.
#include "feed/feed.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "feed/position.hpp"
#include "feed/rounds.hpp"
#include "model/filter.hpp"
#include "shard/access.hpp"

namespace looseleaf::feed {
namespace {

using OnFailure = std::function<void(std::uint32_t, const Error*)>;

class BatchReader : public Reader {
 public:
  BatchReader(shard::Shards& shards, const FeedOptions& options, const OnFailure& on_failure, const OnBatch& on_batch,
              FeedReport& report)
      : shards_(shards),
        options_(options),
        on_failure_(on_failure),
        on_batch_(on_batch),
        filter_(options.where),
        report_(report) {}

  void run(Extent extent) {
    follows_ = extent == Extent::follow;
    find_position();
    try {
      warn(extent);
      Rounds(shards_, *this, extent, on_failure_ ? Failures::told : Failures::end).run(wanted_shards());
      if (thrown_) {
        std::rethrow_exception(thrown_);
      }
    } catch (...) {
      report_.position = to_text(position_);
      throw;
    }
    report_.position = to_text(position_);
    filter_.warn_of_mistakes(shards_.warnings(), model::Filter::Reading::ended);
  }

  bool ended() override {
    if (options_.stop && options_.stop()) {
      ended_ = true;
    }
    return ended_;
  }

  void end() override { ended_ = true; }

  std::vector<std::uint32_t> choose(std::span<const std::uint32_t> shards) override {
    return {shards.begin(), shards.end()};
  }

  // Only the thread that works on a shard changes its position, and so it may read it without the lock.
  std::optional<ShardPosition> position(std::uint32_t shard) override { return position_.shards[shard]; }

  std::optional<ShardPosition> take(std::uint32_t shard, const std::optional<ShardPosition>& from, Page page,
                                    Source source) override {
    std::vector<Change> changes;
    std::vector<ShardPosition> after;
    for (shard::EntityRow& row : page.rows) {
      if (auto change = to_change(shard, row, filter_, source)) {
        changes.push_back(*std::move(change));
        after.push_back(position_after(row, *from, page.end));
      }
      row.body.reset();
    }
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return std::nullopt;
    }
    const std::uint64_t left = options_.limit - delivered_;
    if (options_.limit != 0 && changes.size() > left) {
      changes.resize(left);
      page.end = after[left - 1];
    }
    ended_ = ended_ || (options_.limit != 0 && changes.size() == left);
    deliver(shard, changes, page.end);
    return ended_ ? std::nullopt : std::optional(page.end);
  }

  void end_round() override {
    if (follows_) {
      filter_.warn_of_mistakes(shards_.warnings(), model::Filter::Reading::goes_on);
    }
  }

  void tell(std::uint32_t shard, const Error* failure) override {
    const std::lock_guard lock(mutex_);
    if (!thrown_) {
      on_failure_(shard, failure);
    }
  }

 private:
  void find_position() {
    if (options_.shard) {
      shards_.require_shard(*options_.shard);
    }
    try {
      position_ = start_position(shards_, options_.after, options_.shard);
    } catch (const Error& error) {
      const bool is_position = options_.after != "now" && options_.after != "beginning";
      if (is_position && error.code() != ErrorCode::bad_position) {
        report_.position = options_.after;
      }
      throw;
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> wanted_shards() const {
    return options_.shard ? std::vector{*options_.shard} : shard::all_shards(shards_);
  }

  // A batch that the caller's function did not take, because it threw, does not count.
  void deliver(std::uint32_t shard, const std::vector<Change>& changes, const ShardPosition& end) {
    const std::optional<ShardPosition> before = std::exchange(position_.shards[shard], end);
    try {
      if (!changes.empty() && !on_batch_({changes, [position = position_] { return to_text(position); }})) {
        ended_ = true;
      }
    } catch (...) {
      position_.shards[shard] = before;
      ended_ = true;
      thrown_ = std::current_exception();
      throw;
    }
    delivered_ += changes.size();
    for (const Change& change : changes) {
      ++count_of(change.kind);
    }
  }

  // Warns of what somebody does not expect who reads everything once.
  void warn(Extent extent) {
    const std::vector<std::uint32_t> shards = wanted_shards();
    if (!follows_) {
      shard::warn_if_moved(shards_, shards.front(), shards_.deadline());
    }
    const auto is_read = [&](std::uint32_t shard) { return position_.shards[shard] && !position_.shards[shard]->scan; };
    if (extent == Extent::entities_once && std::all_of(shards.begin(), shards.end(), is_read)) {
      shards_.warnings().give({"nothing is left of this export: the position is that of its end",
                               {},
                               "`looseleaf changes --after POSITION` gives what has changed since"});
    }
  }

  std::uint64_t& count_of(Change::Kind kind) {
    switch (kind) {
      case Change::Kind::stored:
        return report_.stored;
      case Change::Kind::deleted:
        return report_.deleted;
      case Change::Kind::no_match:
        return report_.no_match;
      case Change::Kind::unreadable:
        return report_.unreadable;
    }
    return report_.unreadable;
  }

  shard::Shards& shards_;
  const FeedOptions& options_;
  const OnFailure on_failure_;
  const OnBatch& on_batch_;
  const model::Filter filter_;
  bool follows_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards the members below, and calls of the caller's functions
  FeedReport& report_;
  Position position_;
  std::uint64_t delivered_ = 0;
  std::exception_ptr thrown_;  // by the caller's function; it may look like a failure of the shard
};

}  // namespace

Position start_position(shard::Shards& shards, const std::string& after, std::optional<std::uint32_t> only) {
  const Uuid cluster_id = shards.cluster_id();
  Position position{cluster_id, std::vector<std::optional<ShardPosition>>(shards.count())};
  if (after == "now") {
    shard::for_shards(shards, only ? std::vector{*only} : shard::all_shards(shards),
                      [&](std::uint32_t shard) { position.shards[shard] = feed::begin(shards, shard, false); });
  } else if (after != "beginning") {
    position = parse_position(after, cluster_id, shards.count());
  }
  return position;
}

void export_entities(shard::Shards& shards, const FeedOptions& options, const OnBatch& on_batch, FeedReport& report) {
  BatchReader(shards, options, {}, on_batch, report).run(Extent::entities_once);
}

void changes(shard::Shards& shards, const ChangesOptions& options, const OnBatch& on_batch, FeedReport& report) {
  try {
    BatchReader(shards, options, options.follow ? options.on_failure : nullptr, on_batch, report)
        .run(options.follow ? Extent::follow : Extent::entities_and_changes);
  } catch (Error& error) {
    if (error.code() == ErrorCode::moved) {
      error.with_hint(
          "everything was delivered; follow the new store with its cluster file, from `--after beginning` "
          "on: a position of this store is not valid there");
    }
    throw;
  }
}

}  // namespace looseleaf::feed
