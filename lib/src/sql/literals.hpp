// SQL text: the one function that quotes identifiers, and the few that encode values. Values become hexadecimal or
// decimal digits, so no value can ever be read as SQL whatever the sql_mode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/stamp.hpp"

namespace looseleaf::sql {

// Bare if it is lower-case letters, digits and _ (not starting with a digit) and no word that a server reserves;
// otherwise in backticks, with backticks doubled.
[[nodiscard]] std::string quote_identifier(std::string_view name);

[[nodiscard]] std::string bytes_literal(std::string_view bytes);  // x'00ff', or '' for none
void append_bytes_literal(std::string& out, std::string_view bytes);
[[nodiscard]] std::string text_literal(std::string_view utf8);  // _utf8mb4 x'c3a9'
[[nodiscard]] std::string integer_literal(std::int64_t value);
[[nodiscard]] std::string double_literal(double value);      // shortest that reads back the same, with an exponent
[[nodiscard]] std::string stamp_literal(base::Stamp stamp);  // '2026-01-31 12:00:00.000000'

}  // namespace looseleaf::sql
