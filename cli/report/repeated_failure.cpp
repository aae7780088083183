// Failures of a command that repeats what failed until it works.
#include "cli/report/repeated_failure.hpp"

#include <fmt/format.h>

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
  const std::string kind = error ? kind_of(*error) : "";
  if (error && kind != told_) {
    print_error(repeated(*error));
  } else if (!error && !told_.empty()) {
    print_always(fmt::format("{} works again", work_));
  }
  told_ = kind;
}

}  // namespace looseleaf::cli
