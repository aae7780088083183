// The cleanup records of all shards, as the passes of clean see them.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "job/job.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

// list(), and then handling what is due, make a pass. `shards` and `job` outlive it.
class RecordList {
 public:
  // With `only_known`, a record is due only if the last list() has seen it too: a younger one is left to its put, which
  // has hardly begun to clean up.
  RecordList(shard::Shards& shards, job::Job& job, bool only_known);

  // Lists the records of all shards, with one statement for up to 32 shards of a server. If that fails for some shards,
  // it still lists those of the others, and then throws the first failure.
  void list();
  // Returns the shards that have records due.
  [[nodiscard]] std::vector<std::uint32_t> shards_due() const;
  // Returns the tokens of the records that are due.
  [[nodiscard]] const std::vector<std::uint64_t>& due(std::uint32_t shard) const { return of_shards_.at(shard).due; }
  // Notes that the records which were due are deleted. Thread-safe.
  void mark_handled(std::uint32_t shard);

  // Returns the age of the oldest record by shard; 0 if there is none. Of a shard that cannot be listed, it returns the
  // time since it could be, and adds the age of its oldest record at that time. Thread-safe.
  [[nodiscard]] std::vector<std::chrono::seconds> lags();

 private:
  using Clock = std::chrono::steady_clock;

  struct OfShard {
    std::set<std::uint64_t> listed;       // by the last list()
    std::vector<std::uint64_t> due;       // of these
    Clock::time_point oldest_other = {};  // when the oldest that is not due was written; now if there is none
  };

  void list(std::span<const std::uint32_t> group);
  void note(std::uint32_t shard, Clock::time_point asked, const std::vector<shard::CleanupRecord>& found);
  void note_oldest(std::uint32_t shard, Clock::time_point written);

  shard::Shards& shards_;
  job::Job& job_;
  const bool only_known_;
  std::vector<OfShard> of_shards_;
  std::mutex mutex_;                       // guards the next member
  std::vector<Clock::time_point> oldest_;  // by shard: when its oldest record was written
};

}  // namespace looseleaf::clean
