// Ids of keys: which values make which id, and how keys are written.
#include "model/key.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/entity.hpp"
#include "tests/support/errors.hpp"

namespace looseleaf::test {
namespace {

std::string id_of(const std::vector<std::string>& key, const std::string& text) {
  return to_string(model::accept_entity(text, {}, Key(key)).id);
}

// "line:column what property"
std::string key_rejection_of(const std::string& text) {
  try {
    static_cast<void>(model::accept_entity(text, {}, Key({"a", "b.c"})));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_entity);
    CHECK(is_worded_as_hint(error.hint()));
    return place_of(error) + " " + error.what() + " " + context_of(error, "property");
  }
  return "accepted";
}

std::string refusal_of(const std::string& key) {
  try {
    static_cast<void>(KeyWithValues::parse(key));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    CHECK(is_worded_as_hint(error.hint()));
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the id of a key is the UUIDv5 of its names and values, as any other program can compute it") {
  // python3: uuid.uuid5(uuid.UUID("56e8618842525af0ae24b26a783c3be2"), '[["a",1]]')
  CHECK(id_of({"a"}, R"({"a":1})") == "2e8edaf0ed435cac9c67d90524689da9");
  CHECK(id_of({"a"}, R"({"a":"1"})") == "399111efc5af5d9dbd9c98cd7fc82310");
  CHECK(id_of({"row", "column"}, R"({"row":-9223372036854775808,"column":"B\"\u00e9\u0001\/"})") ==
        "c747a906af045fa1969226bcbb6d6858");
  CHECK(id_of({"a.b"}, R"({"a":{"b":"x"}})") == "38a6fe5b1063515db26df0e675ba8102");
}

TEST_CASE("neither the order of names nor the way a value is written makes another id") {
  const std::string id = id_of({"a", "b"}, R"({"a":"\u00e9","b":0})");
  CHECK(id_of({"b", "a"}, R"({ "b" : -0, "n" : 1.5, "a" : "é" })") == id);
  CHECK(id_of({"a", "b"}, R"({"a":"é","b":0,"id":")" + id + "\"}") == id);
  CHECK(to_string(KeyWithValues::parse("a=é,b=0").id) == id);
  CHECK(to_string(KeyWithValues::parse(R"("b"=0,a="\u00e9")").id) == id);
  CHECK(KeyWithValues::parse("b=0,a=x").key == Key({"a", "b"}));
  const std::string text = id_of({"a"}, R"({"a":"x,y=\"z\""})");
  CHECK(to_string(KeyWithValues::parse(R"(a="x,y=\"z\"")").id) == text);
  CHECK(to_string(KeyWithValues::parse("a=5\" pipe").id) == id_of({"a"}, R"({"a":"5\" pipe"})"));
  CHECK(to_string(KeyWithValues::parse("a=\"5\"").id) == id_of({"a"}, R"({"a":"5"})"));
  CHECK(to_string(KeyWithValues::parse("a=").id) == id_of({"a"}, R"({"a":""})"));
}

TEST_CASE("a text without an id gets that of its key, and one with another id is rejected") {
  const std::string id = id_of({"a"}, R"({"a":7})");
  const model::AcceptedEntity entity = model::accept_entity(R"({"a":7})", {}, Key({"a"}));
  CHECK(entity.text == R"({"id":")" + id + R"(","a":7})");
  CHECK(!entity.id_was_made);
  CHECK(key_rejection_of("{\"a\":1,\n \"b\":{\"c\":2},\"id\":\"" + id + "\"}") == "2:19 id is not that of the key -");
}

TEST_CASE("an entity without a value that its key can have is rejected") {
  for (const char* const value :
       {"null", "true", "1.0", "1e2", "9223372036854775808", "-9223372036854775809", "[1]", "{}", "[\"x\"]"}) {
    CAPTURE(value);
    CHECK(key_rejection_of(std::string("{\"b\":{\"c\":1},\"a\":") + value + "}") ==
          "1:1 the entity has no value that its key can have a");
  }
  CHECK(key_rejection_of(R"({"a":1,"b":2})") == "1:1 the entity has no value that its key can have b.c");
  CHECK(key_rejection_of(R"({"a":1,"b":[{"c":2}]})") == "1:1 the entity has no value that its key can have b.c");
  CHECK(key_rejection_of(R"({"a":9223372036854775807,"b":{"c":""}})") == "accepted");
}

TEST_CASE("a key on the command line that cannot be read, or that no entity can have, is refused") {
  for (const char* const key : {"a=1.5", "a=true", "a=null", "a=1e999", "a=9223372036854775808"}) {
    CAPTURE(key);
    CHECK(refusal_of(key) == "a key cannot have this value");
  }
  CHECK(refusal_of("a=\xff") == "the key is not UTF-8 text");
  CHECK(refusal_of("a=1,a=2") == "a property comes twice in the key");
  CHECK(refusal_of("id=1") == "the id cannot be in the key of which it is made");
  CHECK(refusal_of("a>1") == "invalid key");
  CHECK(refusal_of("a[]=1") == "invalid key");
  CHECK(refusal_of("a=x,y") == "invalid key");
  CHECK(refusal_of("a=1,") == "invalid key");
  CHECK(refusal_of("a=\"7,b=x") == "invalid key");
  CHECK(refusal_of("a=\"x\"y") == "invalid key");
  CHECK(refusal_of("a.=1") == "invalid property path");
  CHECK(refusal_of("") == "invalid key");
  CHECK_THROWS_AS(Key({"a", ""}), Error);
  CHECK_THROWS_AS(Key(std::vector<std::string>{}), Error);
}

}  // namespace looseleaf::test
