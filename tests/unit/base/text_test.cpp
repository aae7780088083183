// Hashes and UTF-8.
#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace looseleaf::base;

TEST_CASE("FNV-1a gives the published values") {
  CHECK(fnv1a("") == 0xcbf29ce484222325U);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cU);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8U);
}

TEST_CASE("a prefix never cuts a code point") {
  CHECK(utf8_prefix("", 3) == "");
  CHECK(utf8_prefix("abc", 0) == "");
  CHECK(utf8_prefix("abc", 2) == "ab");
  CHECK(utf8_prefix("abc", 3) == "abc");
  CHECK(utf8_prefix("\u00e9\u20ac\U0001F600x", 1) == "\u00e9");
  CHECK(utf8_prefix("\u00e9\u20ac\U0001F600x", 3) == "\u00e9\u20ac\U0001F600");
  CHECK(utf8_prefix("\u00e9\u20ac\U0001F600x", 9) == "\u00e9\u20ac\U0001F600x");
}

TEST_CASE("code points are counted, not bytes") {
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("a\u00e9\u20ac\U0001F600") == 4);
}

TEST_CASE("only well-formed UTF-8 is UTF-8") {
  for (const char* good :
       {"", "a", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"}) {
    CAPTURE(good);
    CHECK(is_utf8(good));
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                          "\xe2\x82x", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xbf"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("only ASCII letters are folded") {
  CHECK(ascii_lower("AbZ_09\u00c9") == "abz_09\u00c9");
}
