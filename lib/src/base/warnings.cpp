// Passes warnings to the caller of the library.
#include "base/warnings.hpp"

#include <utility>

namespace looseleaf::base {
namespace {

constexpr std::size_t most_remembered = 10'000;  // warnings; they may name what callers ask for, which has no end

}  // namespace

void Warnings::give(const Warning& warning, Clock::duration again_after) {
  if (!on_warning_) {
    return;
  }
  std::string key = warning.what;
  for (const auto& [name, value] : warning.context) {
    key += '\n' + name + '\n' + value;
  }
  const std::lock_guard lock(mutex_);
  if (given_.size() == most_remembered && !given_.contains(key)) {
    given_.clear();
  }
  const auto now = Clock::now();
  const auto [last, is_first] = given_.emplace(std::move(key), now);
  if (is_first || now - last->second >= again_after) {
    last->second = now;
    on_warning_(warning);
  }
}

}  // namespace looseleaf::base
