// JSON Lines on standard output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/output.hpp"

namespace looseleaf::cli {

using Json = nlohmann::ordered_json;

// The value on one line; bytes that are no UTF-8 come out as U+FFFD. False once nobody can receive it any more.
inline bool print_json(const Json& value) {
  return print_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// What an error's context says under this key; always of the same type, whichever error and command it comes from.
[[nodiscard]] Json json_of_context(const std::string& key, const std::string& value);

// The version of what docs/json.md and schemas/output describe. Members may be added to objects without a new one.
inline constexpr int schema_version = 1;

// The object that ends a command's output and says by which version all of it is to be read.
inline bool print_summary(const Json& value) {
  Json summary = {{"schema_version", schema_version}};
  summary.update(value);
  return print_json(summary);
}

}  // namespace looseleaf::cli
