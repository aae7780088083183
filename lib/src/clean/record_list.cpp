// The cleanup records of all shards, as the passes of clean see them.
#include "clean/record_list.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace looseleaf::clean {
namespace {

constexpr std::size_t most_listed = 1000;                // records of a shard: memory has a limit, and they have none
constexpr auto settled_age = std::chrono::seconds(10);   // a put that lives has deleted its record by then
constexpr auto settled_since = std::chrono::seconds(2);  // nearly all have, and nobody waits for long

}  // namespace

RecordList::RecordList(shard::Shards& shards, job::Job& job, bool only_settled)
    : shards_(shards),
      job_(job),
      only_settled_(only_settled),
      of_shards_(shards.count()),
      oldest_(shards.count(), Oldest{Clock::now(), Clock::now(), true}) {}

void RecordList::begin_pass() {
  for (OfShard& of_shard : of_shards_) {
    of_shard.is_left_out = false;
  }
}

void RecordList::list() {
  for (OfShard& of_shard : of_shards_) {
    of_shard.due.clear();
    of_shard.is_full = false;
  }
  const auto asked = Clock::now();
  std::exception_ptr failure;
  try {
    shard::for_groups(shards_, shard::all_shards(shards_), [this](std::span<const std::uint32_t> group) {
      job_.checkpoint(group.front());
      list(group);
    });
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    asked_last_ = asked;
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void RecordList::list(std::span<const std::uint32_t> group) {
  const auto asked = Clock::now();
  const auto listed =
      shard::with_group(shards_, group, shards_.deadline(), shard::Purpose::general,
                        [&](shard::Lease& lease) { return shard::list_cleanup_records(lease, group, most_listed); });
  for (const std::uint32_t shard : group) {
    const auto found = listed.find(shard);
    note(shard, asked, found == listed.end() ? std::vector<shard::CleanupRecord>() : found->second);
  }
}

void RecordList::note(std::uint32_t shard, Clock::time_point asked, const std::vector<shard::CleanupRecord>& found) {
  OfShard& of_shard = of_shards_[shard];
  std::map<std::uint64_t, Clock::time_point> first_listed;
  Oldest oldest = {asked, asked, found.empty()}, oldest_other = {asked, asked, true};
  for (const shard::CleanupRecord& record : found) {
    const Clock::time_point written = asked - record.age;
    oldest.written = std::min(oldest.written, written);
    const auto first = of_shard.first_listed.try_emplace(record.token, asked).first->second;
    first_listed.emplace(record.token, first);
    // The clock of a server that took another one's place may be behind.
    const bool is_settled = record.age >= settled_age || asked - first >= settled_since;
    if (!of_shard.is_left_out && (!only_settled_ || is_settled)) {
      of_shard.due.push_back(record.token);
    } else {
      oldest_other = {std::min(oldest_other.written, written), asked, false};
    }
  }
  of_shard.first_listed = std::move(first_listed);
  of_shard.is_full = found.size() == most_listed && !of_shard.due.empty();
  of_shard.oldest_other = oldest_other;
  note_oldest(shard, oldest);
}

bool RecordList::has_more() const {
  return std::any_of(of_shards_.begin(), of_shards_.end(), [](const OfShard& of_shard) { return of_shard.is_full; });
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
  if (!of_shards_[shard].is_full) {  // or else what was not listed may be as old
    note_oldest(shard, of_shards_[shard].oldest_other);
  }
}

void RecordList::note_oldest(std::uint32_t shard, const Oldest& oldest) {
  const std::lock_guard lock(mutex_);
  oldest_[shard] = oldest;
}

std::vector<std::chrono::seconds> RecordList::lags() {
  const std::lock_guard lock(mutex_);
  std::vector<std::chrono::seconds> lags;
  for (const Oldest& oldest : oldest_) {
    const bool is_none = oldest.none && oldest.asked >= asked_last_;
    lags.push_back(is_none ? std::chrono::seconds()
                           : std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - oldest.written));
  }
  return lags;
}

}  // namespace looseleaf::clean
