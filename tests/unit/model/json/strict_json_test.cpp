// Strict JSON and the places of its faults.
#include "model/json/strict_json.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/errors.hpp"

using namespace looseleaf;
using model::JsonFault;
using model::JsonFaultKind;
using model::parse_strict;
using nlohmann::json;

namespace {

JsonFault fault_of(const std::string& text) {
  return test::error_of<JsonFault>([&] { return parse_strict(text); });
}

// Makes a locale with a decimal comma, and uses it for as long as the object exists.
class CommaLocale {
 public:
  CommaLocale() {
    std::ofstream(folder_ + "/comma")
        << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n";
    const std::string command =
        fmt::format("cd {} && localedef --quiet --force --inputfile=./comma ./made 2> /dev/null", folder_);
    REQUIRE(std::system(command.c_str()) >= 0);
    ::setenv("LOCPATH", folder_.c_str(), 1);
    REQUIRE(std::setlocale(LC_NUMERIC, "made") != nullptr);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;
  ~CommaLocale() {
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }

 private:
  static std::string make_folder() {
    std::string name = std::filesystem::temp_directory_path() / "locale-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    return name;
  }

  std::string folder_ = make_folder();
};

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("each fault is named and placed at its first byte") {
  const std::vector<std::tuple<std::string, JsonFaultKind, std::size_t>> cases = {
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
  for (const auto& [text, kind, offset] : cases) {
    CAPTURE(text);
    const JsonFault fault = fault_of(text);
    CHECK(fault.kind == kind);
    CHECK(fault.offset == offset);
  }
}

TEST_CASE("every fault has a hint of what to do") {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "write one JSON value; there is only white space"},
      {" \n", "write one JSON value; there is only white space"},
      {"{\"a\":", "close every bracket, brace and quotation mark; the text ends too early"},
      {"{\"a\": [\"b\"]", "close every bracket, brace and quotation mark; the text ends too early"},
      {"{\"a\": [\"b", "close every bracket, brace and quotation mark; the text ends too early"},
      {"{\"a\":1,}", "delete the comma before it"},
      {"{\"a\":1,\n}", "delete the comma before it"},
      {"{\"a\":[1,]}", "delete the comma before it"},
      {"{\"a\":1 \"b\":2}", "separate members and elements by commas, and close what is open"},
      {"{\"a\" 1}", "write a colon between a key and its value"},
      {"{a:1}", "quote strings and keys, and write true, false, null or 0.5 so; NaN and Infinity are not JSON"},
      {"{1:2}", "write each key as a string in double quotes"},
      {"{\"a\":01}", "delete the leading zero"},
      {"{\"a\":1.}", "write a number such as 2, -0.5 or 1e6"},
      {"{\"a\":\"b\nc\"}", "write the character as the detail says; a string is on one line"},
      {R"({"a":"C:\dir"})", R"(write \\ for a backslash)"},
      {R"({"a":"\u12"})", R"(write four hexadecimal digits after \u)"},
      {"{} {}", "if this is the right text, delete what follows the first value"},
      {"{}}", "if this is the right text, delete what follows the first value"},
      {"\xEF\xBB\xBF{}", "save the file as UTF-8 without a byte order mark"},
      {std::string("{}\0", 3), "delete the NUL byte"},
      {"// a\n{}", "delete the comment; JSON has no comments"},
      {"{\"a\":1, # ours\n}", "delete the comment; JSON has no comments"},
      {"{'a':1}", "put double quotes around strings and keys"},
      {"{\"a\":\"\xff\"}", "convert the input to UTF-8"},
      {"{\"a\":1,\"a\":2}", "keep one of the two members"},
  };
  for (const auto& [text, hint] : cases) {
    CAPTURE(text);
    const JsonFault fault = fault_of(text);
    CAPTURE(fault.detail);
    CHECK(model::hint_for(fault, text) == hint);
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

TEST_CASE("a process whose locale has a decimal comma reads the same numbers") {
  const CommaLocale locale;
  REQUIRE(std::string(std::localeconv()->decimal_point) == ",");
  for (const auto& [text, number] : {std::pair("1.5", 1.5), {"-2.25e-3", -2.25e-3}, {"1E2", 1E2}, {"1e-400", 0}}) {
    CAPTURE(text);
    CHECK(parse_strict(text).get<double>() == number);
    CHECK(model::parse_stored(text).is_number_float());
  }
  CHECK(model::big_integer(model::parse_stored("18446744073709551616")) == "18446744073709551616");
}

TEST_CASE("the same key in different objects is no duplicate") {
  CHECK(parse_strict(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})").size() == 2);
}

TEST_CASE("a detail never quotes the text") {
  for (const char* text : {"{\"a\":secret}", "{\"secret}", "{\"a\":\"secret\nx\"}", "{\"a\":\"secret\" \"secret\"}"}) {
    CAPTURE(text);
    const JsonFault fault = fault_of(text);
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
