// Errors as JSON.
#include "cli/terminal/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace looseleaf::cli {

Json json_of_context(const std::string& key, const std::string& value) {
  static constexpr std::array<std::string_view, 6> numbers{"line",      "column", "closed_line",
                                                           "last_line", "shard",  "code"};
  const bool number = std::find(numbers.begin(), numbers.end(), key) != numbers.end();
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), whole);
  return number && error == std::errc() && end == value.data() + value.size() ? Json(whole) : Json(value);
}

Json json_of_context(const Error::Context& context) {
  Json object = Json::object();
  for (const auto& [key, value] : context) {
    const auto first = object.find(key);
    if (first == object.end()) {
      object[key] = json_of_context(key, value);
    } else if (first->is_string()) {
      *first = first->get<std::string>() + "; " + value;
    }
  }
  return object;
}

}  // namespace looseleaf::cli
