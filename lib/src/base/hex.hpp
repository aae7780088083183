// Bytes to hexadecimal digits and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace looseleaf::base {

// Appends two lower-case digits a byte.
void append_hex(std::string& out, std::string_view bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);
// The value of one digit of any case, or -1.
[[nodiscard]] int hex_digit(char digit);

}  // namespace looseleaf::base
