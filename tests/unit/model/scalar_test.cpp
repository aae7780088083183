// Which JSON scalars are equal: the same in a filter of a query, in a definition's `where`, and for every parser.
#include "model/scalar.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/filter.hpp"
#include "model/parsed_entity.hpp"
#include "tests/support/errors.hpp"

using namespace looseleaf;

namespace {

const std::string id = R"("id":"f48b0440ca0c4d34b0f50123456789ab")";
const std::string fill(70'000, 'x');  // makes a text too long for the fast parser

IndexDefinition where_k(const std::string& scalar) {
  return IndexDefinition::parse(
      R"({"table":"t","properties":[{"name":"p","type":"int"}],"where":{"k":)" + scalar + "}}", "test");
}

// Checks a pair by every way on which a scalar of an entity is compared.
void check_pair(const std::string& wanted, const std::string& stored, bool equal) {
  CAPTURE(wanted);
  CAPTURE(stored);
  const model::Filter filter({{"k", Operator::equal, wanted}});
  const IndexDefinition definition = where_k(wanted);
  const IndexDefinition again = IndexDefinition::parse(definition.canonical_json(), "catalog");
  CHECK(again == definition);
  for (const std::string& text :
       {fmt::format("{{{},\"k\":{}}}", id, stored), fmt::format("{{{},\"k\":{},\"fill\":\"{}\"}}", id, stored, fill)}) {
    const model::ParsedEntity entity(text);
    CHECK(filter.matches(entity) == equal);
    CHECK(entity.matches_where(definition) == equal);
    CHECK(entity.matches_where(again) == equal);
    CHECK(model::ParsedEntity::strict(text)->matches_where(definition) == equal);
  }
}

}  // namespace

TEST_CASE("scalars are equal if they have one type and one value, whatever way they are written") {
  struct Case {
    std::string one, other;
    bool equal;
  };
  const std::string long_number(300, '7');
  const std::vector<Case> cases = {
      {"1", "1", true},
      {"1", "1.0", true},
      {"1", "10e-1", true},
      {"100", "1e2", true},
      {"1", "1.5", false},
      {"1", "2", false},
      {"1", "\"1\"", false},
      {"1", "true", false},
      {"0", "false", false},
      {"0", "null", false},
      {"0", "-0", true},
      {"0", "-0.0", true},
      {"0", "1e-400", true},
      {"0.1", "0.10", true},
      {"0.1", "1e-1", true},
      {"0.1", "0.1000000000000000055511151231257827", true},  // a fraction is as exact as a double
      {"9007199254740993", "9007199254740992", false},
      {"9007199254740993", "9007199254740993.0", true},
      {"9223372036854775807", "9223372036854775807", true},
      {"9223372036854775807", "9223372036854775808", false},
      {"9223372036854775808", "9223372036854775808", true},
      {"9223372036854775808", "9223372036854775809", false},
      {"9223372036854775808", "9223372036854775808.0", true},
      {"-1", "18446744073709551615", false},
      {"18446744073709551615", "18446744073709551615", true},
      {"18446744073709551615", "18446744073709551616", false},
      {"18446744073709551616", "18446744073709551616", true},
      {"18446744073709551616", "18446744073709551617", false},
      {"18446744073709551616", "1.8446744073709551616e19", true},
      {"-9223372036854775808", "-9223372036854775808", true},
      {"-9223372036854775808", "-9223372036854775809", false},
      {"-9223372036854775809", "-9223372036854775809", true},
      {"100000000000000000000", "1e20", true},
      {"100000000000000000000", "100000000000000000000.0", true},
      {"100000000000000000001", "100000000000000000000", false},
      {"100000000000000000000000", "1e23", true},
      {long_number, long_number, true},
      {long_number, long_number.substr(1) + "8", false},
      {long_number, "\"" + long_number + "\"", false},
      {"1e300", "1e300", true},
      {"1e300", "1e299", false},
      {"\"a\"", "\"\\u0061\"", true},
      {"\"a\"", "\"A\"", false},
      {"\"a\"", "[\"a\"]", false},
      {"true", "true", true},
      {"true", "false", false},
      {"null", "null", true},
      {"null", "\"null\"", false},
  };
  for (const Case& expected : cases) {
    check_pair(expected.one, expected.other, expected.equal);
    if (expected.other.front() != '[') {
      check_pair(expected.other, expected.one, expected.equal);
    }
  }
}

TEST_CASE("a number that no entity can have is refused as a filter, and not searched for as a string") {
  for (const std::string& text : {std::string(400, '9'), "-" + std::string(400, '9'), std::string("1e400")}) {
    CAPTURE(text);
    try {
      const model::Filter filter({{"k", Operator::equal, text}});
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == "number in a filter is out of range");
      CHECK(test::context_of(error, "property") == "k");
      CHECK(error.hint().find("'k=\"" + text + "\"'") != std::string::npos);
    }
    CHECK_THROWS_AS(where_k(text), Error);
    CHECK_THROWS_AS(model::ParsedEntity("{\"k\":" + text + "}"), Error);
    CHECK(model::Filter({{"k", Operator::equal, "\"" + text + "\""}})
              .matches(model::ParsedEntity("{\"k\":\"" + text + "\"}")));
  }
  for (const std::string text : {"1e400x", "[1e400]", "1e400 apples"}) {  // strings, as any text that is no scalar
    CHECK(model::Filter({{"k", Operator::equal, text}}).matches(model::ParsedEntity("{\"k\":\"" + text + "\"}")));
  }
}
