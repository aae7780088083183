// Makes SQL text. One function quotes identifiers, and a few encode values. Values become hexadecimal or decimal
// digits, so that no value can be read as SQL, whatever the sql_mode is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/stamp.hpp"

namespace looseleaf::sql {

// Returns the name without quotes if it has only lower-case letters, digits and _, does not start with a digit and is
// not a reserved word. Otherwise it is in backticks, with backticks doubled.
[[nodiscard]] std::string quote_identifier(std::string_view name);

// Returns the quoted name of a table with its database: "`my-db`.entities".
[[nodiscard]] std::string qualified(std::string_view database, std::string_view table);

[[nodiscard]] std::string bytes_literal(std::string_view bytes);  // x'00ff', or '' for no bytes
void append_bytes_literal(std::string& out, std::string_view bytes);
[[nodiscard]] std::string text_literal(std::string_view utf8);  // _utf8mb4 x'c3a9'
[[nodiscard]] std::string integer_literal(std::int64_t value);
[[nodiscard]] std::string double_literal(double value);  // the shortest text with an exponent that has the same value
[[nodiscard]] std::string stamp_literal(base::Stamp stamp);  // '2026-01-31 12:00:00.000000'

}  // namespace looseleaf::sql
