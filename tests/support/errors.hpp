// What tests say of an Error: its hint, its context, and the place that it names.
#pragma once

#include <cctype>
#include <looseleaf/error.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace looseleaf::test {

// True for no hint, and for one that starts in lower case (or with something quoted) and ends without a full stop.
[[nodiscard]] inline bool is_worded_as_hint(std::string_view hint) {
  return hint.empty() || (std::isupper(static_cast<unsigned char>(hint.front())) == 0 && hint.back() != '.');
}

// What the action throws, which must be of this type. Throws std::logic_error if nothing is thrown.
template <typename Wanted = Error, typename Action>
[[nodiscard]] Wanted error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const Wanted& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

// The value of a key of the context; "-" if it has none.
[[nodiscard]] inline std::string context_of(const Error& error, std::string_view key) {
  for (const auto& [name, value] : error.context()) {
    if (name == key) {
      return value;
    }
  }
  return "-";
}

// "line:column"
[[nodiscard]] inline std::string place_of(const Error& error) {
  return context_of(error, "line") + ":" + context_of(error, "column");
}

}  // namespace looseleaf::test
