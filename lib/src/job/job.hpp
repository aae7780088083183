// One run of a long job: how it is stopped, held back and followed, and how it keeps its locks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <looseleaf/jobs.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "job/jobs.hpp"
#include "job/throttling.hpp"
#include "shard/shards.hpp"

namespace looseleaf::job {

// For all threads of one run. A run works through phases ("backfill", "reconcile", ...), and counts in each, for every
// shard, how far it is. `shards` and `control` outlive it.
class Job {
 private:
  struct Shared;

 public:
  class KeepAlive {
   public:
    KeepAlive(std::shared_ptr<Shared> shared, std::function<void()> keep_alive);
    ~KeepAlive();
    KeepAlive(const KeepAlive&) = delete;
    KeepAlive& operator=(const KeepAlive&) = delete;

   private:
    const std::shared_ptr<Shared> shared_;
    std::list<std::function<void()>>::iterator place_;
  };

  // `stopped` is thrown by a checkpoint once the caller asks the job to stop. Throws Error(usage) if `throttle` cannot
  // be applied to this cluster.
  Job(shard::Shards& shards, JobControl& control, const Throttle& throttle, std::string_view phase, Error stopped);
  // A part of a job that runs beside the rest of it, with a pace and counts of its own. It stops when the whole does,
  // and keeps the locks of the whole.
  Job(Job& whole, const Throttle& throttle, std::string_view phase);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Takes the lock of a job and keeps it until the run ends. Throws Error(busy), naming the holder, if another process
  // has it.
  JobLock& take_lock(const std::string& name, const std::string& table);
  // As long as the result lives, calls `keep_alive` at every checkpoint; it may throw to end the run.
  [[nodiscard]] KeepAlive keep_alive_with(std::function<void()> keep_alive);

  // Begins a phase: nothing of it is done on any shard.
  void begin(std::string_view phase);
  // About how much a shard has to do in this phase, and what was done of it before this run.
  void expect(std::uint32_t shard, std::uint64_t estimate, std::uint64_t done = 0);
  // So much more is done.
  void advance(std::uint32_t shard, std::uint64_t more);

  // To be called every second or so between chunks of work. Throws if the caller asked the job to stop, if a lock was
  // lost, or if another shard failed in for_each_shard(); else reports the progress of `shard`.
  void checkpoint(std::uint32_t shard);
  // The same for work that belongs to no shard: reports nothing.
  void checkpoint();
  // Has the caller asked the job to stop? The next checkpoint throws then.
  [[nodiscard]] bool stopping() const { return shared_->control.stop.load(); }

  // Returns when `more` entities or rows may be dealt with, and is a checkpoint meanwhile. While the job is held up,
  // `on_hold` is called before each of these, with the reason; the reason is empty if only the rate is limited.
  void pace(std::uint32_t shard, std::uint64_t more,
            const std::function<void(const std::string& reason)>& on_hold = {});
  // Is the rate limited?
  [[nodiscard]] bool is_paced() const { return throttling_.paces(); }
  // How many entities to deal with at once, so that a limited rate leaves others room.
  [[nodiscard]] std::size_t limit_chunk(std::size_t chunk) const { return throttling_.limit_chunk(chunk); }
  // To be held while a chunk is dealt with: with a limited rate one thread at a time does, so that others find a
  // processor.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return throttling_.turn(); }

  // Runs `work` for every shard at once and returns when all have ended. When one fails, the others end at their next
  // checkpoint, and its error is thrown.
  void for_each_shard(const std::function<void(std::uint32_t shard)>& work);

 private:
  // What a part has in common with the whole.
  struct Shared {
    JobControl& control;
    const Error stopped;
    std::mutex mutex;  // guards what follows, and calls of on_progress
    std::vector<std::unique_ptr<JobLock>> locks;
    std::list<std::function<void()>> keep_alive;
  };
  struct Count {
    std::uint64_t done = 0, estimate = 0;
  };

  void check();
  void report(std::uint32_t shard, const std::string& waiting);
  void fail(const std::exception_ptr& failure);

  shard::Shards& shards_;
  const std::shared_ptr<Shared> shared_;
  Throttling throttling_;
  std::string phase_;           // guarded by the shared mutex, as the next two are
  std::vector<Count> counts_;   // by shard, in this phase
  std::exception_ptr failure_;  // of a shard in for_each_shard()
};

}  // namespace looseleaf::job
