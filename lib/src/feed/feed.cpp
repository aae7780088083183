// A round takes a barrier on each shard that has changed, and delivers what is below it. With `follow` there is a round
// every second, on each server on its own, so that a server that is down delays no other one.
#include "feed/feed.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "codec/body.hpp"
#include "feed/position.hpp"
#include "feed/shard_reader.hpp"
#include "model/entity.hpp"
#include "model/filter.hpp"
#include "model/parsed_entity.hpp"
#include "shard/fence.hpp"

namespace looseleaf::feed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto between_rounds = std::chrono::seconds(1);
constexpr auto nap = std::chrono::milliseconds(20);

// Returns true for failures that a reader that follows must survive.
bool passes(const Error& error) {
  return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::outcome_unknown ||
         error.code() == ErrorCode::server;
}

enum class Extent { entities_once, entities_and_changes, follow };

class Reader {
 public:
  using OnFailure = std::function<void(std::uint32_t, const Error*)>;

  Reader(shard::Shards& shards, const FeedOptions& options, Extent extent, const OnFailure& on_failure,
         const OnBatch& on_batch, FeedReport& report)
      : shards_(shards),
        options_(options),
        extent_(extent),
        on_failure_(on_failure),
        on_batch_(on_batch),
        filter_(options.where),
        report_(report) {}

  void run() {
    find_position();
    try {
      serve_all();
    } catch (...) {
      report_.position = to_text(position_);
      throw;
    }
    report_.position = to_text(position_);
  }

 private:
  void find_position() {
    if (options_.shard && *options_.shard >= shards_.count()) {
      throw Error(ErrorCode::usage, "there is no such shard", {{"shard", std::to_string(*options_.shard)}},
                  "the first shard is 0, the last one " + std::to_string(shards_.count() - 1));
    }
    const Uuid cluster_id = shards_.cluster_id();
    position_ = {cluster_id, std::vector<std::optional<ShardPosition>>(shards_.count())};
    if (options_.after == "now") {
      shard::for_each_shard(shards_,
                            [&](std::uint32_t shard) { position_.shards[shard] = feed::begin(shards_, shard, false); });
    } else if (options_.after != "beginning") {
      position_ = parse_position(options_.after, cluster_id, shards_.count());
    }
  }

  void serve_all() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_server;
    for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
      if (!options_.shard || *options_.shard == shard) {
        by_server[shards_.sessions().connector().server_of(shard)].push_back(shard);
      }
    }
    std::vector<std::function<void()>> servers;
    for (const auto& [server, here] : by_server) {
      servers.emplace_back([this, &here = here] { serve(here); });
    }
    base::run_all(servers);
  }

  // If one server fails for good, the others end, too.
  void serve(const std::vector<std::uint32_t>& here) {
    try {
      for (auto next = Clock::now(); !ended(); wait_until(next)) {
        next = Clock::now() + between_rounds;
        round(here);
        if (extent_ != Extent::follow) {
          return;
        }
      }
    } catch (...) {
      ended_ = true;
      throw;
    }
  }

  void wait_until(Clock::time_point until) {
    while (Clock::now() < until && !ended()) {
      std::this_thread::sleep_for(nap);
    }
  }

  bool ended() {
    if (options_.stop && options_.stop()) {
      ended_ = true;
    }
    return ended_;
  }

  void round(const std::vector<std::uint32_t>& here) {
    std::vector<std::uint32_t> due, begun;
    for (const std::uint32_t shard : here) {
      const auto& position = position_.shards[shard];
      (!position || position->scan ? due : begun).push_back(shard);
    }
    if (extent_ != Extent::entities_once) {
      std::mutex mutex;
      shard::for_groups(shards_, begun, [&](std::span<const std::uint32_t> group) {
        tolerate(group, [&] {
          const auto found = shards_with_news(shards_, group, position_);
          const std::lock_guard lock(mutex);
          due.insert(due.end(), found.begin(), found.end());
        });
      });
    }
    shard::for_shards(shards_, due, [&](std::uint32_t shard) { tolerate({&shard, 1}, [&] { advance(shard); }); });
  }

  // Delivers everything of one shard that was committed when this was called.
  void advance(std::uint32_t shard) {
    std::optional<ShardPosition>& position = position_.shards[shard];
    const bool scans = !position || position->scan;
    if (!position) {
      store(shard, feed::begin(shards_, shard, true));
    }
    while (!ended() && position->scan) {
      deliver(shard, read_scan(shards_, shard, *position), scans);
    }
    if (ended() || extent_ == Extent::entities_once ||
        (scans && shards_with_news(shards_, std::span(&shard, 1), position_).empty())) {
      return;
    }
    const base::Stamp barrier = shard::take_barrier(shards_, shard, shards_.deadline());
    for (bool more = true; more && !ended();) {
      Page page = read_changes(shards_, shard, *position, barrier);
      more = page.more;
      deliver(shard, std::move(page), false);
    }
  }

  // Only the thread that works on a shard changes its position, and so it may read it without the lock.
  void store(std::uint32_t shard, const ShardPosition& position) {
    const std::lock_guard lock(mutex_);
    position_.shards[shard] = position;
  }

  void deliver(std::uint32_t shard, Page page, bool scans) {
    std::vector<Change> changes;
    std::vector<ShardPosition> after;
    for (shard::EntityRow& row : page.rows) {
      if (auto change = to_change(shard, row, scans)) {
        changes.push_back(*std::move(change));
        after.push_back(position_after(row, *position_.shards[shard]));
        after.back().witness = page.end.witness;
      }
      row.body.reset();
    }
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return;
    }
    if (options_.limit != 0 && changes.size() >= options_.limit - delivered_) {
      changes.resize(options_.limit - delivered_);
      page.end = after[changes.size() - 1];
      ended_ = true;
    }
    position_.shards[shard] = page.end;
    delivered_ += changes.size();
    for (const Change& change : changes) {
      ++count_of(change.kind);
    }
    if (!changes.empty() && !on_batch_({changes, [this] { return to_text(position_); }})) {
      ended_ = true;
    }
  }

  // Returns nothing for an entity of a scan that does not match: no consumer has it yet.
  std::optional<Change> to_change(std::uint32_t shard, const shard::EntityRow& row, bool scans) const {
    Change change{.kind = Change::Kind::deleted, .id = row.id, .shard = shard, .stamp = to_string(row.updated)};
    if (!row.body) {
      return change;
    }
    try {
      change.text = codec::decode_body(*row.body, model::max_body_size);
      const bool matches = filter_.empty() || filter_.matches(model::ParsedEntity(change.text));
      change.kind = matches ? Change::Kind::stored : Change::Kind::no_match;
    } catch (const Error& error) {
      change.kind = Change::Kind::unreadable;
      change.text = error.what();
    }
    if (change.kind == Change::Kind::no_match) {
      change.text.clear();
      return scans ? std::nullopt : std::optional(std::move(change));
    }
    return change;
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

  // Reports a failure that passes, once, if the reader follows.
  template <typename Work>
  void tolerate(std::span<const std::uint32_t> group, Work&& work) {
    const Error* failure = nullptr;
    std::optional<Error> caught;
    try {
      work();
    } catch (const Error& error) {
      if (!on_failure_ || !passes(error) || (group.size() > 1 && shard::may_be_one_shards(error))) {
        throw;  // for_groups() asks the shards one by one then
      }
      caught = error;
      failure = &*caught;
    }
    const std::lock_guard lock(mutex_);
    for (const std::uint32_t shard : group) {
      const bool failed_before = failing_.contains(shard);
      if (failure && failing_.insert(shard).second) {
        on_failure_(shard, failure);
      } else if (!failure && failed_before) {
        failing_.erase(shard);
        on_failure_(shard, nullptr);
      }
    }
  }

  shard::Shards& shards_;
  const FeedOptions& options_;
  const Extent extent_;
  const OnFailure on_failure_;
  const OnBatch& on_batch_;
  const model::Filter filter_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards the members below, and calls of the caller's functions
  FeedReport& report_;
  Position position_;
  std::uint64_t delivered_ = 0;
  std::set<std::uint32_t> failing_;
};

}  // namespace

void export_entities(shard::Shards& shards, const FeedOptions& options, const OnBatch& on_batch, FeedReport& report) {
  Reader(shards, options, Extent::entities_once, {}, on_batch, report).run();
}

void changes(shard::Shards& shards, const ChangesOptions& options, const OnBatch& on_batch, FeedReport& report) {
  Reader(shards, options, options.follow ? Extent::follow : Extent::entities_and_changes,
         options.follow ? options.on_failure : nullptr, on_batch, report)
      .run();
}

}  // namespace looseleaf::feed
