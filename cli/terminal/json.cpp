// Errors as JSON.
#include "cli/terminal/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace looseleaf::cli {

Json json_of_context(const std::string& key, const std::string& value) {
  static constexpr std::array<std::string_view, 4> numbers{"line", "column", "shard", "code"};
  const bool number = std::find(numbers.begin(), numbers.end(), key) != numbers.end();
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), whole);
  return number && error == std::errc() && end == value.data() + value.size() ? Json(whole) : Json(value);
}

}  // namespace looseleaf::cli
