// How a byte stream is split into entities.
#include <doctest/doctest.h>

#include <algorithm>
#include <looseleaf/entity_reader.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/entity.hpp"

using namespace looseleaf;

namespace {

constexpr std::size_t mebibyte = 1024 * 1024;

// Gives at most `step` bytes at a time.
EntityReader::Source source_of(const std::string& input, std::size_t step) {
  return [&input, step, at = std::size_t{0}](char* buffer, std::size_t size) mutable {
    const std::size_t count = std::min({size, step, input.size() - at});
    std::copy_n(input.data() + at, count, buffer);
    at += count;
    return count;
  };
}

struct Outcome {
  std::vector<Piece> pieces;
  bool stopped_early = false;
};

Outcome read_all(const std::string& input, std::size_t step = std::string::npos) {
  EntityReader reader(source_of(input, step));
  Outcome outcome;
  while (std::optional<Piece> piece = reader.next()) {
    outcome.pieces.push_back(*std::move(piece));
  }
  outcome.stopped_early = reader.stopped_early();
  return outcome;
}

std::string at(Position position) {
  return std::to_string(position.line) + ":" + std::to_string(position.column);
}

// One string per piece: "line:column text", and " !line:column reason" behind it if it is rejected.
std::vector<std::string> shown(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const Piece& piece : outcome.pieces) {
    lines.push_back(at(piece.position) + " " + piece.text);
    if (!piece.reject.empty()) {
      lines.back() += " !" + at(piece.reject_position) + " " + piece.reject + (piece.more ? " (more)" : "");
    }
  }
  if (outcome.stopped_early) {
    lines.emplace_back("stopped");
  }
  return lines;
}

// The pieces of each input, however it arrives.
void check(const std::vector<std::pair<std::string, std::vector<std::string>>>& cases) {
  for (const auto& [input, pieces] : cases) {
    CAPTURE(input);
    CHECK(shown(read_all(input)) == pieces);
    CHECK(shown(read_all(input, 1)) == pieces);
  }
}

}  // namespace

TEST_CASE("objects are split whether one a line, side by side or pretty-printed") {
  check({
      {"", {}},
      {" \n\r\n\t", {}},
      {R"({"a":1})", {R"(1:1 {"a":1})"}},
      {"{\"a\":1}\n{\"b\":2}\n", {R"(1:1 {"a":1})", R"(2:1 {"b":2})"}},
      {"{\"a\":1}\r\n\r\n  {\"b\":2}\r\n", {R"(1:1 {"a":1})", R"(3:3 {"b":2})"}},
      {R"({"a":1}{"b":2} {"c":3})", {R"(1:1 {"a":1})", R"(1:8 {"b":2})", R"(1:16 {"c":3})"}},
      {"{\n  \"a\": {\n    \"b\": [\n{}\n,\n{}]\n  }\n}\n{}",
       {"1:1 {\n  \"a\": {\n    \"b\": [\n{}\n,\n{}]\n  }\n}", "9:1 {}"}},
      {"{\"a\":\n{\"b\":1}}", {"1:1 {\"a\":\n{\"b\":1}}"}},
      {R"({"a":"}{][\"\\"} {"b":"\\\""})", {R"(1:1 {"a":"}{][\"\\"})", R"(1:18 {"b":"\\\""})"}},
      {"\xEF\xBB\xBF{\"a\":1}", {R"(1:1 {"a":1})"}},
      {"\xEF\xBB\xBF", {}},
  });
}

TEST_CASE("an array's elements are split, and more may follow it") {
  check({
      {"[]", {}},
      {"[{}]", {"1:2 {}"}},
      {"[\n{\"a\":1},\n{\"b\":2}\n]\n", {R"(2:1 {"a":1})", R"(3:1 {"b":2})"}},
      {"[{\"a\":[{\"b\":1},\n{\"c\":2}]} , {}] [ {} ]\n{\"d\":4}",
       {"1:2 {\"a\":[{\"b\":1},\n{\"c\":2}]}", "2:13 {}", "2:19 {}", R"(3:1 {"d":4})"}},
  });
}

TEST_CASE("what is malformed inside its brackets is left to the parser") {
  check({{"{\"a\" 1}{a}\n{}", {"1:1 {\"a\" 1}", "1:8 {a}", "2:1 {}"}}});
}

TEST_CASE("text between objects is rejected line by line") {
  check({
      {"12\n\"x\" \n{}", {"1:1 12 !1:1 not a JSON object", "2:1 \"x\" !2:1 not a JSON object", "3:1 {}"}},
      {"{},\n{}", {"1:1 {}", "1:3 , !1:3 text between entities", "2:1 {}"}},
      {"hello {\"a\":1}\r\n{}", {"1:1 hello {\"a\":1} !1:1 text between entities", "2:1 {}"}},
      {"{}}\n]\n", {"1:1 {}", "1:3 } !1:3 text between entities", "2:1 ] !2:1 text between entities"}},
      {"\xEF\xBBx\n{}", {"1:1 \xEF\xBBx !1:1 text between entities", "2:1 {}"}},
  });
}

TEST_CASE("a broken object is rejected and reading resumes at the next line that starts with a brace") {
  check({
      {"{\"a\":1\n{\"b\":2}\n", {"1:1 {\"a\":1 !2:1 object is not closed", R"(2:1 {"b":2})"}},
      {"{\"a\":1,\n{\"b\":2}\n", {"1:1 {\"a\":1, !2:1 object is not closed", R"(2:1 {"b":2})"}},
      {"{\"a\":\"x\n  \"b\":1}\n {}\n{\"c\":3}",
       {"1:1 {\"a\":\"x\n  \"b\":1}\n {} !1:8 line break inside a string", R"(4:1 {"c":3})"}},
      {"{\"a\":\"x\n{\"c\":3}", {"1:1 {\"a\":\"x !1:8 line break inside a string", R"(2:1 {"c":3})"}},
      {"{\"a\":\"x\\\n{\"c\":3}", {"1:1 {\"a\":\"x\\ !1:9 line break inside a string", R"(2:1 {"c":3})"}},
      {"{\"a\":[1} {}\n{}", {"1:1 {\"a\":[1} {} !1:8 brackets do not match", "2:1 {}"}},
      {"{\"a\":1", {"1:1 {\"a\":1 !1:7 object is not closed"}},
      {"{\"a\":1\n\n", {"1:1 {\"a\":1 !3:1 object is not closed"}},
      {"{}\n{\"a\":\"", {"1:1 {}", "2:1 {\"a\":\" !2:7 object is not closed"}},
  });
}

TEST_CASE("what is rejected comes with what exactly is wrong, and what to do") {
  struct Explained {
    std::string input, reason, detail, hint;
  };
  const std::string no_object = R"(write an entity as an object: {"name": "value"})";
  const std::string cut_off =
      "check whether a brace, a bracket or a quotation mark is missing, or the input is cut off";
  const std::string one_comma = "write one comma between two elements and none at the end";
  const std::vector<Explained> cases = {
      {"17", "not a JSON object", "number", no_object},
      {" \"x\"", "not a JSON object", "string", no_object},
      {"null", "not a JSON object", "null", no_object},
      {"[false]", "not a JSON object", "boolean", no_object},
      {"[[{}]]", "not a JSON object", "array", no_object},
      {"[1e999]", "not a JSON object", "number", no_object},
      {"hello", "text between entities", "", "start an entity with { and an array of entities with ["},
      {"{}\n\xEF\xBB\xBF{\"a\":1}", "byte order mark inside the input", "",
       "delete the bytes EF BB BF in front of the entity"},
      {"{}\n\xEF\xBB\xBF{\n}", "byte order mark inside the input", "",
       "delete the bytes EF BB BF in front of the entity"},
      {"{},", "text between entities", "", "delete the comma; only entities in an array are separated by commas"},
      {"{}}", "text between entities", "", "delete it; there is nothing to close here"},
      {"{}\n {\"a\":1,\n\n", "object is not closed", "it begins at line 2, column 2", cut_off},
      {"{\"a\":1\n{}", "object is not closed", "it begins at line 1, column 1", cut_off},
      {"{\"a\":\"\n", "line break inside a string", "", "write a line break as \\n, or close the string"},
      {"{\"a\":[1}", "brackets do not match", "a } where a [ is open", "close the innermost bracket first"},
      {"{\"a\":" + std::string(1'100'000, '['), "nested too deeply", "", "nest at most 128 objects and arrays"},
      {"\n [{},", "array is not closed; the rest of the array was not read", "it begins at line 2, column 2",
       "check whether the input is cut off"},
      {"[{},,{}]", "syntax error between array elements; the rest of the array was not read", "", one_comma},
      {"[{\"a\":1,}]", "syntax error; the rest of the array was not read", "unexpected '}'; expected string literal",
       "delete the comma before it"},
      {"[{\"a\":tru}]", "syntax error; the rest of the array was not read", "invalid literal",
       "quote strings and keys, and write true, false, null or 0.5 so; NaN and Infinity are not JSON"},
      {"[{\"a\":1 \"b\":2}]", "syntax error; the rest of the array was not read",
       "unexpected string literal; expected '}'", "separate members and elements by commas, and close what is open"},
  };
  for (const Explained& expected : cases) {
    CAPTURE(expected.input);
    const Outcome outcome = read_all(expected.input);
    const auto rejected = std::find_if(outcome.pieces.begin(), outcome.pieces.end(),
                                       [](const Piece& piece) { return !piece.reject.empty(); });
    REQUIRE(rejected != outcome.pieces.end());
    CHECK(rejected->reject == expected.reason);
    CHECK(rejected->reject_detail == expected.detail);
    CHECK(rejected->reject_hint == expected.hint);
  }
}

TEST_CASE("inside an array a value that is no object is rejected alone") {
  check({{"[1, \"a,]\", null,[{}] ,{\"a\":1},-2e3]",
          {"1:2 1 !1:2 not a JSON object", "1:5 \"a,]\" !1:5 not a JSON object", "1:12 null !1:12 not a JSON object",
           "1:17 [{}] !1:17 not a JSON object", R"(1:23 {"a":1})", "1:31 -2e3 !1:31 not a JSON object"}}});
}

TEST_CASE("inside an array reading stops at the first syntax error and says so") {
  const std::string stopped = "; the rest of the array was not read";
  check({
      {"[{},{\"a\" 1},{}]\n{}", {"1:2 {}", "1:5 {\"a\" 1} !1:10 syntax error" + stopped, "stopped"}},
      {"[{} {}]", {"1:2 {}", "1:5  !1:5 syntax error between array elements" + stopped, "stopped"}},
      {"[,{}]", {"1:2  !1:2 syntax error between array elements" + stopped, "stopped"}},
      {"[{},]", {"1:2 {}", "1:5  !1:5 syntax error between array elements" + stopped, "stopped"}},
      {"[{},,{}]", {"1:2 {}", "1:5  !1:5 syntax error between array elements" + stopped, "stopped"}},
      {"[}]", {"1:2  !1:2 syntax error between array elements" + stopped, "stopped"}},
      {"[hello]", {"1:2 hello !1:2 syntax error" + stopped, "stopped"}},
      {"[{\"a\":\"x\n\"}]", {"1:2 {\"a\":\"x !1:9 line break inside a string" + stopped, "stopped"}},
      {"[{\"a\":1\n{}]", {"1:2 {\"a\":1 !2:1 object is not closed" + stopped, "stopped"}},
      {"[{\"a\":1", {"1:2 {\"a\":1 !1:8 object is not closed" + stopped, "stopped"}},
      {"[{}", {"1:2 {}", "1:4  !1:4 array is not closed" + stopped, "stopped"}},
  });
}

TEST_CASE("inside an array faults that are not of syntax do not stop reading") {
  const std::vector<std::string> faulty = {"{\"a\":\"\xff\"}", R"({"a":"\ud800"})", R"({"a":1,"a":2})",
                                           R"({"a":1e999})", R"({"a":"\\\udc00é"})"};
  for (const std::string& element : faulty) {
    CAPTURE(element);
    CHECK(shown(read_all("[" + element + ",\n{}]")) == std::vector<std::string>{"1:2 " + element, "2:1 {}"});
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(element)), Error);
  }
  CHECK(read_all("[{\"a\":\"\xff\" 1},{}]").stopped_early);
}

TEST_CASE("a piece is given as soon as its last byte was read") {
  std::string given;
  const std::string input = "{\"a\":1}\n[{\"b\":2},{\"c\":3}]";
  EntityReader reader([&](char* buffer, std::size_t) {
    if (given.size() == input.size()) {
      return std::size_t{0};
    }
    *buffer = input[given.size()];
    given += *buffer;
    return std::size_t{1};
  });
  for (const char* expected : {"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}) {
    const std::optional<Piece> piece = reader.next();
    REQUIRE(piece);
    CHECK(piece->text == expected);
    CHECK(given.substr(given.size() - piece->text.size()) == expected);
  }
  CHECK_FALSE(reader.next());
}

TEST_CASE("a source that fails is passed on, and after the end it is not asked again") {
  EntityReader broken([](char*, std::size_t) -> std::size_t { throw Error(ErrorCode::io, "no"); });
  CHECK_THROWS_AS(static_cast<void>(broken.next()), Error);
  int ends = 0;
  EntityReader empty([&](char*, std::size_t) { return static_cast<std::size_t>(ends++ * 0); });
  CHECK_FALSE(empty.next());
  CHECK_FALSE(empty.next());
  CHECK(ends == 1);
}

TEST_CASE("an object of the largest size is one piece and a larger one is rejected in parts") {
  const auto object = [](std::size_t size) { return "{\"a\":\"" + std::string(size - 8, 'x') + "\"}"; };
  CHECK(read_all(object(model::max_body_size)).pieces.size() == 1);
  CHECK(read_all(object(model::max_body_size)).pieces[0].reject.empty());
  for (const char* around : {"", "["}) {
    CAPTURE(around);
    const bool array = *around != '\0';
    const std::string large = object(18 * mebibyte + 10);
    const Outcome outcome = read_all(around + large + (array ? "," : "\n") + "{}" + (array ? "]" : ""), 100'000);
    REQUIRE(outcome.pieces.size() > 2);
    CHECK(outcome.pieces.back().text == "{}");
    CHECK(outcome.pieces.back().reject.empty());
    std::string joined;
    for (std::size_t i = 0; i + 1 < outcome.pieces.size(); ++i) {
      const Piece& piece = outcome.pieces[i];
      CHECK(piece.reject == "body too large");
      CHECK(piece.text.size() <= mebibyte);
      CHECK(piece.more == (i + 2 < outcome.pieces.size()));
      CHECK(piece.position == Position{1, 1 + joined.size() + (array ? 1 : 0)});
      joined += piece.text;
    }
    CHECK(joined == large);
  }
}

TEST_CASE("a large object that also breaks resumes at the next object") {
  const std::string large = "{\"a\":\"" + std::string(17 * mebibyte, 'x') + "\n" + std::string(2 * mebibyte, 'y');
  const Outcome outcome = read_all(large + "\n{\"b\":1}");
  std::string joined;
  for (const Piece& piece : outcome.pieces) {
    if (!piece.reject.empty()) {
      CHECK(piece.reject == "body too large");
      joined += piece.text;
    }
  }
  CHECK(joined == large);
  CHECK(outcome.pieces.back().text == "{\"b\":1}");
}

TEST_CASE("a long line of garbage is rejected in parts") {
  const std::string garbage(5 * mebibyte / 2, 'x');
  const Outcome outcome = read_all(garbage + "\n{}");
  REQUIRE(outcome.pieces.size() == 4);
  CHECK(outcome.pieces[0].text + outcome.pieces[1].text + outcome.pieces[2].text == garbage);
  CHECK(outcome.pieces[1].more);
  CHECK_FALSE(outcome.pieces[2].more);
  CHECK(outcome.pieces[2].reject == "text between entities");
}

TEST_CASE("however the bytes arrive, the pieces are the same and nothing but white space and commas is lost") {
  std::mt19937 random(4);
  const std::vector<std::string> parts = {"{",    "}",   "[", "]", ",",  ":",           "\"",   "\\",    "\n",
                                          "\n{",  " ",   "1", "a", "{}", "\n{\"a\":1}", "[{},", "\"x\"", "\xEF\xBB\xBF",
                                          "\xff", "null"};
  for (int round = 0; round < 5'000; ++round) {
    std::string input;
    for (std::size_t count = random() % 20; count > 0; --count) {
      input += parts[random() % parts.size()];
    }
    CAPTURE(input);
    const Outcome whole = read_all(input);
    CHECK(shown(whole) == shown(read_all(input, 1)));
    CHECK(shown(whole) == shown(read_all(input, 3)));
    std::size_t from = 0;
    for (const Piece& piece : whole.pieces) {
      const std::size_t found = input.find(piece.text, from);
      REQUIRE(found != std::string::npos);
      const std::string skipped = input.substr(from, found - from);
      CHECK(skipped.find_first_not_of(" \n[],\xEF\xBB\xBF") == std::string::npos);
      from = found + piece.text.size();
    }
  }
}
