// Failures of a command that repeats what failed until it works.
#pragma once

#include <looseleaf/error.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace looseleaf::cli {

// Adds to the hint of a failure that it is tried again until it works.
[[nodiscard]] Error repeated(Error error);

// Reports a failure that repeats only once, and the end of all. What fails on a server may be told in two ways in turn,
// for example if a lock there is waited for as long as for an answer. So each way is reported once until an attempt
// meets no failure of the server. The context of an error depends on the step that met it, and does not count.
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
  std::map<std::string, std::set<std::string>> told_;  // by server that failed in the last attempt
};

}  // namespace looseleaf::cli
