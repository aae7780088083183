// The right to create or drop an index, and the intent that stands on every shard while that goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "job/jobs.hpp"
#include "shard/shards.hpp"

namespace looseleaf::index {

// One run of create-index or drop-index of one index. A named lock keeps two runs apart, but it can be lost without its
// holder noticing. So a run writes its intent, with a token of its own, on every shard before it changes anything, and
// every change is made on condition that the intent there still has that token: a run that was only asleep changes
// nothing any more once another one has taken its place.
class IndexChange {
 public:
  // `job` is "create" or "drop". Throws Error(busy), naming the holder, if another run is under way.
  IndexChange(shard::Shards& shards, std::string job, std::string table, const base::Deadline& deadline);

  // Writes the intent on every shard, in place of what an earlier run left there, to create or to drop. Once this has
  // returned no earlier run can change anything. Throws Error(busy) if another run did the same meanwhile; each begins
  // at shard 0, so the one whose intent stands there goes on. `step` is a name of shard/steps.hpp.
  void claim(std::uint64_t generation, const std::string& detail, std::string_view step);

  // Runs `work`, which changes a shard's catalog and can be repeated, with the fence held exclusively. Throws
  // Error(busy), as the next one, if the intent is not this run's any more.
  void change_catalog(std::uint32_t shard, const std::function<void(sql::Connection&)>& work) const;

  // Moves the index from one of the states `from` to another on every shard that has it, in order. A shard where it is
  // in another state is left alone.
  void set_state(std::uint64_t generation, const std::vector<IndexState>& from, IndexState to,
                 std::string_view step) const;

  // Runs DDL on a shard. No other run can claim that shard before the statement has ended, even if this process dies
  // meanwhile.
  void run_ddl(std::uint32_t shard, std::string_view step, const std::function<void(sql::Connection&)>& work) const;

  // Removes the intents, shard 0's last.
  void finish(std::string_view step) const;

 private:
  [[nodiscard]] bool is_ours(sql::Connection& connection) const;
  void remove_intent(std::uint32_t shard) const;
  void with_named_lock(std::uint32_t shard, const std::function<void(sql::Connection&)>& work) const;

  shard::Shards& shards_;
  const std::string job_, table_;
  const base::Deadline& deadline_;
  job::JobLock lock_;
};

}  // namespace looseleaf::index
