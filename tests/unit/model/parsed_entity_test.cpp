// Members taken from a stored text, beside what nlohmann reads in all of it.
#include "model/parsed_entity.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <looseleaf/error.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "model/json/strict_json.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/split.hpp"

using namespace looseleaf;
using model::ParsedEntity;

namespace {

const std::vector<IndexDefinition>& definitions() {
  static const std::vector<IndexDefinition> all = [] {
    std::vector<IndexDefinition> parsed;
    for (const char* text : {
             R"([{"name":"a","type":"uuid"}])",
             R"([{"name":"a","type":"string","max_length":3}])",
             R"([{"name":"a","type":"int"}])",
             R"([{"name":"a","type":"double"}])",
             R"([{"name":"a","type":"bool"}])",
             R"([{"name":"a.b","type":"int"},{"name":"b","type":"string","max_length":2}])",
             R"([{"name":"a.b.c","type":"string"}])",
             R"([{"name":"a","type":"int","each":true}])",
             R"([{"name":"a","type":"string","max_length":2,"each":true},{"name":"b","type":"double"}])",
             R"([{"name":"b","type":"bool"},{"name":"a.b","type":"int","each":true}])",
             R"([{"name":"a","type":"int"}],"where":{"b":1})",
             R"([{"name":"a","type":"int"}],"where":{"b":null,"c":"x"})",
             R"([{"name":"a","type":"int"}],"where":{"b.c":true})",
             R"([{"name":"a","type":"int"}],"where":{"b":0.5})",
             R"([{"name":"a","type":"double"}],"where":{"b":-1},"immutable":true)",
             R"([{"name":"id","type":"uuid"}])",
             R"([{"name":"id.a","type":"string"}])",
             R"([{"name":"id","type":"string","each":true}])",
             R"([{"name":"id","type":"string"},{"name":"a","type":"int","each":true}],"where":{"b.c":true})",
         }) {
      parsed.push_back(IndexDefinition::parse(R"({"table":"t","properties":)" + std::string(text) + "}", "test"));
    }
    return parsed;
  }();
  return all;
}

// Whether put accepts what the strict parser does, and reads the same in it.
void check_accepted_alike(const std::string& text) {
  nlohmann::json json;
  try {
    json = model::parse_strict(text);
  } catch (const model::JsonFault&) {
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(text)), Error);
    return;
  }
  const auto own_id = json.find("id");
  const bool has_id = own_id != json.end();
  if (has_id && !(own_id->is_string() && Uuid::parse(own_id->get<std::string>()))) {
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(text)), Error);
    return;
  }
  const model::AcceptedEntity accepted = model::accept_entity(text);
  if (!has_id) {
    json["id"] = to_string(accepted.id);
  }
  CHECK(nlohmann::json::parse(accepted.text) == json);
  CHECK(accepted.id == Uuid::parse(json["id"].get<std::string>()));
  CHECK(accepted.parsed.id() == accepted.id);
  for (const IndexDefinition& definition : definitions()) {
    CHECK(accepted.parsed.expected_rows(definition) == model::expected_rows(definition, json));
  }
}

// Whether both ways to read this text agree on whether it can be read, on its id and on every row.
void check_alike(const std::string& text) {
  CAPTURE(text.substr(0, 200));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    CHECK(test::error_of([&] { static_cast<void>(ParsedEntity(text)); }).code() == ErrorCode::corrupt);
    return;
  }
  check_accepted_alike(text);
  const ParsedEntity stored(text);
  const auto id = json.find("id");
  CHECK(stored.has_id() == (id != json.end()));
  CHECK(stored.id() == (stored.has_id() && id->is_string() ? Uuid::parse(id->get<std::string>()) : std::nullopt));
  CHECK(stored.is_empty() == json.empty());
  for (const IndexDefinition& definition : definitions()) {
    CHECK(stored.expected_rows(definition) == model::expected_rows(definition, json));
    CHECK(stored.matches_where(definition) == model::matches_where(definition, json));
    for (const Property& property : definition.properties) {
      CHECK(stored.property_values(property) == model::property_values(property, json));
    }
    for (const auto& [path, value] : definition.where) {
      for (const auto op : {Operator::equal, Operator::less_equal, Operator::greater, Operator::exists}) {
        for (const bool each : {false, true}) {
          const model::Criterion criterion{path, each, op, {value}};
          const model::Examined one = stored.examine(criterion), other = model::examine(json, criterion);
          CHECK(one.found == other.found);
          CHECK(one.meets == other.meets);
        }
      }
    }
  }
}

class RandomTexts {
 public:
  explicit RandomTexts(unsigned seed) : random_(seed) {}

  std::string object(int depth) {
    std::string text = "{";
    for (int members = pick(6), i = 0; i < members; ++i) {
      text += (i == 0 ? "" : ",") + one_of({R"("a")", R"("b")", R"("c")", R"("id")", R"("\u0061")", R"("")"}) + ":" +
              value(depth);
    }
    return text + "}";
  }

 private:
  std::string value(int depth) {
    const int kind = depth == 0 ? 2 + pick(8) : pick(10);
    return kind == 0 ? object(depth - 1) : kind == 1 ? array(depth - 1) : scalar();
  }

  std::string array(int depth) {
    std::string text = "[";
    for (int elements = pick(5), i = 0; i < elements; ++i) {
      text += (i == 0 ? "" : " , ") + value(depth);
    }
    return text + "]";
  }

  std::string scalar() {
    static const std::vector<std::string> scalars = test::split(
        "null true false 0 -0 1 -1 1.0 0.5 -0.0 1e3 9223372036854775807 9223372036854775808 "
        R"(-9223372036854775808 18446744073709551615 18446744073709551616 "" "x" "äöü€𝄞" "\u00e4\n\"" )"
        R"("\ud834\udd1e" "a\u0000b" "\\u" "f48b0440ca0c4d34b0f50123456789ab" )"
        R"("F48B0440-CA0C-4D34-B0F5-0123456789AB")");
    return one_of(scalars);
  }

  std::string one_of(const std::vector<std::string>& choices) {
    return choices[static_cast<std::size_t>(pick(static_cast<int>(choices.size())))];
  }

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  std::mt19937 random_;
};

std::string nested_object(std::size_t depth) {
  std::string text = R"({"a":1,"b":)";
  for (std::size_t i = 0; i < depth; ++i) {
    text += i % 2 == 0 ? "[" : R"({"a":)";
  }
  text += "1";
  for (std::size_t i = depth; i-- > 0;) {
    text += i % 2 == 0 ? "]" : "}";
  }
  return text + "}";
}

}  // namespace

TEST_CASE("a stored text gives the rows and the id of the value that nlohmann reads in it") {
  RandomTexts texts(1);
  for (int i = 0; i < 3000; ++i) {
    check_alike(texts.object(4));
  }
}

TEST_CASE("of members with the same key the last one counts") {
  const ParsedEntity stored(R"({"a":1,"id":"x","a":{"b":5},"a":2,"b":"x","id":"f48b0440ca0c4d34b0f50123456789ab"})");
  CHECK(stored.expected_rows(definitions()[2]) == std::vector<model::Row>{{std::int64_t{2}}});
  CHECK(stored.expected_rows(definitions()[5]).empty());
  CHECK(stored.id() == Uuid::parse("f48b0440ca0c4d34b0f50123456789ab"));
}

TEST_CASE("long, deep and odd texts give the same rows as others") {
  const std::string id = R"("id":"f48b0440ca0c4d34b0f50123456789ab")";
  for (const std::string& text : std::vector<std::string>{
           "{" + id + R"(,"a":7,"b":")" + std::string(100'000, 'x') + "\"}",
           "{" + id + R"(,"a":7,"b":18446744073709551616})",
           "{" + id + R"(,"a":"\ud834\udd1e"})",
           nested_object(100),
           nested_object(200),
           nested_object(5000),
           "  {\"a\":7}\n",
           "\xEF\xBB\xBF{\"a\":7}",
           std::string("{\"a\":7}\0", 8),
       }) {
    check_alike(text);
  }
}

TEST_CASE("of an entity that is put no key may be there twice, however many there are and wherever") {
  const std::string id = R"({"id":"f48b0440ca0c4d34b0f50123456789ab")";
  for (int keys = 0; keys < 40; ++keys) {
    std::string members;
    for (int i = 0; i < keys; ++i) {
      members += fmt::format(",\"k{}\":{}", i, i);
    }
    CHECK_NOTHROW(static_cast<void>(model::accept_entity(id + members + "}")));
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(id + members + ",\"id\":1}")), Error);
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(id + ",\"k\":[{\"x\":1" + members + ",\"x\":1}]}")), Error);
    CHECK_THROWS_AS(static_cast<void>(model::accept_entity(id + ",\"k\":{\"\\u0078\":1" + members + ",\"x\":1}}")),
                    Error);
  }
  CHECK_NOTHROW(
      static_cast<void>(model::accept_entity(id + ",\"k\":" + std::string(127, '[') + std::string(127, ']') + "}")));
  CHECK_THROWS_AS(
      static_cast<void>(model::accept_entity(id + ",\"k\":" + std::string(128, '[') + std::string(128, ']') + "}")),
      Error);
}

TEST_CASE("what is no JSON object cannot be read") {
  for (const std::string& text :
       std::vector<std::string>{"", " ", "{", "[1]", "7", "null", "{\"a\":1}}", "{\"a\":1}{}", "{\"a\":1e400}",
                                "{\"a\":01}", "{\"a\":\"\xC3\"}", R"({"a":"\ud800"})", R"({"a":"\udc00\ud800"})",
                                "{\"a\":\"\n\"}", "{'a':1}", "{\"a\":1,}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ParsedEntity{text}, Error);
    check_alike(text);
  }
}
