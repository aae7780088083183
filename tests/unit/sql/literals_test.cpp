// Identifiers and values in SQL text: whatever the input, nothing leaves its quotation.
#include "sql/literals.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <looseleaf/error.hpp>
#include <string>

#include "sql/reserved_words.hpp"

namespace looseleaf::sql {
namespace {

using namespace std::string_literals;

TEST_CASE("an identifier is bare only if no server could read it as anything else") {
  const std::pair<std::string, std::string> cases[] = {
      {"user_id", "user_id"},
      {"index_user_id", "index_user_id"},
      {"_a1", "_a1"},
      {"", "``"},
      {"1a", "`1a`"},
      {"User", "`User`"},
      {"author.id", "`author.id`"},
      {"select", "`select`"},
      {"rank", "`rank`"},            // reserved by MySQL alone
      {"returning", "`returning`"},  // reserved by MariaDB alone
      {"a b", "`a b`"},
      {"a`b", "`a``b`"},
      {"`", "````"},
      {"``", "``````"},
      {"x`; DROP TABLE entities; -- ", "`x``; DROP TABLE entities; -- `"},
      {"a'b\"c\\d", "`a'b\"c\\d`"},
      {"caf\xc3\xa9", "`caf\xc3\xa9`"},
      {"$x", "`$x`"},
      {"a\nb", "`a\nb`"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.first);
    CHECK(quote_identifier(c.first) == c.second);
  }
}

TEST_CASE("every reserved word is quoted") {
  for (const auto word : reserved_words) {
    CHECK(quote_identifier(word) == "`" + std::string(word) + "`");
  }
}

TEST_CASE("bytes and text become hexadecimal digits, so no byte can end the literal") {
  const std::array<std::pair<std::string, std::string>, 8> cases = {{
      {"", "''"},
      {"\0\xff"s, "x'00ff'"},
      {"'", "x'27'"},
      {"\\'; DROP TABLE t; --", "x'5c273b2044524f50205441424c4520743b202d2d'"},
      {"\"`", "x'2260'"},
      {"\xbf\x27", "x'bf27'"},
      {"a\nb", "x'610a62'"},
      {"\xc3\xa9", "x'c3a9'"},
  }};
  for (const auto& c : cases) {
    CAPTURE(c.second);
    CHECK(bytes_literal(c.first) == c.second);
    CHECK(text_literal(c.first) == "_utf8mb4 " + c.second);
  }
}

TEST_CASE("an integer literal covers the whole range") {
  CHECK(integer_literal(0) == "0");
  CHECK(integer_literal(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(integer_literal(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
}

TEST_CASE("a double literal has an exponent, so that a server reads a double and not a decimal") {
  const std::pair<double, std::string> cases[] = {
      {0.0, "0e0"},     {-0.0, "0e0"},   {1.0, "1e0"},    {0.1, "0.1e0"},
      {-2.5, "-2.5e0"}, {1e22, "1e+22"}, {1e-7, "1e-07"}, {5e-324, "5e-324"},
  };
  for (const auto& [value, expected] : cases) {
    CHECK(double_literal(value) == expected);
  }
}

TEST_CASE("a double literal reads back as the same number") {
  for (const double value : {0.1, 1.0 / 3, 1e308, 4.9e-324, 9007199254740993.0, 123456789.123456789}) {
    CHECK(std::strtod(double_literal(value).c_str(), nullptr) == value);
    CHECK(std::strtod(double_literal(-value).c_str(), nullptr) == -value);
  }
}

TEST_CASE("a double that is not finite is refused") {
  CHECK_THROWS_AS(static_cast<void>(double_literal(std::nan(""))), Error);
  CHECK_THROWS_AS(static_cast<void>(double_literal(std::numeric_limits<double>::infinity())), Error);
}

TEST_CASE("a stamp literal has all six digits of its fraction") {
  CHECK(stamp_literal(base::Stamp{1}) == "'1970-01-01 00:00:00.000001'");
}

}  // namespace
}  // namespace looseleaf::sql
