// JSON Lines on standard output.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/output.hpp"

namespace looseleaf::cli {

using Json = nlohmann::ordered_json;

// The value on one line; bytes that are no UTF-8 come out as U+FFFD. False once nobody can receive it any more.
inline bool print_json(const Json& value) {
  return print_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace looseleaf::cli
