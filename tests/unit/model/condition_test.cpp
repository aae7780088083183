// Query conditions.
#include <doctest/doctest.h>

#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <vector>

using namespace looseleaf;

TEST_CASE("a condition is split at its first operator") {
  struct Case {
    const char* text;
    Condition condition;
  };
  const std::vector<Case> cases = {
      {"a=1", {"a", Operator::equal, "1"}},         {"a=", {"a", Operator::equal, ""}},
      {"a.b=x=y", {"a.b", Operator::equal, "x=y"}}, {"a==1", {"a", Operator::equal, "=1"}},
      {"a<1", {"a", Operator::less, "1"}},          {"a<=1", {"a", Operator::less_equal, "1"}},
      {"a>1", {"a", Operator::greater, "1"}},       {"a>=1", {"a", Operator::greater_equal, "1"}},
      {"a> =1", {"a", Operator::greater, " =1"}},   {"a=>1", {"a", Operator::equal, ">1"}},
      {"a<>1", {"a", Operator::less, ">1"}},        {"a^=x", {"a", Operator::prefix, "x"}},
      {"a^b=x", {"a^b", Operator::equal, "x"}},     {"a^>x", {"a^", Operator::greater, "x"}},
      {"a=^=x", {"a", Operator::equal, "^=x"}},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    CHECK(Condition::parse(expected.text) == expected.condition);
  }
}

TEST_CASE("what has no name or no operator is no condition") {
  for (const char* text : {"", "a", "=1", "<1", ">=1", "^=x", "a^b"}) {
    CAPTURE(text);
    try {
      static_cast<void>(Condition::parse(text));
      FAIL_CHECK("parsed");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      CHECK(error.hint().starts_with("write name=value, or "));  // all that --where takes
    }
  }
}
