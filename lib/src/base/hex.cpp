// Bytes to hexadecimal digits and back.
#include "base/hex.hpp"

#include <cstddef>

namespace looseleaf::base {

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t start = out.size();
  out.resize(start + 2 * bytes.size());
  char* to = out.data() + start;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    *to++ = digits[value >> 4U];
    *to++ = digits[value & 15U];
  }
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

}  // namespace looseleaf::base
