// The single tasks of clean; clean.cpp schedules them.
#pragma once

#include <chrono>
#include <exception>
#include <looseleaf/jobs.hpp>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "clean/buffer_flusher.hpp"
#include "clean/purge.hpp"
#include "clean/record_list.hpp"
#include "job/job.hpp"
#include "job/jobs.hpp"
#include "shard/shards.hpp"

namespace looseleaf::clean {

// The only cleaner of a cluster. pass() and sweep() may run in two threads at once. The other functions are not
// thread-safe.
class Cleaner {
 public:
  // Throws Error(busy), naming the holder, if another process cleans.
  Cleaner(shard::Shards& shards, const CleanOptions& options, JobControl& control);

  // Stores what puts have buffered, and does what puts left: reconciles the entities that cleanup records name, on all
  // shards at once, and deletes the records. Without `follow` it handles every record that is committed when it begins;
  // with it, those that are not of this moment, for some seconds. If a shard fails, the others still finish, and then
  // pass() throws the first failure. Throws Error(interrupted) when asked to stop.
  void pass();
  // Verifies everything and repairs the findings, including rows that no cleanup record leads to: those of a put that
  // died before its commit.
  void sweep();
  struct PurgeFailure {
    std::exception_ptr error;
    bool is_new = true;  // false if it was not tried again in this call
  };
  // Deletes the cursors of backfills that were killed at their very end, and purges the tombstones that are old enough,
  // on each shard once a minute. Runs until `until` or a little longer, and the next call continues from there. What
  // fails is tried again after 5 seconds, or twice the time that it took, but at most a minute. Until it works, each
  // call returns its failure.
  [[nodiscard]] std::vector<PurgeFailure> purge(std::chrono::steady_clock::time_point until);
  // See CleanPass.
  [[nodiscard]] std::vector<CleanPass::Buffer> buffers() { return flusher_.buffers(); }
  // Marks on all shards that no process cleans any more.
  void release();

  [[nodiscard]] CleanReport report();
  void count_failure(const Error& error);
  // See CleanPass.
  [[nodiscard]] std::vector<std::chrono::seconds> lags() { return records_.lags(); }

 private:
  using Clock = std::chrono::steady_clock;

  // The rows of the jobs "clean" and "purge" on a shard.
  [[nodiscard]] std::optional<job::JobRow> read_row(std::uint32_t shard, const std::string& job);
  void write_row(std::uint32_t shard, const std::string& job, const std::optional<base::Stamp>& barrier,
                 const std::string& holder);
  void name_holder();
  void show_life();
  // Leaves the rest of the records to the next pass once it is `until`, but does at least one unit.
  void handle_records(std::uint32_t shard, Clock::time_point until);
  void handle_unit(std::uint32_t shard, const shard::Catalog& catalog, std::span<const std::uint64_t> records,
                   const std::vector<Uuid>& ids);
  void count_flushed(const FlushReport& flushed);
  void count_checked(std::uint64_t entities);
  void repair(std::uint32_t shard, const shard::Catalog& catalog, std::span<const Uuid> ids);
  void warn_of_conflict(const std::string& table, const std::string& values, const Uuid& id, const Uuid& holder);
  void note_mended(FindingKind kind, const std::string& table, std::uint32_t shard);
  void warn_of_missing(const std::string& table, std::uint32_t shard);
  void warn_of_unreadable(const Uuid& id, std::uint32_t shard);
  void forget_ended_backfills();
  // The progress of the purge on one shard.
  struct Purging {
    shard::StampPlace place;
    bool all_settled = true;  // true if all tombstones before `place` are settled
  };
  // A part of the purge that is done once a minute.
  struct Part {
    // `work` returns false if there may be more.
    template <typename Work>
    void run(const Work& work);

    Clock::time_point at;        // not earlier
    std::exception_ptr failure;  // of the last run
    bool was_tried = false;      // in this call of purge()
  };
  // Returns the stamp below which nothing needs tombstones any more.
  [[nodiscard]] base::Stamp purge_before(std::uint32_t shard);
  void store_purged(std::uint32_t shard, base::Stamp settled);
  // Returns false if there may be more.
  bool purge_settled(std::uint32_t shard, Clock::time_point until);
  // Returns true if these tombstones need no more work.
  bool purge(std::uint32_t shard, std::span<const Uuid> tombstones, base::Stamp before);

  shard::Shards& shards_;
  const CleanOptions& options_;
  job::Job job_;
  const std::uint64_t token_;  // of the lock
  std::vector<char> named_;    // by shard: this process is named as the holder
  RecordList records_;
  std::vector<std::optional<Purging>> purging_;  // by shard: an unfinished purge
  std::vector<Part> purges_;                     // by shard
  Part forgetting_;                              // of the cursors of backfills
  Clock::time_point heartbeat_at_;               // not earlier; for show_life() alone
  job::Job::KeepAlive heartbeats_;
  BufferFlusher flusher_;
  std::mutex mutex_;  // guards the member below
  CleanReport report_;
};

}  // namespace looseleaf::clean
