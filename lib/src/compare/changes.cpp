// A reader of the feed that compares each page with what the copy has.
#include "compare/changes.hpp"

#include <algorithm>
#include <atomic>
#include <looseleaf/error.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "feed/rounds.hpp"
#include "shard/placement.hpp"

namespace looseleaf::compare {
namespace {

// Kept in memory: 16 MiB. A store that is open has differences of its own, what was written since it was copied.
constexpr std::size_t most_differing = 1'000'000;

}  // namespace

class Changes::Reader : public feed::Reader {
 public:
  Reader(Changes& changes, const Store& here, const Store& there) : changes_(changes), here_(here), there_(there) {}

  bool ended() override { return ended_ || here_.job.stopping(); }
  void end() override { ended_ = true; }
  std::vector<std::uint32_t> choose(std::span<const std::uint32_t> shards) override {
    return {shards.begin(), shards.end()};
  }
  std::optional<feed::ShardPosition> position(std::uint32_t shard) override {
    const std::lock_guard lock(mutex_);
    return changes_.at_.at(shard);
  }
  std::optional<feed::ShardPosition> take(std::uint32_t shard, const std::optional<feed::ShardPosition>& /*from*/,
                                          feed::Page page, feed::Source /*source*/) override {
    std::map<Uuid, Content> here;
    for (const shard::EntityRow& row : page.rows) {
      here.insert_or_assign(row.id, content_of(row, changes_.digester_));
    }
    here_.job.pace(shard, page.rows.size());
    const std::vector<Uuid> differing = differing_of(here);
    const std::lock_guard lock(mutex_);
    changes_.at_[shard] = page.end;
    changes_.compared_ += here.size();
    changes_.differing_.insert(changes_.differing_.end(), differing.begin(), differing.end());
    if (changes_.differing_.size() > most_differing) {
      throw Error(ErrorCode::corrupt, "too much differs between this store and its copy", {},
                  "run the command again when there are fewer writes, or `looseleaf verify --against` with the other "
                  "cluster file to see what differs");
    }
    return page.end;
  }
  void end_round() override {}
  void tell(std::uint32_t /*shard*/, const Error* /*failure*/) override {}

  [[nodiscard]] std::vector<Uuid> differing_of(const std::map<Uuid, Content>& here) const {
    std::vector<Uuid> ids, differing;
    for (const auto& [id, content] : here) {
      ids.push_back(id);
    }
    const std::vector<Content> there = read_contents(there_, ids, changes_.digester_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!same(here.at(ids[i]), there[i])) {
        differing.push_back(ids[i]);
      }
    }
    return differing;
  }

 private:
  Changes& changes_;
  const Store& here_;
  const Store& there_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;  // guards the members of changes_ that change
};

void Changes::compare(const Store& here, const Store& there) {
  const std::vector<Uuid> again = std::exchange(differing_, {});
  Reader reader(*this, here, there);
  feed::Rounds(here.shards, reader, feed::Extent::entities_and_changes, feed::Failures::end)
      .run(shard::all_shards(here.shards));
  const std::vector<Content> contents = read_contents(here, again, digester_);
  std::map<Uuid, Content> now;
  for (std::size_t i = 0; i < again.size(); ++i) {
    now.emplace(again[i], contents[i]);
  }
  const std::vector<Uuid> still = reader.differing_of(now);
  differing_.insert(differing_.end(), still.begin(), still.end());
  std::sort(differing_.begin(), differing_.end());
  differing_.erase(std::unique(differing_.begin(), differing_.end()), differing_.end());
  here.job.checkpoint();
}

std::vector<Difference> Changes::differences(const Store& here, const Store& there) const {
  const std::vector<Content> ours = read_contents(here, differing_, digester_);
  const std::vector<Content> theirs = read_contents(there, differing_, digester_);
  std::vector<Difference> all;
  for (std::size_t i = 0; i < differing_.size(); ++i) {
    for (const auto& [kind, reason] : kinds_of_difference(ours[i], theirs[i])) {
      all.push_back({kind, differing_[i], shard::shard_of(differing_[i], here.shards.count()),
                     shard::shard_of(differing_[i], there.shards.count()), reason});
    }
  }
  return all;
}

}  // namespace looseleaf::compare
