// The cleanup records of all shards, as the passes of clean see them.
#include "clean/record_list.hpp"

#include <algorithm>
#include <utility>

#include "sql/errors.hpp"
#include "sql/retry.hpp"

namespace looseleaf::clean {
namespace {

std::map<std::uint32_t, std::vector<std::uint32_t>> groups_of(shard::Shards& shards) {
  std::set<std::uint32_t> all;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    all.insert(shard);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (const auto& on_server : shard::ServerLeases(shards.sessions()).by_server(all)) {
    for (std::size_t i = 0; i < on_server.size(); ++i) {
      groups[on_server[i - i % shard::max_listed_shards]].push_back(on_server[i]);
    }
  }
  return groups;
}

// Returns true if an error concerns the whole server, not one of its shards.
bool concerns_server(const Error& error) {
  const auto* const server = dynamic_cast<const sql::ServerError*>(&error);
  return server != nullptr && (server->retryable() || server->error_class() == sql::ErrorClass::unreachable);
}

}  // namespace

RecordList::RecordList(shard::Shards& shards, job::Job& job, bool only_known)
    : shards_(shards),
      job_(job),
      only_known_(only_known),
      groups_(groups_of(shards)),
      of_shards_(shards.count()),
      oldest_(shards.count(), Clock::now()) {}

void RecordList::list() {
  for (OfShard& of_shard : of_shards_) {
    of_shard.due.clear();
  }
  std::vector<std::uint32_t> firsts;
  for (const auto& [first, group] : groups_) {
    firsts.push_back(first);
  }
  shard::for_shards(shards_, firsts, [this](std::uint32_t first) { list(groups_.at(first)); });
}

// If one shard cannot be read, those beside it on the server are listed without it.
void RecordList::list(const std::vector<std::uint32_t>& group) {
  job_.checkpoint(group.front());
  try {
    list_together(group);
  } catch (const Error& error) {
    if (group.size() == 1 || concerns_server(error)) {
      throw;
    }
    shard::for_shards(shards_, group, [this](std::uint32_t shard) { list_together({shard}); });
  }
}

void RecordList::list_together(const std::vector<std::uint32_t>& group) {
  const base::Deadline deadline = shards_.deadline();
  const auto asked = Clock::now();
  const auto listed = sql::with_retries(deadline, [&] {
    shard::Lease lease = shards_.connect(group.front(), deadline);
    return shard::on_shard(shards_, group.front(), [&] { return shard::list_cleanup_records(lease, group); });
  });
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
