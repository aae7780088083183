// Strict JSON and the places of its faults.
#include "model/json/strict_json.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/errors.hpp"

using namespace looseleaf;
using model::JsonFault;
using model::JsonFaultKind;
using model::parse_strict;
using nlohmann::json;

namespace {

struct Fault {
  JsonFaultKind kind = JsonFaultKind::syntax;
  std::size_t offset = 0;
};

Fault fault_of(const std::string& text) {
  CAPTURE(text);
  const auto fault = test::error_of<JsonFault>([&] { return parse_strict(text); });
  return {fault.kind, fault.offset};
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("each fault is named and placed at its first byte") {
  struct Case {
    std::string text;
    JsonFaultKind kind;
    std::size_t offset;
  };
  const std::vector<Case> cases = {
      {"", JsonFaultKind::syntax, 0},
      {"{", JsonFaultKind::syntax, 1},
      {"{\"a\":1,}", JsonFaultKind::syntax, 7},
      {"{\"a\":1 \"bcd\":2}", JsonFaultKind::syntax, 7},
      {"{\"a\" 123}", JsonFaultKind::syntax, 5},
      {"{a:1}", JsonFaultKind::syntax, 1},
      {"{\"a\":01}", JsonFaultKind::syntax, 5},
      {"{\"a\":1}x", JsonFaultKind::syntax, 7},
      {"{} {}", JsonFaultKind::syntax, 3},
      {"{\"a\":\"b\nc\"}", JsonFaultKind::syntax, 7},
      {"{\"a\":NaN}", JsonFaultKind::syntax, 5},
      {"\xEF\xBB\xBF{}", JsonFaultKind::syntax, 0},
      {std::string("{}\0", 3), JsonFaultKind::syntax, 2},
      {std::string("{}\0{}", 5), JsonFaultKind::syntax, 2},
      {"{\"a\":1,\"b\":2,\"a\":3}", JsonFaultKind::duplicate_key, 13},
      {"{\"a\":1,\"\\u0061\":3}", JsonFaultKind::duplicate_key, 7},
      {"[{\"x\\\\\":1,\"x\\\\\":3}]", JsonFaultKind::duplicate_key, 10},
      {"[{\"\\\"\":1,\"\\\"\":3}]", JsonFaultKind::duplicate_key, 9},
      {"{\"\":1,\"\":3}", JsonFaultKind::duplicate_key, 6},
      {"{\"a\":\"x\xff\"}", JsonFaultKind::invalid_utf8, 7},
      {"{\"a\":\"\xed\xa0\x80\"}", JsonFaultKind::invalid_utf8, 7},
      {"{\"a\":\"\\ud800\"}", JsonFaultKind::lone_surrogate, 12},
      {"{\"a\":\"\\udc00\"}", JsonFaultKind::lone_surrogate, 11},
      {"{\"a\":1e999}", JsonFaultKind::number_range, 5},
      {nested(model::max_depth + 1), JsonFaultKind::too_deep, model::max_depth},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    const Fault fault = fault_of(expected.text);
    CHECK(fault.kind == expected.kind);
    CHECK(fault.offset == expected.offset);
  }
}

TEST_CASE("every syntax error has a hint of what to do") {
  struct Case {
    std::string text, hint;
  };
  const std::vector<Case> cases = {
      {"", "white space"},
      {"{\"a\":", "ends too early"},
      {"{\"a\":1,}", "delete the comma"},
      {"{\"a\":1 \"b\":2}", "by commas"},
      {"{\"a\" 1}", "colon"},
      {"{a:1}", "quote strings and keys"},
      {"{1:2}", "each key as a string"},
      {"{\"a\":01}", "leading zero"},
      {"{\"a\":1.}", "number such as"},
      {"{\"a\":\"b\nc\"}", "on one line"},
      {R"({"a":"C:\dir"})", R"(\\ for a backslash)"},
      {R"({"a":"\u12"})", "four hexadecimal digits"},
      {"{} {}", "delete what follows"},
      {"\xEF\xBB\xBF{}", "byte order mark"},
      {std::string("{}\0", 3), "NUL"},
      {"// a", "comment"},
      {"{'a':1}", "double quotes"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.text);
    const auto fault = test::error_of<JsonFault>([&] { return parse_strict(test.text); });
    CAPTURE(fault.detail);
    const std::string hint = model::hint_for(fault, test.text);
    CHECK_MESSAGE(hint.find(test.hint) != std::string::npos, hint);
  }
}

TEST_CASE("what is strict JSON is parsed as nlohmann parses it") {
  for (const std::string& text : {std::string("{}"), std::string(" [ ] \n"), std::string("0"), std::string("-0.5e-3"),
                                  std::string("\"\\ud83d\\ude00\""),
                                  std::string(R"({"a":[1,{"b":null,"":true}],"c":"\u0000","A":18446744073709551616})"),
                                  nested(model::max_depth)}) {
    CAPTURE(text);
    CHECK(parse_strict(text) == json::parse(text));
  }
}

TEST_CASE("the same key in different objects is no duplicate") {
  CHECK(parse_strict(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})").size() == 2);
}

TEST_CASE("a detail never quotes the text") {
  for (const char* text : {"{\"a\":secret}", "{\"secret}", "{\"a\":\"secret\nx\"}", "{\"a\":\"secret\" \"secret\"}"}) {
    CAPTURE(text);
    const auto fault = test::error_of<JsonFault>([&] { return parse_strict(text); });
    CHECK(fault.detail.find("secret") == std::string::npos);
    CHECK_FALSE(fault.detail.empty());
  }
}

TEST_CASE("places lead to keys and values") {
  const std::string text = R"({"a": 12, "b/c" : [true, -1.5e3 , "x\"", null], "d": {"e": {} }})";
  const auto value_at = [&](const char* pointer) { return text.substr(model::place_of(text, pointer).value); };
  const auto key_at = [&](const char* pointer) { return text.substr(model::place_of(text, pointer).key); };
  CHECK(model::place_of(text, "").value == 0);
  CHECK(value_at("/a").rfind("12,", 0) == 0);
  CHECK(key_at("/b~1c").rfind("\"b/c\" :", 0) == 0);
  CHECK(value_at("/b~1c").rfind("[true", 0) == 0);
  CHECK(value_at("/b~1c/0").rfind("true,", 0) == 0);
  CHECK(value_at("/b~1c/1").rfind("-1.5e3 ,", 0) == 0);
  CHECK(value_at("/b~1c/2").rfind("\"x\\\"\",", 0) == 0);
  CHECK(value_at("/b~1c/3").rfind("null]", 0) == 0);
  CHECK(key_at("/d/e").rfind("\"e\": {", 0) == 0);
  CHECK(value_at("/d/e").rfind("{} }", 0) == 0);
}

TEST_CASE("random damage is accepted exactly when nlohmann accepts it and nothing strict forbids it") {
  const std::string good = R"({"id":"aé","n":[1,-2.5,{"x":null}],"t":true,"s":"q\"\\\ud83d\ude00"} )";
  std::mt19937 random(3);
  const std::string bytes = "{}[]\",:\\ u0d19-.eE\n\t\x80\xc3x";
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (std::size_t changes = random() % 3; changes > 0; --changes) {
      text[random() % text.size()] = bytes[random() % bytes.size()];
    }
    try {
      const json parsed = parse_strict(text);
      ++accepted;
      CHECK(parsed == json::parse(text));
    } catch (const JsonFault& fault) {
      CHECK(fault.offset <= text.size());
      CHECK((fault.kind == JsonFaultKind::duplicate_key || !json::accept(text)));
    }
  }
  CHECK(accepted > 5'000);
}

TEST_CASE("positions count lines and bytes from 1") {
  CHECK(model::position_after("") == Position{1, 1});
  CHECK(model::position_after("ab") == Position{1, 3});
  CHECK(model::position_after("ab\n") == Position{2, 1});
  CHECK(model::position_after("ab\n\r\ncde") == Position{3, 4});
  CHECK(model::position_after("ab", {7, 5}) == Position{7, 7});
  CHECK(model::position_after("a\nb", {7, 5}) == Position{8, 2});
}
