// Failures of a command that repeats what failed until it works.
#include "cli/report/repeated_failure.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

// What fails, and on which server. The rest of the context depends on the step that met it.
std::string kind_of(const Error& error) {
  std::string kind = error.what();
  for (const auto& [key, value] : error.context()) {
    if (key == "server") {
      kind += "\n" + value;
    }
  }
  return kind;
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
  std::set<std::string> kinds;
  for (const Error* const error : errors) {
    const bool is_first = kinds.insert(kind_of(*error)).second;
    if (is_first && !told_.contains(kind_of(*error))) {
      print_error(repeated(*error));
    }
  }
  if (kinds.empty() && !told_.empty()) {
    print_always(fmt::format("{} works again", work_));
  }
  told_ = std::move(kinds);
}

}  // namespace looseleaf::cli
