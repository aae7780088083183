// Failures of a command that repeats what failed until it works.
#pragma once

#include <looseleaf/error.hpp>
#include <set>
#include <string>
#include <vector>

namespace looseleaf::cli {

// Adds to the hint of a failure that it is tried again until it works.
[[nodiscard]] Error repeated(Error error);

// Reports a failure that repeats only once, and the end of all.
class RepeatedFailure {
 public:
  // `work` names the activity that fails.
  explicit RepeatedFailure(const char* work) : work_(work) {}

  // Call it after each attempt; `error` is null if it worked.
  void tell(const Error* error);
  // The same with all failures that there are; none if everything worked.
  void tell(const std::vector<const Error*>& errors);

 private:
  const char* work_;
  std::set<std::string> told_;  // of the last attempt
};

}  // namespace looseleaf::cli
