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
      {"a.b=x=y", {"a.b", Operator::equal, "x=y"}}, {"a= =1", {"a", Operator::equal, " =1"}},
      {"a<1", {"a", Operator::less, "1"}},          {"a<=1", {"a", Operator::less_equal, "1"}},
      {"a>1", {"a", Operator::greater, "1"}},       {"a>=1", {"a", Operator::greater_equal, "1"}},
      {"a> =1", {"a", Operator::greater, " =1"}},   {"a^=x", {"a", Operator::prefix, "x"}},
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

TEST_CASE("a notation of other languages is refused, unless the name is in double quotes") {
  using enum Condition::Operators;
  struct Case {
    const char* text;
    Condition::Operators allowed;
    const char* symbol;
    const char* hint;
  };
  const std::vector<Case> cases = {
      {"tags!=cats", all, "!=",
       R"(use =, <, <=, >, >= or ^=; if the property's name ends in !, write it in double quotes: '"tags!"=cats')"},
      {"n<>5", all, "<>",
       R"(use =, <, <=, >, >= or ^=; if the value begins with >, write the property's name in double quotes: '"n"<>5')"},
      {"n==5", all,
       "==", R"(write 'n=5'; if the value begins with =, write the property's name in double quotes: '"n"==5')"},
      {"n=>5", all, "=>",
       R"(write 'n>=5'; if the value begins with >, write the property's name in double quotes: '"n"=>5')"},
      {"n=<5", all, "=<",
       R"(write 'n<=5'; if the value begins with <, write the property's name in double quotes: '"n"=<5')"},
      {"tags!=cats", equality, "!=",
       R"(a filter supports only =; if the property's name ends in !, write it in double quotes: '"tags!"=cats')"},
      {"n<>5", equality, "<>", "a filter supports only ="},
      {"n==5", equality,
       "==", R"(write 'n=5'; if the value begins with =, write the property's name in double quotes: '"n"==5')"},
      {"n=>5", equality, "=>",
       R"(a filter supports only =; if the value begins with >, write the property's name in double quotes: '"n"=>5')"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.text);
    try {
      static_cast<void>(Condition::parse(test.text, test.allowed));
      FAIL_CHECK("parsed");
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == std::string("conditions do not support ") + test.symbol);
      CHECK(error.hint() == test.hint);
    }
  }
  CHECK(Condition::parse("a!<1") == Condition{"a!", Operator::less, "1"});
  CHECK(Condition::parse(R"("n"==5)") == Condition{"n", Operator::equal, "=5"});
  CHECK(Condition::parse(R"("n"=>5)") == Condition{"n", Operator::equal, ">5"});
  CHECK(Condition::parse(R"("n"<>5)") == Condition{"n", Operator::less, ">5"});
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
