// Hexadecimal digits.
#include "base/hex.hpp"

#include <doctest/doctest.h>

using namespace looseleaf::base;

TEST_CASE("bytes become two lower-case digits each") {
  CHECK(to_hex("") == "");
  CHECK(to_hex(std::string_view("\x00\x7f\xff\x0a", 4)) == "007fff0a");
  std::string out = "x";
  append_hex(out, "A");
  CHECK(out == "x41");
}

TEST_CASE("a digit of any case has its value and anything else has none") {
  for (int value = 0; value < 16; ++value) {
    CHECK(hex_digit("0123456789abcdef"[value]) == value);
    CHECK(hex_digit("0123456789ABCDEF"[value]) == value);
  }
  for (const char c : {'g', 'G', ' ', '/', ':', '@', '`', '\0', '\xff'}) {
    CHECK(hex_digit(c) == -1);
  }
}
