// Which JSON scalars are equal, and in what order they are: the same in a filter, in a definition's `where`, and for
// every parser.
#include "model/scalar.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/filter.hpp"
#include "model/parsed_entity.hpp"
#include "tests/support/errors.hpp"

using namespace looseleaf;

namespace {

const std::string id = R"("id":"f48b0440ca0c4d34b0f50123456789ab")";
const std::string filler(70'000, 'x');  // makes a text too long for the fast parser

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
  for (const std::string& text : {fmt::format("{{{},\"k\":{}}}", id, stored),
                                  fmt::format("{{{},\"k\":{},\"fill\":\"{}\"}}", id, stored, filler)}) {
    const model::ParsedEntity entity(text);
    CHECK(filter.matches(entity) == equal);
    CHECK(entity.matches_where(definition) == equal);
    CHECK(entity.matches_where(again) == equal);
    CHECK(model::ParsedEntity::strict(text)->matches_where(definition) == equal);
  }
}

// Checks what each operator says of a stored value and a wanted one. `order` is '<', '=', '>', or '!' for no order.
void check_order(const std::string& stored, char order, const std::string& wanted) {
  CAPTURE(stored);
  CAPTURE(wanted);
  const bool less = order == '<', equal = order == '=', greater = order == '>';
  const std::vector<std::pair<Operator, bool>> expected = {
      {Operator::equal, equal},     {Operator::not_equal, !equal},
      {Operator::less, less},       {Operator::less_equal, less || equal},
      {Operator::greater, greater}, {Operator::greater_equal, greater || equal}};
  for (const std::string& text : {fmt::format("{{{},\"k\":{}}}", id, stored),
                                  fmt::format("{{{},\"k\":{},\"fill\":\"{}\"}}", id, stored, filler)}) {
    const model::ParsedEntity entity(text);
    for (const auto& [op, holds] : expected) {
      CAPTURE(static_cast<int>(op));
      CHECK(model::Filter({{"k", op, wanted}}).matches(entity) == holds);
    }
  }
}

}  // namespace

TEST_CASE("scalars are equal if they have one type and one value, whatever way they are written") {
  const std::string long_number(300, '7');
  const std::vector<std::tuple<std::string, std::string, bool>> cases = {
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
  for (const auto& [one, other, equal] : cases) {
    check_pair(one, other, equal);
    if (other.front() != '[') {
      check_pair(other, one, equal);
    }
  }
}

TEST_CASE("numbers are in the order of their values, strings in that of their bytes, and nothing else has an order") {
  const std::vector<std::tuple<std::string, char, std::string>> cases = {
      {"1", '<', "2"},
      {"-2", '<', "-1"},
      {"2", '<', "10"},
      {"1", '=', "1.0"},
      {"1e0", '=', "1"},
      {"1", '<', "1.5"},
      {"1.5", '<', "2"},
      {"0.1", '<', "0.2"},
      {"9007199254740992", '<', "9007199254740993"},  // no double holds the second one
      {"9223372036854775806", '<', "9223372036854775807"},
      {"9223372036854775807", '<', "9223372036854775808"},
      {"9223372036854775808", '<', "18446744073709551615"},
      {"18446744073709551615", '<', "18446744073709551616"},
      {"18446744073709551616", '<', "18446744073709551617"},
      {"99999999999999999999", '<', "100000000000000000000"},
      {"-9223372036854775809", '<', "-9223372036854775808"},
      {"-18446744073709551617", '<', "-18446744073709551616"},
      {"-100000000000000000000", '<', "-99999999999999999999"},
      {"-18446744073709551616", '<', "18446744073709551616"},
      {"-18446744073709551616", '<', "0"},
      {"-1e300", '<', "-18446744073709551616"},
      {"18446744073709551616", '<', "1e20"},
      {"9223372036854775807", '<', "1e19"},
      {"-1e19", '<', "-9223372036854775808"},
      {"\"\"", '<', "\"a\""},
      {"\"Z\"", '<', "\"a\""},
      {"\"a\"", '<', "\"aa\""},
      {"\"10\"", '<', "\"9\""},
      {"\"z\"", '<', "\"\u00e9\""},
      {"\"\uffff\"", '<', "\"\U0001F600\""},  // by bytes of UTF-8, not of UTF-16
      {"\"1\"", '!', "2"},
      {"1", '!', "\"2\""},
      {"true", '!', "1"},
      {"null", '!', "0"},
      {"[1]", '!', "2"},
      {"{}", '!', "\"a\""},
      {"[]", '!', "\"a\""},
  };
  for (const auto& [stored, order, wanted] : cases) {
    check_order(stored, order, wanted);
    if (order != '!') {
      check_order(wanted, order == '<' ? '>' : '=', stored);
    }
  }
}

TEST_CASE("a value without an order is refused where an order is asked for, and a prefix is always a string") {
  using enum Operator;
  for (const Operator op : {less, less_equal, greater, greater_equal}) {
    for (const std::string value : {"true", "false", "null"}) {
      CAPTURE(value);
      const Error error = test::error_of([&] { return model::Filter({{"k", op, value, true}}); });
      CHECK(error.code() == ErrorCode::usage);
      CHECK(std::string(error.what()) == "only numbers and strings have an order");
      CHECK(test::context_of(error, "property") == "k[]");
      CHECK(test::context_of(error, "value") == value);
      CHECK(error.hint().find("\"" + value + "\"'") != std::string::npos);
    }
  }
  const std::vector<std::tuple<std::string, std::string, bool>> cases = {
      {"\"12345\"", "12", true}, {"12345", "12", false},        {"\"true\"", "true", true},
      {"\"x\"", "", true},       {"\"12345\"", "\"12\"", true}, {"\"\\\"a\"", "\"a", true},
      {"\"a\"", "A", false},     {"[\"a\"]", "a", false},       {"\"nul\"", "null", false}};
  for (const auto& [stored, wanted, matches] : cases) {
    CAPTURE(stored);
    CAPTURE(wanted);
    CHECK(model::Filter({{"k", prefix, wanted}}).matches(model::ParsedEntity("{\"k\":" + stored + "}")) == matches);
  }
}

TEST_CASE("an element of the first array on a path is enough, and is not equal only if no element is") {
  const std::vector<std::tuple<std::string, std::string, bool>> cases = {
      {R"({"k":[1,2,"x"]})", "k[]=2", true},
      {R"({"k":[1,2,"x"]})", "k[]=3", false},
      {R"({"k":[1,2,"x"]})", "k[]!=2", false},
      {R"({"k":[1,2,"x"]})", "k[]!=3", true},
      {R"({"k":[1,2,"x"]})", "k[]>1", true},
      {R"({"k":[1,2,"x"]})", "k[]>2", false},
      {R"({"k":[1,2,"x"]})", "k[]^=x", true},
      {R"({"k":[1,2,"x"]})", "k=1", false},
      {R"({"k":[1,2,"x"]})", "k exists", true},
      {R"({"k":[null]})", "k[] exists", true},
      {R"({"k":[]})", "k[] exists", false},
      {R"({"k":[]})", "k exists", true},
      {R"({"k":[]})", "k[]!=1", true},
      {R"({"k":1})", "k[]=1", false},
      {R"({"k":1})", "k[]!=1", true},
      {R"({"k":null})", "k exists", true},
      {R"({"j":1})", "k exists", false},
      {R"({"j":1})", "k!=1", true},
      {R"({"j":1})", "k!=null", true},
      {R"({"k":null})", "k!=null", false},
      {R"({"k":[{"s":1},{"s":2}]})", "k.s[]=2", true},
      {R"({"k":[{"s":1},{"s":2}]})", "k.s[]=3", false},
      {R"({"k":[{"s":1},{"s":2}]})", "k.s=2", false},
      {R"({"k":[{"t":1}]})", "k.s[] exists", false},
      {R"({"k":{"s":[2]}})", "k.s[]=2", true},
      {R"({"k":[[1]]})", "k[]=1", false},
  };
  for (const auto& [stored, condition, holds] : cases) {
    CAPTURE(stored);
    CAPTURE(condition);
    const model::Filter filter({Condition::parse(condition)});
    CHECK(filter.matches(model::ParsedEntity(stored)) == holds);
    const std::string with_fill = stored.substr(0, stored.size() - 1) + ",\"fill\":\"" + filler + "\"}";
    CHECK(filter.matches(model::ParsedEntity(with_fill)) == holds);
  }
  const model::ParsedEntity entity(R"({"k":[1,2],"j":3})");
  const auto matches = [&](const std::vector<std::string>& texts) {
    std::vector<Condition> conditions;
    for (const std::string& text : texts) {
      conditions.push_back(Condition::parse(text));
    }
    return model::Filter(conditions).matches(entity);
  };
  CHECK(matches({"j=3", "j=4"}));
  CHECK_FALSE(matches({"j=3", "j=4", "j!=3"}));
  CHECK_FALSE(matches({"j=3", "j[]=3"}));
  CHECK(matches({"k[]=2", "k[]=9", "j>2", "j<4"}));
  CHECK(matches({"k[]>1", "k[]<2"}));  // each by an element of its own
  CHECK_FALSE(matches({"j>2", "j<3"}));
}

TEST_CASE("a number that no entity can have is refused as a filter, and not searched for as a string") {
  for (const std::string& text : {std::string(400, '9'), "-" + std::string(400, '9'), std::string("1e400")}) {
    CAPTURE(text);
    const Error error = test::error_of([&] { return model::Filter({{"k", Operator::equal, text}}); });
    CHECK(std::string(error.what()) == "number in a filter is out of range");
    CHECK(test::context_of(error, "property") == "k");
    CHECK(error.hint().find("'k=\"" + text + "\"'") != std::string::npos);
    CHECK_THROWS_AS(where_k(text), Error);
    CHECK_THROWS_AS(model::ParsedEntity("{\"k\":" + text + "}"), Error);
    CHECK(model::Filter({{"k", Operator::equal, "\"" + text + "\""}})
              .matches(model::ParsedEntity("{\"k\":\"" + text + "\"}")));
  }
  for (const std::string text : {"1e400x", "[1e400]", "1e400 apples"}) {  // strings, as any text that is no scalar
    CHECK(model::Filter({{"k", Operator::equal, text}}).matches(model::ParsedEntity("{\"k\":\"" + text + "\"}")));
  }
}
