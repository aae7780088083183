// Which texts the fast parser takes.
#include "model/json/fast_parser.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace looseleaf;

TEST_CASE("the fast parser takes escaped pairs of surrogates, and leaves every lone half to the other one") {
  model::FastParser parser;
  const auto takes = [&](const std::string& string) { return parser.parse("{\"a\":\"" + string + "\"}").has_value(); };
  for (const char* const string : {R"(\ud83d\ude00)", R"(x\uD83D\uDE00\ud83d\ude00y)", R"(\\\n\u00e4\u2028)"}) {
    CAPTURE(string);
    CHECK(takes(string));
  }
  for (const char* const string :
       {R"(\ud83d)", R"(\ude00)", R"(\ud83dx\ude00)", R"(\ude00\ud83d)", R"(\ud83d\ud83d\ude00)",
        R"(\ud83d\ude00\ude00)", R"(\\ud83d\ude00)", R"(\ud83d\\ude00)"}) {
    CAPTURE(string);
    CHECK_FALSE(takes(string));
  }
}
