// One run of a long job: it can be stopped, throttled and observed, and it keeps its locks alive.
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

#include "job/job_progress.hpp"
#include "job/jobs.hpp"
#include "job/throttling.hpp"
#include "shard/shards.hpp"

namespace looseleaf::job {

// Thread-safe: all threads of a run share one object. A run has phases ("backfill", "reconcile", ...) and counts its
// progress by shard. `shards` and `control` outlive it.
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

  // `name` is also the name of the only phase until another one begins. A checkpoint throws `stopped` once the caller
  // asks the job to stop. Throws Error(usage) if `throttle` cannot be applied to this cluster.
  Job(shard::Shards& shards, JobControl& control, const Throttle& throttle, std::string_view name, Error stopped);
  // A part of a job that runs in parallel with the rest, with its own pace and counts. It stops together with `whole`
  // and keeps the locks of `whole` alive.
  Job(Job& whole, const Throttle& throttle, std::string_view name);
  // The same for a part that works on another store.
  Job(Job& whole, shard::Shards& other, const Throttle& throttle, std::string_view name);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Takes the lock of a job and keeps it until the run ends; see JobLock.
  JobLock& take_lock(const std::string& name, const std::vector<std::string>& tables);
  // Calls `keep_alive` at every checkpoint as long as the result lives. `keep_alive` may throw to end the run.
  [[nodiscard]] KeepAlive keep_alive_with(std::function<void()> keep_alive);

  [[nodiscard]] JobProgress& progress() { return progress_; }

  // Call this about every second between chunks of work. Throws if the caller asked the job to stop, if a lock was
  // lost, or if another shard failed in for_each_shard(). Otherwise reports the progress of `shard`.
  void checkpoint(std::uint32_t shard);
  // A checkpoint for work that belongs to no shard. It reports no progress.
  void checkpoint();
  // Keeps the locks, but does not end a job that is asked to stop. For the last steps, which are few: the next run
  // would have to prove everything again before it could take them.
  void keep_locks();
  // Returns true if the caller asked the job to stop. The next checkpoint then throws.
  [[nodiscard]] bool stopping() const { return shared_->control.stop.load(); }

  // Returns when the job may process `more` entities or rows, and makes checkpoints while it waits. Before each
  // checkpoint during a wait, it calls `on_hold` with the reason, which is empty if only the rate limit causes the
  // wait.
  void pace(std::uint32_t shard, std::uint64_t more,
            const std::function<void(const std::string& reason)>& on_hold = {});
  // Makes checkpoints until this moment, and reports that the job waits for this reason.
  void wait_until(std::chrono::steady_clock::time_point until, const std::string& reason);
  // Returns true if the rate is limited.
  [[nodiscard]] bool is_paced() const { return throttling_.paces(); }
  // Returns the number of entities to process at once, so that a limited rate leaves room for other work.
  [[nodiscard]] std::size_t limit_chunk(std::size_t chunk) const { return throttling_.limit_chunk(chunk); }
  // Hold the result while processing a chunk. With a limited rate only one thread at a time can hold it, which leaves
  // processors to other work.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return throttling_.turn(); }

  // Runs `work` for every shard, for some of them at once as shard::for_each_shard() does. If one fails, the others end
  // at their next checkpoint, and this function throws the error of the failed one.
  void for_each_shard(const std::function<void(std::uint32_t shard)>& work);
  // Lets for_each_shard() end at its next checkpoint and throw this, unless it has failed already.
  void fail(const std::exception_ptr& failure);

 private:
  // State that a part shares with the whole job.
  struct Shared {
    JobControl& control;
    const Error stopped;
    std::mutex mutex;  // guards the members below, and calls of on_progress
    std::vector<std::unique_ptr<JobLock>> locks;
    std::list<std::function<void()>> keep_alive;
  };
  void check();
  void keep_alive();
  void report(std::uint32_t shard, const std::string& waiting, bool held_back = false);

  shard::Shards& shards_;
  const std::shared_ptr<Shared> shared_;
  Throttling throttling_;
  const std::string name_;
  const bool in_other_ = false;
  JobProgress progress_;
  std::exception_ptr failure_;  // of a shard in for_each_shard(); guarded by the shared mutex
};

}  // namespace looseleaf::job
