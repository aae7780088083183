// Converts bytes to hexadecimal digits and back.
#include "base/hex.hpp"

#include <array>
#include <cstddef>
#include <cstring>

namespace looseleaf::base {

namespace {

// The two digits of each byte.
constexpr auto digits_of = [] {
  constexpr std::string_view characters = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> all{};
  for (std::size_t byte = 0; byte < all.size(); ++byte) {
    all[byte] = {characters[byte / 16], characters[byte % 16]};
  }
  return all;
}();

}  // namespace

void append_hex(std::string& out, std::string_view bytes) {
  const std::size_t start = out.size();
  out.resize(start + 2 * bytes.size());
  char* to = out.data() + start;
  for (const char byte : bytes) {
    std::memcpy(to, digits_of[static_cast<unsigned char>(byte)].data(), 2);
    to += 2;
  }
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

}  // namespace looseleaf::base
