// The cleanup records of all shards, as the passes of clean see them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "job/job.hpp"
#include "shard/cleanup_records.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

// list(), and then handling what is due, make a pass. `shards` and `job` outlive it.
class RecordList {
 public:
  // With `only_settled`, a record is due only if it is some seconds old, or was listed two seconds ago already: a
  // younger one is left to its put, which is cleaning up.
  RecordList(shard::Shards& shards, job::Job& job, bool only_settled);

  void begin_pass();
  // Until the next pass, nothing of this shard is due. Thread-safe for different shards.
  void leave_out(std::uint32_t shard) { of_shards_.at(shard).is_left_out = true; }
  // Lists the records of all shards, up to a limit for each, with one statement for up to 32 shards of a server. If
  // that fails for some shards, it still lists those of the others, and then throws the first failure.
  void list();
  // Returns true if the next list() may find more that is due, once what is due now is handled.
  [[nodiscard]] bool has_more() const;
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

  // A shard's oldest record, as list() has seen it.
  struct Oldest {
    Clock::time_point written;  // when it was asked for, if there was none
    Clock::time_point asked;    // when the shard was listed
    bool none = true;
  };

  struct OfShard {
    std::map<std::uint64_t, Clock::time_point> first_listed;  // by token, of those that the last list() has seen
    std::vector<std::uint64_t> due;                           // of these
    Oldest oldest_other;                                      // of those that are not due
    bool is_full = false;                                     // there may be more
    bool is_left_out = false;
  };

  void list(std::span<const std::uint32_t> group);
  void note(std::uint32_t shard, Clock::time_point asked, const std::vector<shard::CleanupRecord>& found);
  void note_oldest(std::uint32_t shard, const Oldest& oldest);

  shard::Shards& shards_;
  job::Job& job_;
  const bool only_settled_;
  std::vector<OfShard> of_shards_;
  std::mutex mutex_;              // guards the members below
  std::vector<Oldest> oldest_;    // by shard
  Clock::time_point asked_last_;  // when the last list() began
};

}  // namespace looseleaf::clean
