// One run of a long job: it can be stopped, throttled and observed, and it keeps its locks alive.
#include "job/job.hpp"

#include <thread>
#include <utility>

namespace looseleaf::job {

Job::Job(shard::Shards& shards, JobControl& control, const Throttle& throttle, std::string_view name, Error stopped)
    : shards_(shards),
      shared_(new Shared{control, std::move(stopped), {}, {}, {}}),
      throttling_(shards, throttle),
      name_(name),
      progress_(shards.count(), name) {}

Job::Job(Job& whole, const Throttle& throttle, std::string_view name)
    : shards_(whole.shards_),
      shared_(whole.shared_),
      throttling_(whole.shards_, throttle),
      name_(name),
      progress_(whole.shards_.count(), name) {}

Job::Job(Job& whole, shard::Shards& other, const Throttle& throttle, std::string_view name)
    : shards_(other),
      shared_(whole.shared_),
      throttling_(other, throttle),
      name_(name),
      in_other_(true),
      progress_(other.count(), name) {}

JobLock& Job::take_lock(const std::string& name, const std::vector<std::string>& tables) {
  auto lock = std::make_unique<JobLock>(shards_, name, tables);
  const std::lock_guard guard(shared_->mutex);
  return *shared_->locks.emplace_back(std::move(lock));
}

Job::KeepAlive Job::keep_alive_with(std::function<void()> keep_alive) {
  return {shared_, std::move(keep_alive)};
}

Job::KeepAlive::KeepAlive(std::shared_ptr<Shared> shared, std::function<void()> keep_alive)
    : shared_(std::move(shared)) {
  const std::lock_guard lock(shared_->mutex);
  place_ = shared_->keep_alive.insert(shared_->keep_alive.end(), std::move(keep_alive));
}

Job::KeepAlive::~KeepAlive() {
  const std::lock_guard lock(shared_->mutex);
  shared_->keep_alive.erase(place_);
}

void Job::checkpoint(std::uint32_t shard) {
  const std::lock_guard lock(shared_->mutex);
  check();
  report(shard, {});
}

void Job::checkpoint() {
  const std::lock_guard lock(shared_->mutex);
  check();
}

void Job::keep_locks() {
  const std::lock_guard lock(shared_->mutex);
  keep_alive();
}

void Job::pace(std::uint32_t shard, std::uint64_t more, const std::function<void(const std::string&)>& on_hold) {
  throttling_.wait(more, [&](const std::string& reason) {
    if (on_hold) {
      on_hold(reason);
    }
    const std::lock_guard lock(shared_->mutex);
    check();
    report(shard, reason, !reason.empty());
  });
  checkpoint(shard);
}

void Job::wait_until(std::chrono::steady_clock::time_point until, const std::string& reason) {
  constexpr auto nap = std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < until) {
    {
      const std::lock_guard lock(shared_->mutex);
      check();
      report(0, reason);
    }
    std::this_thread::sleep_for(nap);
  }
  checkpoint(0);
}

void Job::for_each_shard(const std::function<void(std::uint32_t)>& work) {
  shard::for_each_shard(shards_, [&](std::uint32_t shard) {
    try {
      work(shard);
    } catch (...) {
      fail(std::current_exception());
    }
  });
  const std::lock_guard lock(shared_->mutex);
  if (const auto failure = std::exchange(failure_, nullptr)) {
    std::rethrow_exception(failure);
  }
}

void Job::check() {
  if (stopping()) {
    throw Error(shared_->stopped);
  }
  if (failure_) {
    std::rethrow_exception(failure_);  // the caller sees the first failure
  }
  keep_alive();
}

void Job::keep_alive() {
  for (const auto& lock : shared_->locks) {
    lock->keep_alive();
  }
  for (const auto& keep_alive : shared_->keep_alive) {
    keep_alive();
  }
}

void Job::report(std::uint32_t shard, const std::string& waiting, bool held_back) {
  if (shared_->control.on_progress) {
    const JobProgress::State state = progress_.of(shard);
    shared_->control.on_progress(
        {name_, shard, state.done, state.estimate, waiting, state.phase, held_back, in_other_});
  }
}

void Job::fail(const std::exception_ptr& failure) {
  const std::lock_guard lock(shared_->mutex);
  failure_ = failure_ ? failure_ : failure;
}

}  // namespace looseleaf::job
