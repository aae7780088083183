// Time stamps as DATETIME(6) shows them.
#include "base/stamp.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <looseleaf/error.hpp>
#include <random>

using namespace looseleaf;
using namespace looseleaf::base;

TEST_CASE("stamps are written as the servers write them") {
  CHECK(to_string(Stamp{0}) == "1970-01-01 00:00:00.000000");
  CHECK(to_string(Stamp{1}) == "1970-01-01 00:00:00.000001");
  CHECK(to_string(Stamp{-1}) == "1969-12-31 23:59:59.999999");
  CHECK(to_string(Stamp{951'827'696'000'000}) == "2000-02-29 12:34:56.000000");
}

TEST_CASE("the ends of the range survive") {
  for (const char* text : {"1000-01-01 00:00:00.000000", "2038-01-19 03:14:08.000000", "9999-12-31 23:59:59.999999"}) {
    CHECK(to_string(parse_stamp(text)) == text);
  }
}

TEST_CASE("fractions of 1 to 6 digits are read") {
  CHECK(parse_stamp("1970-01-01 00:00:01").micros == 1'000'000);
  CHECK(parse_stamp("1970-01-01 00:00:00.5").micros == 500'000);
  CHECK(parse_stamp("1970-01-01 00:00:00.0001").micros == 100);
  CHECK(parse_stamp("1970-01-01 00:00:00.000000").micros == 0);
}

TEST_CASE("what is no time is refused") {
  for (const char* text :
       {"", "1970-01-01", "1970-01-01T00:00:00", "1970-13-01 00:00:00", "1970-02-30 00:00:00", "1970-01-00 00:00:00",
        "1970-01-01 24:00:00", "1970-01-01 00:60:00", "1970-01-01 00:00:60", "1970-01-01 00:00:00.",
        "1970-01-01 00:00:00.1234567", "1970-01-01 00:00:00.12x", "1970-01-01 00:00:00 ", "0000-00-00 00:00:00",
        "0999-12-31 00:00:00", "+970-01-01 00:00:00"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(parse_stamp(text)), Error);
  }
}

TEST_CASE("any stamp is read back as it was written") {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> micros(-30'610'224'000'000'000, 253'402'300'799'999'999);
  for (int i = 0; i < 2000; ++i) {
    const Stamp stamp{micros(random)};
    CHECK(parse_stamp(to_string(stamp)) == stamp);
  }
}
