// Runs clean once, or forever. It does what puts left every second, purges tombstones every minute, and checks
// everything about once a day.
#include "clean/clean.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <looseleaf/cluster.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "clean/cleaner.hpp"

namespace looseleaf::clean {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto nap = std::chrono::milliseconds(100);
constexpr auto between_passes = std::chrono::seconds(1);
// This limits the delay of the next pass, which must not wait for long.
constexpr auto longest_purge = std::chrono::seconds(2);
constexpr auto between_claims = std::chrono::seconds(2);
constexpr auto after_failed_sweep = std::chrono::minutes(1);

enum class Kind { pass, sweep };

// `failure` is null if the pass or sweep succeeded.
void report(Cleaner& cleaner, const CleanOptions& options, Kind kind, const Error* failure,
            const std::vector<Error>& purge_failures = {}) {
  if (failure && failure->code() != ErrorCode::interrupted) {
    cleaner.count_failure(*failure);
  }
  if (options.on_pass) {
    options.on_pass(
        {cleaner.report(), kind == Kind::sweep, failure, cleaner.lags(), cleaner.buffers(), purge_failures});
  }
}

// Returns true if a pass failed because of what single entities contain: everything else can be done.
bool concerns_single_writes(const Error& error) {
  return error.code() == ErrorCode::server || error.code() == ErrorCode::corrupt;
}

CleanReport clean_once(shard::Shards& shards, const CleanOptions& options, JobControl& control) {
  Cleaner cleaner(shards, options, control);
  try {
    std::exception_ptr failure;
    try {
      cleaner.pass();
    } catch (const Error& error) {
      if (!concerns_single_writes(error)) {
        throw;
      }
      failure = std::current_exception();
    }
    if (options.full) {
      cleaner.sweep();
    }
    const auto purge_failures = cleaner.purge(Clock::time_point::max());
    if (!purge_failures.empty()) {
      std::rethrow_exception(purge_failures.front().error);
    }
    cleaner.release();
    if (failure) {
      std::rethrow_exception(failure);
    }
  } catch (const Error& error) {
    report(cleaner, options, Kind::pass, &error);
    throw;
  }
  report(cleaner, options, Kind::pass, nullptr);
  return cleaner.report();
}

// Cleans until the caller asks it to stop.
class Follower {
 public:
  Follower(shard::Shards& shards, const CleanOptions& options, JobControl& control)
      : shards_(shards), options_(options), control_(control) {}

  [[noreturn]] void run() {
    while (true) {
      claim();
      try {
        std::jthread sweeper;
        if (options_.full) {
          sweeper = std::jthread([this](const std::stop_token& stop) { sweep_now_and_then(stop); });
        }
        follow();
      } catch (const Error& error) {
        if (error.code() == ErrorCode::interrupted && cleaner_) {
          tell(Kind::pass, &error);
          release();
        }
        if (error.code() != ErrorCode::busy) {
          throw;
        }
        cleaner_.reset();  // another process took over while this one was disconnected or suspended
      }
    }
  }

 private:
  // A shard that is down keeps this process's name as the holder, but that must not prevent the end.
  void release() {
    try {
      cleaner_->release();
    } catch (const Error&) {
    }
  }

  void stop_if_asked() {
    if (control_.stop.load()) {
      throw Error(ErrorCode::interrupted, "interrupted before the end");
    }
  }

  void sleep(Clock::duration time) {
    for (const auto until = Clock::now() + time; Clock::now() < until;) {
      stop_if_asked();
      std::this_thread::sleep_for(nap);
    }
  }

  // Waits until no other process cleans.
  void claim() {
    for (bool told = false; !cleaner_;) {
      try {
        cleaner_.emplace(shards_, options_, control_);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::busy && !passes(error)) {
          throw;
        }
        if (!told && options_.on_wait) {
          options_.on_wait(error);
        }
        told = true;
        sleep(between_claims);
      }
    }
  }

  // Returns true for errors that a permanent cleaner must survive.
  static bool passes(const Error& error) {
    return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::outcome_unknown ||
           error.code() == ErrorCode::server || error.code() == ErrorCode::corrupt;
  }

  // Returns the error, if there was one and a permanent cleaner must survive it.
  template <typename Work>
  static std::exception_ptr failure_of(const Work& work) {
    try {
      work();
      return nullptr;
    } catch (const Error& error) {
      if (!passes(error)) {
        throw;
      }
      return std::current_exception();
    }
  }

  void follow() {
    for (;; sleep(between_passes)) {
      const std::exception_ptr failure = failure_of([&] { cleaner_->pass(); });
      tell_of_pass(failure, purge());
    }
  }

  // Returns why some tombstones cannot be purged, also if they were not tried again.
  std::vector<Error> purge() {
    std::vector<Error> failures;
    for (const auto& [failure, is_new] : cleaner_->purge(Clock::now() + longest_purge)) {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        if (!passes(error)) {
          throw;
        }
        if (is_new) {
          cleaner_->count_failure(error);
        }
        failures.push_back(error);
      }
    }
    return failures;
  }

  void tell_of_pass(const std::exception_ptr& failure, const std::vector<Error>& purge_failures) {
    if (!failure) {
      tell(Kind::pass, nullptr, purge_failures);
      return;
    }
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      tell(Kind::pass, &error, purge_failures);
    }
  }

  void tell(Kind kind, const Error* failure, const std::vector<Error>& purge_failures = {}) {
    const std::lock_guard lock(mutex_);
    report(*cleaner_, options_, kind, failure, purge_failures);
  }

  // Runs beside the passes, which must not wait for a sweep.
  void sweep_now_and_then(const std::stop_token& stop) {
    for (Clock::time_point next = Clock::now(); !stop.stop_requested(); std::this_thread::sleep_for(nap)) {
      if (Clock::now() < next) {
        continue;
      }
      try {
        cleaner_->sweep();
        tell(Kind::sweep, nullptr);
        next = Clock::now() + options_.full_every;
      } catch (const std::exception& error) {
        const Error other(ErrorCode::unavailable, "some changes could not be checked", {{"reason", error.what()}},
                          "wait; the check is retried in a minute");
        // Not a copy, which would forget the server's error number.
        const auto* const known = dynamic_cast<const Error*>(&error);
        const Error& failure = known ? *known : other;
        if (passes(failure)) {  // pass() encounters any other failure too
          tell(Kind::sweep, &failure);
        }
        next = Clock::now() + std::min<Clock::duration>(options_.full_every, after_failed_sweep);
      }
    }
  }

  shard::Shards& shards_;
  const CleanOptions& options_;
  JobControl& control_;
  std::optional<Cleaner> cleaner_;
  std::mutex mutex_;  // allows one report at a time
};

void check_times(const CleanOptions& options) {
  using std::chrono::seconds;
  constexpr auto longest = std::chrono::duration_cast<seconds>(longest_timeout);
  if (options.keep_tombstones < seconds(0) || options.keep_tombstones > longest) {
    throw Error(ErrorCode::usage, "keep_tombstones is out of range", {}, "give a time of at most 366 days");
  }
  if (options.full_every < seconds(1) || options.full_every > longest) {
    throw Error(ErrorCode::usage, "full_every is out of range", {}, "give a time from 1 second to 366 days");
  }
}

}  // namespace

CleanReport clean(shard::Shards& shards, const CleanOptions& options, JobControl& control) {
  check_times(options);
  shards.check_identities();
  if (options.follow) {
    Follower(shards, options, control).run();
  }
  return clean_once(shards, options, control);
}

}  // namespace looseleaf::clean
