// Progress lines.
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "cli/messages.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr auto terminal_interval = std::chrono::milliseconds(200);
constexpr auto plain_interval = std::chrono::seconds(30);

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

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
  const double seconds = numbers.elapsed.count();
  const double rate = seconds > 0 ? static_cast<double>(numbers.this_time) / seconds : 0;
  if (rate > 0) {
    line += fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate + 0.5)));
    if (part >= 0.01 && part < 1) {
      line += fmt::format(", {} left", format_duration(static_cast<double>(numbers.estimate - numbers.done) / rate));
    }
  }
  return line;
}

ProgressDisplay::ProgressDisplay(const Globals& globals)
    : on_(globals.progress != "off" && !globals.quiet),
      terminal_(messages_on_terminal()),
      shown_(terminal_ ? Clock::time_point{} : started_) {}

ProgressDisplay::~ProgressDisplay() {
  if (on_ && terminal_) {
    set_status_line({});
  }
}

void ProgressDisplay::update(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (!on_) {
    return;
  }
  const auto [entry, is_new] = shards_.try_emplace(progress.shard);
  Shard& shard = entry->second;
  if (is_new || progress.done < shard.done) {
    shard.at_start = progress.done;  // it begins here, or begins anew with its next stage
  }
  shard.done = progress.done;
  shard.estimate = progress.estimate;
  const auto now = Clock::now();
  const bool due = terminal_ ? now - shown_ >= terminal_interval : now - shown_ >= plain_interval;
  if (due) {
    shown_ = now;
    show(std::string(progress.job));
  }
}

void ProgressDisplay::show(const std::string& job) {
  ProgressNumbers numbers;
  bool estimated = true;
  for (const auto& [number, shard] : shards_) {
    numbers.done += shard.done;
    numbers.estimate += shard.estimate;
    numbers.this_time += shard.done - shard.at_start;
    estimated = estimated && shard.estimate > 0;
  }
  numbers.estimate = estimated ? numbers.estimate : 0;
  numbers.elapsed = Clock::now() - started_;
  const std::string line = format_progress(job, numbers);
  if (terminal_) {
    set_status_line(line.substr(0, terminal_width() - 1));
  } else {
    print_note(line);
  }
}

}  // namespace looseleaf::cli
