// Failures of a command that repeats what failed until it works.
#pragma once

#include <looseleaf/error.hpp>
#include <string>

namespace looseleaf::cli {

// Adds to the hint of a failure that it is tried again until it works.
[[nodiscard]] Error repeated(Error error);

// Reports a failure that repeats only once, and its end.
class RepeatedFailure {
 public:
  // `work` names the activity that fails.
  explicit RepeatedFailure(const char* work) : work_(work) {}

  // Call it after each attempt; `error` is null if it worked.
  void tell(const Error* error);

 private:
  const char* work_;
  std::string told_;
};

}  // namespace looseleaf::cli
