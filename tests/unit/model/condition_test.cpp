// Query conditions.
#include <doctest/doctest.h>

#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <string>
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

TEST_CASE("a name in double quotes is a JSON string and may hold operators and any character") {
  struct Case {
    const char* text;
    Condition condition;
  };
  const std::vector<Case> cases = {
      {R"("a=b"=5)", {"a=b", Operator::equal, "5"}},
      {R"("a<b>c"<="x")", {"a<b>c", Operator::less_equal, R"("x")"}},
      {R"("a^"=x)", {"a^", Operator::equal, "x"}},
      {R"("a^"^=x)", {"a^", Operator::prefix, "x"}},
      {R"("tags!"=cats)", {"tags!", Operator::equal, "cats"}},
      {R"("\"a\\\u0085=">1)", {"\"a\\\u0085=", Operator::greater, "1"}},
      {R"("a.b"=)", {"a.b", Operator::equal, ""}},
      {R"(a"b"=1)", {R"(a"b")", Operator::equal, "1"}},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    CHECK(Condition::parse(expected.text) == expected.condition);
  }
  for (const char* text : {R"("a)", R"("a=1)", R"("a\")", R"("a"b=1)", R"("a")", R"("a"!=1)", R"("\x"=1)", R"(""=1)"}) {
    CAPTURE(text);
    try {
      static_cast<void>(Condition::parse(text));
      FAIL_CHECK("parsed");
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == "invalid condition");
      CHECK_FALSE(error.hint().empty());
    }
  }
}

TEST_CASE("!= is not read as the end of a name") {
  try {
    static_cast<void>(Condition::parse("tags!=cats"));
    FAIL_CHECK("parsed");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "conditions do not support !=");
    CHECK(error.hint() ==
          "use =, <, <=, >, >= or ^=; if the property's name ends in !, write it in double quotes: '\"tags!\"=cats'");
  }
  CHECK(Condition::parse("a!<1") == Condition{"a!", Operator::less, "1"});
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
