// What a clean does, piece by piece; clean.cpp says when.
#pragma once

#include <chrono>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "clean/purge.hpp"
#include "job/job.hpp"
#include "job/jobs.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

// The one cleaner of a cluster. pass() and sweep() may run in two threads at once; everything else is for one.
class Cleaner {
 public:
  // Throws Error(busy), naming the holder, if another process cleans.
  Cleaner(shard::Shards& shards, const CleanOptions& options, JobControl& control);

  // Reconciles what changed since the last pass, most recent first, on all shards at once. A shard that fails does not
  // keep the others from being finished; the first failure is thrown then. Throws Error(interrupted) when asked to
  // stop.
  void pass();
  // Verifies everything and mends what is found, orphans too: what a put left that died before its commit.
  void sweep();
  // Forgets what backfills left that were killed at their very end, and purges the tombstones that are old enough,
  // until `until` or a little longer. False if there may be more: the next call goes on.
  bool purge(std::chrono::steady_clock::time_point until);
  // Says on all shards that nobody cleans any more.
  void release();

  [[nodiscard]] CleanReport report();
  void count_failure(const Error& error);
  // See CleanPass.
  [[nodiscard]] std::vector<std::chrono::seconds> lags();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] job::JobRow read_watermark(std::uint32_t shard, const std::string& job);
  void write_watermark(std::uint32_t shard, const std::string& job, base::Stamp watermark,
                       const std::string& holder = job::this_process());
  void settle(std::uint32_t shard, Clock::time_point until);
  void find_lag(std::uint32_t shard, base::Stamp watermark);
  [[nodiscard]] bool has_changed(std::uint32_t shard, base::Stamp since);
  void clean_changed(std::uint32_t shard);
  void count_checked(std::uint64_t entities);
  void mend(std::uint32_t shard, const shard::Catalog& catalog, std::span<const Uuid> ids);
  void warn_of_missing(const std::string& table, std::uint32_t shard);
  void forget_ended_backfills(std::uint32_t shard);
  [[nodiscard]] bool is_building(const job::JobRow& backfill);
  // How far the purge of a shard has come.
  struct Purging {
    shard::StampPlace place;
    bool all_settled = true;  // before it
  };
  // Stamps of tombstones that nothing needs any more are below it.
  [[nodiscard]] base::Stamp purge_before(std::uint32_t shard);
  bool purge_settled(std::uint32_t shard, Clock::time_point until);
  // Returns whether nothing is left to be done about them.
  bool purge(std::uint32_t shard, std::span<const Uuid> tombstones, base::Stamp before);

  shard::Shards& shards_;
  const CleanOptions& options_;
  job::Job job_;
  const std::uint64_t token_;                    // of the lock
  std::vector<char> named_;                      // by shard: this process stands as the holder in its watermark's row
  std::vector<std::optional<Purging>> purging_;  // by shard: a purge that has not come to its end
  std::mutex mutex_;                             // guards what follows
  CleanReport report_;
  std::vector<Clock::time_point> settled_;  // by shard: every change before this was looked at
};

}  // namespace looseleaf::clean
