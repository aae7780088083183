// Typed values.
#include "model/value.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <looseleaf/error.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/errors.hpp"

using namespace looseleaf;
using model::parse_value;
using model::Value;

namespace {

Property property_of(PropertyType type) {
  Property property;
  property.name = "p";
  property.type = type;
  return property;
}

}  // namespace

TEST_CASE("the text of a condition is read as the property's type asks") {
  const std::vector<std::tuple<PropertyType, const char*, Value>> cases = {
      {PropertyType::uuid, "F48B0440-CA0C-4D34-B0F5-0123456789AB", *Uuid::parse("f48b0440ca0c4d34b0f50123456789ab")},
      {PropertyType::string, "", std::string()},
      {PropertyType::string, " 1\u00e9", std::string(" 1\u00e9")},
      {PropertyType::integer, "-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {PropertyType::integer, "9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {PropertyType::real, "2", 2.0},
      {PropertyType::real, "-1.5e3", -1500.0},
      {PropertyType::real, "1e-400", 0.0},
      {PropertyType::real, "-1e-400", 0.0},
      {PropertyType::real, "5e-324", 5e-324},
      {PropertyType::boolean, "true", true},
      {PropertyType::boolean, "false", false},
  };
  for (const auto& [type, text, value] : cases) {
    CAPTURE(text);
    CHECK(parse_value(property_of(type), text) == value);
  }
}

TEST_CASE("a text that is not of the type is a usage error with a hint") {
  const std::vector<std::pair<PropertyType, const char*>> cases = {
      {PropertyType::uuid, "abc"},    {PropertyType::string, "\xff"},  {PropertyType::integer, ""},
      {PropertyType::integer, "1.0"}, {PropertyType::integer, "1e3"},  {PropertyType::integer, "9223372036854775808"},
      {PropertyType::integer, " 1"},  {PropertyType::integer, "1x"},   {PropertyType::real, "nan"},
      {PropertyType::real, "inf"},    {PropertyType::real, "1e999"},   {PropertyType::real, "1,5"},
      {PropertyType::real, " 1.5"},   {PropertyType::real, "1.5 "},    {PropertyType::real, "-1e999"},
      {PropertyType::boolean, "1"},   {PropertyType::boolean, "TRUE"},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.second);
    const Error error = test::error_of([&] { return parse_value(property_of(bad.first), bad.second); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK_FALSE(error.hint().empty());
    CHECK(test::is_worded_as_hint(error.hint()));
  }
}

TEST_CASE("strings are stored by their first code points") {
  Property property = property_of(PropertyType::string);
  property.max_length = 2;
  CHECK(model::as_stored(property, std::string("\u00e9\u20acx")) == Value(std::string("\u00e9\u20ac")));
  CHECK(model::as_stored(property, std::string("ab")) == Value(std::string("ab")));
  CHECK(model::as_stored(property, std::string()) == Value(std::string()));
}

TEST_CASE("minus zero is stored as zero") {
  const Value stored = model::as_stored(property_of(PropertyType::real), -0.0);
  CHECK_FALSE(std::signbit(std::get<double>(stored)));
}

TEST_CASE("a row is reported as a JSON array") {
  const model::Row row = {*Uuid::parse("f48b0440ca0c4d34b0f50123456789ab"), std::string("a\"b\n"), std::int64_t{-7},
                          0.5, true};
  CHECK(model::to_json(row) == R"(["f48b0440ca0c4d34b0f50123456789ab","a\"b\n",-7,0.5,true])");
  CHECK(model::to_json({}) == "[]");
}
