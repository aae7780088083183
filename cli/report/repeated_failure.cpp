// Failures of a command that repeats what failed until it works.
#include "cli/report/repeated_failure.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

// Returns "" if no server is named.
std::string server_of(const Error& error) {
  for (const auto& [key, value] : error.context()) {
    if (key == "server") {
      return value;
    }
  }
  return {};
}

}  // namespace

Error repeated(Error error) {
  const std::string separator = error.hint().empty() ? "" : "; ";
  error.with_hint(error.hint() + separator + "it is tried again until it works");
  return error;
}

void RepeatedFailure::tell(const Error* error) {
  tell(error ? std::vector{error} : std::vector<const Error*>());
}

void RepeatedFailure::tell(const std::vector<const Error*>& errors) {
  std::map<std::string, std::set<std::string>> told;
  for (const Error* const error : errors) {
    const std::string server = server_of(*error);
    auto& here = told.try_emplace(server, told_[server]).first->second;
    if (here.insert(error->what()).second) {
      print_error(repeated(*error));
    }
  }
  if (told.empty() && !told_.empty()) {
    print_always(fmt::format("{} works again", work_));
  }
  told_ = std::move(told);
}

}  // namespace looseleaf::cli
