// Passes warnings to the caller of the library.
#include "base/warnings.hpp"

#include <utility>

namespace looseleaf::base {

void Warnings::give(const Warning& warning) {
  if (!on_warning_) {
    return;
  }
  std::string key = warning.what;
  for (const auto& [name, value] : warning.context) {
    key += '\n' + name + '\n' + value;
  }
  const std::lock_guard lock(mutex_);
  if (given_.insert(std::move(key)).second) {
    on_warning_(warning);
  }
}

void Warnings::give_again(const Warning& warning) {
  if (on_warning_) {
    const std::lock_guard lock(mutex_);
    on_warning_(warning);
  }
}

}  // namespace looseleaf::base
