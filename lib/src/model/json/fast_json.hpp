// The quick way to a JSON value, for the texts that most entities are: simdjson's parser, a tenth of the time.
#pragma once

#include <optional>
#include <string_view>

#include "model/json/json.hpp"

namespace looseleaf::model {

// The value that parse_strict() gives for this text. Absent if that refuses the text, and for some that it takes (long
// ones, integers beyond 64 bits, escaped surrogates): then ask there. Safe from any thread.
[[nodiscard]] std::optional<Json> parse_fast(std::string_view text);

}  // namespace looseleaf::model
