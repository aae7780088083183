// Bytes to hexadecimal digits and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace looseleaf::base {

// Appends two lower-case digits a byte.
void append_hex(std::string& out, std::string_view bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);

// By character; -1 for what is no digit. Ids are parsed all the time.
inline constexpr std::array<std::int8_t, 256> hex_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::int8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
    values[static_cast<unsigned char>("0123456789ABCDEF"[i])] = i;
  }
  return values;
}();

// The value of one digit of any case, or -1.
[[nodiscard]] inline int hex_digit(char digit) {
  return hex_values[static_cast<unsigned char>(digit)];
}

}  // namespace looseleaf::base
