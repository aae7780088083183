// Passes warnings to the caller of the library.
#pragma once

#include <functional>
#include <looseleaf/options.hpp>
#include <mutex>
#include <set>
#include <string>

namespace looseleaf::base {

// Thread-safe.
class Warnings {
 public:
  // `on_warning` may be empty: then nobody wants to hear of any.
  explicit Warnings(std::function<void(const Warning&)> on_warning) : on_warning_(std::move(on_warning)) {}

  // Passes each distinct warning on once, one call at a time.
  void give(const Warning& warning);
  // Passes it on although it was given before: it tells of something that has happened again.
  void give_again(const Warning& warning);

 private:
  const std::function<void(const Warning&)> on_warning_;
  std::mutex mutex_;  // guards given_, and calls of on_warning_
  std::set<std::string> given_;
};

}  // namespace looseleaf::base
