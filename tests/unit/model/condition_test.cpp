// Query conditions.
#include <doctest/doctest.h>

#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/errors.hpp"

using namespace looseleaf;

namespace {

Error refusal_of(const char* text) {
  return test::error_of([&] { return Condition::parse(text); });
}

void check_parsed(const std::vector<std::pair<const char*, Condition>>& cases) {
  for (const auto& [text, condition] : cases) {
    CAPTURE(text);
    CHECK(Condition::parse(text) == condition);
  }
}

}  // namespace

TEST_CASE("a condition is split at its first operator") {
  check_parsed({
      {"a=1", {"a", Operator::equal, "1"}},
      {"a=", {"a", Operator::equal, ""}},
      {"a.b=x=y", {"a.b", Operator::equal, "x=y"}},
      {"a= =1", {"a", Operator::equal, " =1"}},
      {"a<1", {"a", Operator::less, "1"}},
      {"a<=1", {"a", Operator::less_equal, "1"}},
      {"a>1", {"a", Operator::greater, "1"}},
      {"a>=1", {"a", Operator::greater_equal, "1"}},
      {"a> =1", {"a", Operator::greater, " =1"}},
      {"a^=x", {"a", Operator::prefix, "x"}},
      {"a^b=x", {"a^b", Operator::equal, "x"}},
      {"a^>x", {"a^", Operator::greater, "x"}},
      {"a=^=x", {"a", Operator::equal, "^=x"}},
      {"a!=x", {"a", Operator::not_equal, "x"}},
      {"a!=", {"a", Operator::not_equal, ""}},
      {"a!<1", {"a!", Operator::less, "1"}},
      {"a.b exists", {"a.b", Operator::exists, ""}},
      {"a b exists", {"a b", Operator::exists, ""}},
      {"a exists=1", {"a exists", Operator::equal, "1"}},
      {"a=b exists", {"a", Operator::equal, "b exists"}},
  });
}

TEST_CASE("brackets behind a name mean the elements of an array, and in double quotes they belong to the name") {
  check_parsed({
      {"a[]=1", {"a", Operator::equal, "1", true}},
      {"a.b[]!=1", {"a.b", Operator::not_equal, "1", true}},
      {"a[]^=[]", {"a", Operator::prefix, "[]", true}},
      {"a[] exists", {"a", Operator::exists, "", true}},
      {R"("a<"[]<1)", {"a<", Operator::less, "1", true}},
      {R"("a<"[] exists)", {"a<", Operator::exists, "", true}},
      {R"("a[]"=1)", {"a[]", Operator::equal, "1", false}},
      {R"("a[].b"[]=1)", {"a[].b", Operator::equal, "1", true}},
      {"a[0]=1", {"a[0]", Operator::equal, "1", false}},
  });
  const Error error = refusal_of("a[].b>=1");
  CHECK(std::string(error.what()) == "[] inside a property's name");
  CHECK(error.hint() ==
        R"(write 'a.b[]>=1': a path goes on inside the elements of the first array on it; if the name contains [], )"
        R"(write it in double quotes: '"a[].b">=1')");
  const Error twice = refusal_of("a[].b[][]<1");
  CHECK(std::string(twice.what()) == "[] inside a property's name");
  CHECK(twice.hint().starts_with("write 'a.b[]<1': "));
  CHECK(refusal_of("[][]<1").hint().starts_with("write the name of a property before the operator"));
}

TEST_CASE("a name in double quotes is a JSON string and may hold operators and any character") {
  check_parsed({
      {R"("a=b"=5)", {"a=b", Operator::equal, "5"}},
      {R"("a<b>c"<="x")", {"a<b>c", Operator::less_equal, R"("x")"}},
      {R"("a^"=x)", {"a^", Operator::equal, "x"}},
      {R"("a^"^=x)", {"a^", Operator::prefix, "x"}},
      {R"("tags!"=cats)", {"tags!", Operator::equal, "cats"}},
      {R"("a"!=1)", {"a", Operator::not_equal, "1"}},
      {R"("a exists" exists)", {"a exists", Operator::exists, ""}},
      {R"("\"a\\\u0085=">1)", {"\"a\\\u0085=", Operator::greater, "1"}},
      {R"("a.b"=)", {"a.b", Operator::equal, ""}},
      {R"(a"b"=1)", {R"(a"b")", Operator::equal, "1"}},
  });
  for (const char* text :
       {R"("a)", R"("a=1)", R"("a\")", R"("a"b=1)", R"("a")", R"("a"!1)", R"("\x"=1)", R"("a" exists )"}) {
    CAPTURE(text);
    const Error error = refusal_of(text);
    CHECK(std::string(error.what()) == "invalid condition");
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("a notation of other languages is refused, unless the name is in double quotes") {
  const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
      {"n<>5", "<>",
       R"(write 'n!=5'; if the value begins with >, write the property's name in double quotes: '"n"<>5')"},
      {"n==5",
       "==", R"(write 'n=5'; if the value begins with =, write the property's name in double quotes: '"n"==5')"},
      {"n[]=>5", "=>",
       R"(write 'n[]>=5'; if the value begins with >, write the property's name in double quotes: '"n"[]=>5')"},
      {"n=<5", "=<",
       R"(write 'n<=5'; if the value begins with <, write the property's name in double quotes: '"n"=<5')"},
  };
  for (const auto& [text, symbol, hint] : cases) {
    CAPTURE(text);
    const Error error = refusal_of(text);
    CHECK(std::string(error.what()) == std::string("conditions do not support ") + symbol);
    CHECK(error.hint() == hint);
  }
  CHECK(Condition::parse(R"("n"==5)") == Condition{"n", Operator::equal, "=5"});
  CHECK(Condition::parse(R"("n"=>5)") == Condition{"n", Operator::equal, ">5"});
  CHECK(Condition::parse(R"("n"<>5)") == Condition{"n", Operator::less, ">5"});
}

TEST_CASE("what has no name or no operator is no condition") {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases = {
      {{"", "a", "a^b", "a!", "exists", "a  exist", "a EXISTS", "a[]"},
       "write name=value, or with another operator: name!=value, "},
      {{"=1", "!=1", "<1", ">=1", "^=x", " exists", "[]=1", R"(""=1)", R"(""[] exists)"},
       "write the name of a property before the operator"}};
  for (const auto& [texts, hint] : cases) {
    for (const char* text : texts) {
      CAPTURE(text);
      const Error error = refusal_of(text);
      CHECK(error.code() == ErrorCode::usage);
      CHECK(std::string(error.what()) == "invalid condition");
      CHECK(error.hint().starts_with(hint));
    }
  }
}
