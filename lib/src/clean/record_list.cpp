// The cleanup records of all shards, as the passes of clean see them.
#include "clean/record_list.hpp"

#include <algorithm>
#include <utility>

namespace looseleaf::clean {

RecordList::RecordList(shard::Shards& shards, job::Job& job, bool only_known)
    : shards_(shards),
      job_(job),
      only_known_(only_known),
      of_shards_(shards.count()),
      oldest_(shards.count(), Clock::now()) {}

void RecordList::list() {
  for (OfShard& of_shard : of_shards_) {
    of_shard.due.clear();
  }
  shard::for_groups(shards_, shard::all_shards(shards_), [this](std::span<const std::uint32_t> group) {
    job_.checkpoint(group.front());
    list(group);
  });
}

void RecordList::list(std::span<const std::uint32_t> group) {
  const auto asked = Clock::now();
  const auto listed = shard::with_group(shards_, group, shards_.deadline(), shard::Purpose::general,
                                        [&](shard::Lease& lease) { return shard::list_cleanup_records(lease, group); });
  for (const std::uint32_t shard : group) {
    const auto found = listed.find(shard);
    note(shard, asked, found == listed.end() ? std::vector<shard::CleanupRecord>() : found->second);
  }
}

void RecordList::note(std::uint32_t shard, Clock::time_point asked, const std::vector<shard::CleanupRecord>& found) {
  OfShard& of_shard = of_shards_[shard];
  std::set<std::uint64_t> listed;
  Clock::time_point oldest = asked;
  of_shard.oldest_other = asked;
  for (const shard::CleanupRecord& record : found) {
    const Clock::time_point written = asked - record.age;
    oldest = std::min(oldest, written);
    listed.insert(record.token);
    if (!only_known_ || of_shard.listed.contains(record.token)) {
      of_shard.due.push_back(record.token);
    } else {
      of_shard.oldest_other = std::min(of_shard.oldest_other, written);
    }
  }
  of_shard.listed = std::move(listed);
  note_oldest(shard, oldest);
}

std::vector<std::uint32_t> RecordList::shards_due() const {
  std::vector<std::uint32_t> shards;
  for (std::uint32_t shard = 0; shard < of_shards_.size(); ++shard) {
    if (!of_shards_[shard].due.empty()) {
      shards.push_back(shard);
    }
  }
  return shards;
}

void RecordList::mark_handled(std::uint32_t shard) {
  note_oldest(shard, of_shards_[shard].oldest_other);
}

void RecordList::note_oldest(std::uint32_t shard, Clock::time_point written) {
  const std::lock_guard lock(mutex_);
  oldest_[shard] = written;
}

std::vector<std::chrono::seconds> RecordList::lags() {
  const std::lock_guard lock(mutex_);
  std::vector<std::chrono::seconds> lags;
  for (const Clock::time_point& written : oldest_) {
    lags.push_back(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - written));
  }
  return lags;
}

}  // namespace looseleaf::clean
