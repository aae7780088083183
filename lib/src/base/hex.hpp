// Converts bytes to hexadecimal digits and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace looseleaf::base {

// Appends two lower-case digits per byte.
void append_hex(std::string& out, std::string_view bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);

// Maps a character to its value, or -1 if it is not a digit. A table is fast, and ids are parsed often.
inline constexpr std::array<std::int8_t, 256> hex_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::int8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
    values[static_cast<unsigned char>("0123456789ABCDEF"[i])] = i;
  }
  return values;
}();

// Returns the value of a digit in any case, or -1.
[[nodiscard]] inline int hex_digit(char digit) {
  return hex_values[static_cast<unsigned char>(digit)];
}

}  // namespace looseleaf::base
