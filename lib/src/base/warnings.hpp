// Passes warnings to the caller of the library.
#pragma once

#include <chrono>
#include <functional>
#include <looseleaf/options.hpp>
#include <map>
#include <mutex>
#include <string>

namespace looseleaf::base {

// Thread-safe.
class Warnings {
 public:
  // `on_warning` may be empty: then nobody wants to hear of any.
  explicit Warnings(std::function<void(const Warning&)> on_warning) : on_warning_(std::move(on_warning)) {}

  using Clock = std::chrono::steady_clock;

  // Passes each distinct warning on, one call at a time: once, or again if it was not for so long, or
  // if very many others came since.
  void give(const Warning& warning, Clock::duration again_after = Clock::duration::max());

 private:
  const std::function<void(const Warning&)> on_warning_;
  std::mutex mutex_;                                // guards given_, and calls of on_warning_
  std::map<std::string, Clock::time_point> given_;  // when it was last
};

}  // namespace looseleaf::base
