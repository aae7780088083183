// Prints the progress of long jobs.
#include "cli/terminal/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);
constexpr auto plain_interval = std::chrono::seconds(30);
constexpr auto event_interval = std::chrono::seconds(1);
constexpr auto silence = std::chrono::seconds(10);  // after which a job is taken to have ended

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  const std::uint64_t hours = whole / 3600;
  const std::uint64_t minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace

std::string format_progress(const std::string& job, const ProgressNumbers& numbers) {
  std::string line = fmt::format("{}: {}", job, grouped(numbers.done));
  const double part =
      numbers.estimate == 0 ? 0 : static_cast<double>(numbers.done) / static_cast<double>(numbers.estimate);
  if (numbers.estimate > 0) {
    line += fmt::format(" of about {} ({:.0f} %)", grouped(std::max(numbers.estimate, numbers.done)),
                        std::min(part, 1.0) * 100.0);
  }
  const double seconds = numbers.worked.count();
  const double rate = seconds > 0 ? static_cast<double>(numbers.this_time) / seconds : 0;
  if (rate > 0) {
    line += fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate + 0.5)));
    if (part >= 0.01 && part < 1) {
      line += fmt::format(", {} left", format_duration(static_cast<double>(numbers.estimate - numbers.done) / rate));
    }
  }
  return line;
}

std::string_view phase_in_words(const Progress& progress) {
  if (progress.phase == "backfill") {
    return "filling";
  }
  if (progress.phase == "reconcile") {
    return "rechecking changes";
  }
  if (progress.phase == "verify") {
    return progress.job == "backfill" ? "reading again" : "reading";
  }
  if (progress.phase == "read") {
    return "reading";
  }
  return progress.phase == "compare" ? "comparing" : "";
}

void WorkingTime::add(Clock::time_point now, bool waiting) {
  if (last_ && !waiting && !waited_) {
    worked_ += now - *last_;
  }
  last_ = now;
  waited_ = waiting;
}

ProgressDisplay::ProgressDisplay(const Globals& globals)
    : on_(globals.progress != "off" && !globals.quiet), terminal_(redraws_messages()) {}

ProgressDisplay::~ProgressDisplay() {
  if (on_ && terminal_) {
    set_status_lines({});
  }
}

void ProgressDisplay::update(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (!on_) {
    return;
  }
  const auto now = Clock::now();
  const bool begins = now - std::exchange(heard_[std::string(progress.job)], now) > silence;
  if (progress.job != job_ && (begins || now - heard_[job_] > silence)) {
    job_ = progress.job;
    shards_.clear();
    working_ = {};
  }
  if (progress.job != job_) {
    return;  // such as a pass of clean while a sweep runs, which began later
  }
  working_.add(now, !progress.waiting.empty());
  phase_ = phase_in_words(progress);
  const auto [entry, is_new] = shards_.try_emplace({progress.in_other, progress.shard});
  Shard& shard = entry->second;
  if (is_new || progress.done < shard.at_start) {
    shard.at_start = progress.done;  // a resumed job does not start at 0
  }
  shard.done = progress.done;
  shard.estimate = progress.estimate;
  shard.waiting = progress.waiting;
  const bool begins_to_wait = progress.held_back && now - told_to_wait_ >= plain_interval;
  if (now - shown_ >= (terminal_ ? terminal_interval : plain_interval) || begins_to_wait) {
    shown_ = now;
    told_to_wait_ = progress.held_back ? now : told_to_wait_;
    show();
  }
}

std::string ProgressDisplay::total() const {
  ProgressNumbers numbers;
  bool estimated = true;
  std::string waiting;
  for (const auto& [place, shard] : shards_) {
    numbers.done += shard.done;
    numbers.estimate += shard.estimate;
    numbers.this_time += shard.done - shard.at_start;
    estimated = estimated && shard.estimate > 0;
    waiting = shard.waiting.empty() ? waiting : shard.waiting;
  }
  numbers.estimate = estimated ? numbers.estimate : 0;
  numbers.worked = working_.get();
  const std::string line = format_progress(job_, numbers);
  if (!waiting.empty()) {
    return line + "; waiting: " + waiting;
  }
  return phase_.empty() ? line : fmt::format("{}; {}", line, phase_);
}

std::vector<std::string> ProgressDisplay::each_shard() const {
  std::vector<std::string> lines;
  for (const auto& [place, shard] : shards_) {
    const ProgressNumbers numbers = {shard.done, shard.estimate, shard.done - shard.at_start, working_.get()};
    lines.push_back(format_progress(fmt::format("{}shard {}", place.first ? "other " : "", place.second), numbers));
  }
  return lines;
}

// Shows a line for each shard if there are several and the terminal has room for them, and the total last.
void ProgressDisplay::show() {
  if (!terminal_) {
    print_note(total());
    return;
  }
  std::vector<std::string> lines;
  if (shards_.size() > 1 && shards_.size() + 1 < terminal_size(STDERR_FILENO).rows) {
    lines = each_shard();
  }
  lines.push_back(total());
  set_status_lines(lines);
}

void ProgressEvents::update(const Progress& progress) {
  if (progress.done == 0 && progress.waiting.empty()) {
    return;  // the job only says what it expects
  }
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  auto& shown = shown_[progress.shard];
  if (now - shown < event_interval) {
    return;
  }
  shown = now;
  print_json({{"event", "progress"},
              {"job", std::string(progress.phase)},
              {"shard", progress.shard},
              {"done", progress.done},
              {"estimate", progress.estimate},
              {"waiting", progress.waiting.empty() ? Json(nullptr) : Json(progress.waiting)}});
}

}  // namespace looseleaf::cli
