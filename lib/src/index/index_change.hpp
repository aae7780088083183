// The right to create or drop an index, and the intent that is stored on every shard meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "job/jobs.hpp"
#include "shard/shards.hpp"

namespace looseleaf::index {

// One run of create-index or drop-index of one index. A named lock keeps two runs apart, but a session can lose it
// without noticing. So a run first writes an intent with a token of its own on every shard. It changes something only
// if the intent there still has its token. So a run that was asleep changes nothing after another run has replaced it.
class IndexChange {
 public:
  // `job` is job::create_job or job::drop_job. Throws Error(busy), which names the holder, if another run is active,
  // and Error(frozen) or Error(moved) if a shard does not take changes of its catalog. A change of all shards takes
  // long, so each step on a shard has the whole timeout.
  IndexChange(shard::Shards& shards, std::string job, std::string table);

  // Writes the intent to create or drop on every shard. It replaces the intent of an earlier run. Once this has
  // returned, no earlier run can change anything. Throws Error(busy) if another run does the same at the same time:
  // both start at shard 0, and the run whose intent stays there continues. `step` is a name of shard/steps.hpp.
  void claim(std::uint64_t generation, const std::string& detail, std::string_view step);

  // Runs `work` with the fence held exclusively. `work` changes a shard's catalog and may be repeated. Throws
  // Error(busy), as set_state() does, if another run has replaced this one's intent.
  void change_catalog(std::uint32_t shard, const std::function<void(const sql::Database&)>& work);

  // Changes the state of the index from one of `from` to `to` on every shard that has it, in order. Skips a shard where
  // the index has another state.
  void set_state(std::uint64_t generation, const std::vector<IndexState>& from, IndexState to, std::string_view step);

  // Runs DDL on a shard. No other run can claim that shard before the statement has ended, even if this process dies.
  void run_ddl(std::uint32_t shard, std::string_view step, const std::function<void(const sql::Database&)>& work);

  // Deletes the intents, the one on shard 0 last.
  void finish(std::string_view step);

 private:
  [[nodiscard]] std::string query_for_token(const sql::Database& database) const;
  [[nodiscard]] bool is_ours(const sql::Database& database) const;
  void keep_lock();
  void remove_intent(std::uint32_t shard);
  void with_named_lock(std::uint32_t shard, const std::function<void(const sql::Database&)>& work);

  shard::Shards& shards_;
  const std::string job_, table_;
  job::JobLock lock_;
};

}  // namespace looseleaf::index
