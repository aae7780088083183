// What tests say of an Error: its hint, its context, and the place that it names.
#pragma once

#include <cctype>
#include <looseleaf/error.hpp>
#include <string>
#include <string_view>

namespace looseleaf::test {

// True for no hint, and for one that starts in lower case (or with something quoted) and ends without a full stop.
[[nodiscard]] inline bool is_worded_as_hint(std::string_view hint) {
  return hint.empty() || (std::isupper(static_cast<unsigned char>(hint.front())) == 0 && hint.back() != '.');
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
