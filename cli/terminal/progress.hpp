// Shows the progress of a long job: redrawn lines on a terminal, a line every 30 s elsewhere, or events in JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/jobs.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

struct ProgressNumbers {
  std::uint64_t done = 0;
  std::uint64_t estimate = 0;   // 0: not known
  std::uint64_t this_time = 0;  // the part of `done` since the job was started or resumed
  std::chrono::duration<double> worked{0};
};

// "backfill: 1,200 of about 5,000 (24 %), 300/s, 0:13 left"; the time left is shown from 1 % on.
[[nodiscard]] std::string format_progress(const std::string& job, const ProgressNumbers& numbers);

// What a job does in a phase, such as "comparing"; empty if the job's name says it.
[[nodiscard]] std::string_view phase_in_words(const Progress& progress);

// The time in which a job worked: all time but that in which it said that it waits.
class WorkingTime {
 public:
  using Clock = std::chrono::steady_clock;

  // To be called at each report of the job.
  void add(Clock::time_point now, bool waiting);
  [[nodiscard]] Clock::duration get() const { return worked_; }

 private:
  std::optional<Clock::time_point> last_;
  bool waited_ = false;
  Clock::duration worked_{0};
};

// Thread-safe. Outside a terminal, a job that a throttle holds back is shown at once. On a terminal it shows a line for
// each shard and one for the total until the object is destroyed.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(const Globals& globals);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay();

  void update(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  struct Shard {
    std::uint64_t at_start = 0, done = 0, estimate = 0;
    std::string waiting;
  };

  void show();
  [[nodiscard]] std::string total() const;
  [[nodiscard]] std::vector<std::string> each_shard() const;

  const bool on_;
  const bool terminal_;
  std::mutex mutex_;
  std::string job_;                                         // that is shown, of those that run
  std::map<std::string, Clock::time_point> heard_;          // when it was last heard of a job
  std::string_view phase_;                                  // in words
  std::map<std::pair<bool, std::uint32_t>, Shard> shards_;  // by store and shard
  WorkingTime working_;
  Clock::time_point shown_ = Clock::now();  // a short job shows nothing
  Clock::time_point told_to_wait_;          // when it was last shown that a throttle holds the job back
};

// Thread-safe. At most one event a second for each shard, on standard output; "job" is the phase:
// {"event":"progress","job":…,"shard":…,"done":…,"estimate":…,"waiting":…}
class ProgressEvents {
 public:
  void update(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::map<std::uint32_t, Clock::time_point> shown_;
};

}  // namespace looseleaf::cli
