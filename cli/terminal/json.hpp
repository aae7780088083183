// JSON Lines on standard output.
#pragma once

#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/terminal/output.hpp"

namespace looseleaf::cli {

using Json = nlohmann::ordered_json;

// Prints the value on one line, with U+FFFD for bytes that are not UTF-8. False once standard output was closed.
inline bool print_json(const Json& value) {
  return print_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// A value of an error's context. Its type depends only on the key.
[[nodiscard]] Json json_of_context(const std::string& key, const std::string& value);

// A whole context. The values of a key that comes twice, such as "reason", are joined.
[[nodiscard]] Json json_of_context(const Error::Context& context);

// The version of what docs/json.md and schemas/output describe. Members may be added to objects without a new one.
inline constexpr int schema_version = 1;

// Prints the last object of a command's output, which has the version of the whole output.
inline bool print_summary(const Json& value) {
  Json summary = {{"schema_version", schema_version}};
  summary.update(value);
  return print_json(summary);
}

}  // namespace looseleaf::cli
