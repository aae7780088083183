// Bytes to hexadecimal digits and back.
#include "base/hex.hpp"

#include <cstddef>

namespace looseleaf::base {

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  out.reserve(out.size() + 2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += digits[value >> 4U];
    out += digits[value & 15U];
  }
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

}  // namespace looseleaf::base
