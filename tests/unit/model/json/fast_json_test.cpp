// What the quick parser takes, and what it leaves to the strict one.
#include "model/json/fast_json.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/json/strict_json.hpp"

using namespace looseleaf::model;
using nlohmann::json;

namespace {

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) {
    text += open;
  }
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) {
    text += close;
  }
  return text;
}

}  // namespace

TEST_CASE("what most entities are is taken, with the values that nlohmann reads") {
  const std::vector<std::string> texts = {
      R"({"id":"71f0c4d2291844cca2df6f486e96e37c","n":-1,"tags":["a","b"],"deep":{"x":null,"y":true,"z":1.5e3}})",
      R"({"e":"","s":"\u00e9\n\"\\ \u0000"})",
      "[0,-0,18446744073709551615,9223372036854775807,-9223372036854775808,0.1,1e-400]",
      nested(max_depth, "[", "]"),
      nested(max_depth, "{\"a\":", "}"),
      "\"" + std::string(60'000, 'x') + "\"",
  };
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 100));
    const auto value = parse_fast(text);
    REQUIRE(value);
    CHECK(*value == json::parse(text));
    CHECK(value->dump() == json::parse(text).dump());  // numbers of the same types
  }
}

TEST_CASE("what is refused, and what is too long or too odd, is left to the strict parser") {
  const std::vector<std::string> texts = {
      "",
      " ",
      "{",
      "{\"a\":1}}",
      "{\"a\":1}\n{}",
      std::string("{\"a\":1}\0", 8),
      "\xEF\xBB\xBF{}",
      R"({"a":1,"a":2})",
      R"({"a":1,"\u0061":2})",
      R"([{"b":{"a":1,"a":1}}])",
      "\"\xC3\"",
      "\"\xED\xA0\x80\"",
      R"("\udc00")",
      R"("\ud800")",
      R"("\ud83d\ude00")",
      "18446744073709551616",
      "1e400",
      "01",
      "NaN",
      nested(max_depth + 1, "[", "]"),
      nested(max_depth + 1, "{\"a\":", "}"),
      nested(5000, "[", "]"),
      "\"" + std::string(70'000, 'x') + "\"",
  };
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 100));
    CHECK_FALSE(parse_fast(text));
  }
}
