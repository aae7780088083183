// base64url without padding.
#include "base/base64.hpp"

#include <cstdint>

namespace looseleaf::base {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;  // number of bits not written yet
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) {
      text += digits[bits >> (count - 6) & 63];
    }
  }
  if (count > 0) {
    text += digits[bits << (6 - count) & 63];
  }
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;  // number of bits not consumed yet
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> count & 255));
    }
  }
  return to_base64url(bytes) == text ? std::optional(bytes) : std::nullopt;
}

}  // namespace looseleaf::base
