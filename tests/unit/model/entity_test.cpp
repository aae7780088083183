// What put accepts as an entity.
#include "model/entity.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/errors.hpp"

using namespace looseleaf;
using model::accept_entity;

namespace {

constexpr const char* id_digits = "f48b0440ca0c4d34b0f50123456789ab";

// "line:column what"
std::string rejection_of(const std::string& text, Position start = {}) {
  try {
    static_cast<void>(accept_entity(text, start));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_entity);
    CHECK(test::is_worded_as_hint(error.hint()));
    return test::place_of(error) + " " + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a text with an id is kept byte for byte, white space around it aside") {
  for (const std::string& body :
       {std::string(R"({"id":"f48b0440ca0c4d34b0f50123456789ab"})"),
        std::string(R"({ "z": 1.00, "id" : "F48B0440-CA0C-4D34-B0F5-0123456789AB" , "a": 18446744073709551616 })"),
        std::string("{\n  \"id\": \"f48b0440ca0c4d34b0f50123456789ab\"\r\n}")}) {
    CAPTURE(body);
    const model::AcceptedEntity entity = accept_entity(" \r\n\t" + body + "\n ");
    CHECK(entity.text == body);
    CHECK(to_string(entity.id) == id_digits);
  }
}

TEST_CASE("an id that is absent is made and becomes the first member") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"{}", "}"}, {"{ }", " }"}, {R"({"a":1})", R"(,"a":1})"}, {"{\n\"a\":1}", ",\n\"a\":1}"}};
  for (const auto& [text, rest] : cases) {
    CAPTURE(text);
    const model::AcceptedEntity entity = accept_entity(text);
    CHECK(entity.text == "{\"id\":\"" + to_string(entity.id) + "\"" + rest);
    CHECK(entity.parsed.id() == entity.id);
    CHECK((entity.id.bytes[6] & 0xF0) == 0x70);
  }
}

TEST_CASE("a nested id is no id") {
  const model::AcceptedEntity entity = accept_entity(R"({"a":{"id":"f48b0440ca0c4d34b0f50123456789ab"}})");
  CHECK(to_string(entity.id) != id_digits);
}

TEST_CASE("what cannot be stored is rejected where it is wrong") {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "1:1 syntax error"},
      {"  \n ", "1:1 syntax error"},
      {" \n 7", "2:2 not a JSON object"},
      {"[{}]", "1:1 not a JSON object"},
      {"\"a\"", "1:1 not a JSON object"},
      {"null", "1:1 not a JSON object"},
      {"{\"a\":1,\n \"a\":2}", "2:2 duplicate key"},
      {"{\"a\":\n\"\xff\"}", "2:2 invalid UTF-8"},
      {R"({"a":"\ud800"})", "1:13 lone surrogate"},
      {R"({"a":1e400})", "1:6 number out of range"},
      {"{\"a\":1\n", "1:7 syntax error"},
      {"{\"a\":1,}", "1:8 syntax error"},
      {"{'a':1}", "1:2 syntax error"},
      {"{} x", "1:4 syntax error"},
      {"\xEF\xBB\xBF{}", "1:1 syntax error"},
      {std::string("{}\0", 3), "1:3 syntax error"},
      {R"({"id":null})", "1:7 id is not a UUID"},
      {R"({"id":7})", "1:7 id is not a UUID"},
      {"{\"a\":1,\n\"id\": \"x\"}", "2:7 id is not a UUID"},
      {R"({"id":["f48b0440ca0c4d34b0f50123456789ab"]})", "1:7 id is not a UUID"},
      {R"({"id":"f48b0440ca0c4d34b0f50123456789ab","id":"f48b0440ca0c4d34b0f50123456789ab"})", "1:42 duplicate key"},
  };
  for (const auto& [text, rejection] : cases) {
    CAPTURE(text);
    CHECK(rejection_of(text) == rejection);
  }
}

TEST_CASE("positions count from where the text began") {
  CHECK(rejection_of("{\"a\":}", {10, 5}) == "10:10 syntax error");
  CHECK(rejection_of("{\n\"a\":}", {10, 5}) == "11:5 syntax error");
}

TEST_CASE("depth is limited to 128") {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  CHECK(rejection_of(nested(128)) == "accepted");
  CHECK(rejection_of(nested(129)) == "1:133 nested too deeply");
  CHECK(rejection_of(nested(1'000'000)) == "1:133 nested too deeply");
}

TEST_CASE("the size limit counts the id that is made and not the white space around") {
  const auto sized = [](std::size_t size, const std::string& start) {
    return start + std::string(size - start.size() - 2, 'x') + "\"}";
  };
  const std::string with_id = std::string("{\"id\":\"") + id_digits + "\",\"a\":\"";
  CHECK(accept_entity("\n" + sized(model::max_body_size, with_id) + "\n").text.size() == model::max_body_size);
  CHECK(rejection_of(sized(model::max_body_size + 1, with_id)) == "1:1 body too large");
  const std::size_t made = std::string("\"id\":\"").size() + 32 + 2;
  CHECK(accept_entity(sized(model::max_body_size - made, "{\"a\":\"")).text.size() == model::max_body_size);
  CHECK(rejection_of(sized(model::max_body_size - made + 1, "{\"a\":\"")) == "1:1 body too large");
}

TEST_CASE("an error never quotes a value") {
  for (const char* text : {R"({"a":"secret)", R"({"a":secret})", R"({"id":"secret"})", "\"secret\""}) {
    CAPTURE(text);
    const Error error = test::error_of([&] { return accept_entity(text); });
    std::string shown = error.what() + error.hint();
    for (const auto& [key, value] : error.context()) {
      shown += value;
    }
    CHECK(shown.find("secret") == std::string::npos);
  }
}

TEST_CASE("the id of a stored entity is its id member, if that is a UUID") {
  const auto id_in = [](const char* text) { return model::ParsedEntity(text).id(); };
  CHECK(id_in(R"({"id":"F48B0440-ca0c-4d34-b0f5-0123456789ab"})") == Uuid::parse(id_digits));
  CHECK_FALSE(id_in("{}"));
  CHECK_FALSE(id_in(R"({"id":7})"));
  CHECK_FALSE(id_in(R"({"id":"7"})"));
}
