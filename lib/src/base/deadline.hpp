// The time by which an operation must have ended, including all its retries.
#pragma once

#include <algorithm>
#include <chrono>

namespace looseleaf::base {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : Deadline(Clock::now(), from_now) {}
  Deadline(Clock::time_point since, std::chrono::milliseconds time) : at_(since + time) {}

  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  // Returns the time left; never negative.
  [[nodiscard]] std::chrono::milliseconds left() const {
    return std::max(std::chrono::milliseconds(0), std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()));
  }

 private:
  Clock::time_point at_;
};

}  // namespace looseleaf::base
