// The changes that the consumer gets next, of any shards, and how far they lead on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <looseleaf/feed.hpp>
#include <map>
#include <utility>
#include <vector>

#include "feed/position.hpp"

namespace looseleaf::trigger {

class Batch {
 public:
  explicit Batch(std::uint64_t most_changes) : most_changes_(most_changes) {}

  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] bool full() const { return changes_.size() >= most_changes_ || text_ >= most_text; }
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  // By shard: where the batch ends. It may end where nothing has changed.
  [[nodiscard]] const std::map<std::uint32_t, feed::ShardPosition>& ends() const { return ends_; }
  [[nodiscard]] std::uint64_t changes_of(std::uint32_t shard) const {
    const auto found = counts_.find(shard);
    return found == counts_.end() ? 0 : found->second;
  }

  void add(Change change) {
    text_ += change.text.size();
    ++counts_[change.shard];
    changes_.push_back(std::move(change));
  }
  void end_at(std::uint32_t shard, const feed::ShardPosition& position) { ends_.insert_or_assign(shard, position); }
  void drop(std::uint32_t shard) {
    std::erase_if(changes_, [&](const Change& change) { return change.shard == shard; });
    counts_.erase(shard);
    ends_.erase(shard);
  }
  void clear() {
    changes_.clear();
    counts_.clear();
    ends_.clear();
    text_ = 0;
  }

 private:
  static constexpr std::size_t most_text = 8 << 20;

  const std::uint64_t most_changes_;
  std::vector<Change> changes_;
  std::map<std::uint32_t, std::uint64_t> counts_;
  std::map<std::uint32_t, feed::ShardPosition> ends_;
  std::size_t text_ = 0;
};

}  // namespace looseleaf::trigger
