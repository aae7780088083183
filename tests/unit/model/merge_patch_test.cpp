// JSON Merge Patch, and that it leaves everything else byte for byte.
#include "model/merge_patch.hpp"

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

using looseleaf::model::merge_patch;

namespace {

// A target and a patch, and what they merge into.
void check(const std::vector<std::tuple<std::string, std::string, std::string>>& cases) {
  for (const auto& [target, patch, merged] : cases) {
    CAPTURE(target);
    CAPTURE(patch);
    CHECK(merge_patch(target, patch) == merged);
  }
}

}  // namespace

// Those of appendix A of RFC 7396 whose documents are objects.
TEST_CASE("a merge patch does what RFC 7396 says") {
  check({
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
      {R"({"a":{ },"b":1,"c":{ "d": 2 }})", R"({"a":{},"b":{},"c":{}})", R"({"a":{ },"b":{},"c":{ "d": 2 }})"},
  });
}

TEST_CASE("what a merge patch does not name stays byte for byte, and new values come as they are written") {
  const std::string digits(400, '3');
  check({
      {R"({"n":1.10,"big":0.)" + digits + R"(,"a":1})", R"({"a":2.50})",
       R"({"n":1.10,"big":0.)" + digits + R"(,"a":2.50})"},
      {"{ \"a\" : 1 ,\n \"b\" : {\"c\": [1, {\"d\" : 2}]} }", R"({"a":null,"x":1E2})",
       "{\n \"b\" : {\"c\": [1, {\"d\" : 2}]},\n \"x\":1E2 }"},
      {R"({"b":{"c":1.0, "d":"}\"]"},"z":"\u00e9"})", R"({"b":{"e":[null,{"f":null}]}})",
       R"({"b":{"c":1.0, "d":"}\"]", "e":[null,{"f":null}]},"z":"\u00e9"})"},
      {R"({"a":1})", R"({"b":{"c":{"d":null,"e":1.0}}})", R"({"a":1,"b":{"c":{"e":1.0}}})"},
      {"{ }", R"({"a":1})", R"({"a":1})"},
      {R"({"a":1})", "{ }", R"({"a":1})"},
  });
}

TEST_CASE("keys are compared by their meaning, and the id is kept") {
  check({
      {R"({"caf\u00e9":1,"b":2})", R"({"café":3})", R"({"caf\u00e9":3,"b":2})"},
      {R"({"id":"71F0C4D2-2918-44CC-A2DF-6F486E96E37C","a":1})", R"({"id":"71f0c4d2291844cca2df6f486e96e37c","a":2})",
       R"({"id":"71F0C4D2-2918-44CC-A2DF-6F486E96E37C","a":2})"},
      {R"({"o":{"id":1}})", R"({"id":"71f0c4d2291844cca2df6f486e96e37c","o":{"id":2}})", R"({"o":{"id":2}})"},
  });
}
