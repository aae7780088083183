// Index definitions.
#include <doctest/doctest.h>

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/parsed_files.hpp"

using namespace looseleaf;
using test::with_bools;
using test::with_name;
using test::with_properties;
using test::with_table;

namespace {

IndexDefinition parse(const std::string& text) {
  test::remember_file("index", text);
  return IndexDefinition::parse(text, "index.json");
}

// "line:column key: what"
std::string complaint_about(const std::string& text, std::string* hint = nullptr) {
  try {
    static_cast<void>(parse(text));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_definition);
    CHECK(test::context_of(error, "file") == "index.json");
    CHECK(test::is_worded_as_hint(error.hint()));
    if (hint != nullptr) {
      *hint = error.hint();
    }
    return test::place_of(error) + " " + test::context_of(error, "key") + ": " + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the documented example is read") {
  const IndexDefinition definition = parse(R"({
    "$schema": "index.schema.json",
    "table": "index_user_id",
    "properties": [{"name": "user_id", "type": "uuid"}],
    "shard_on": "user_id",
    "immutable": true
  })");
  IndexDefinition expected;
  expected.table = "index_user_id";
  expected.properties = {{"user_id", PropertyType::uuid, 735, false}};
  expected.shard_on = 0;
  expected.immutable = true;
  CHECK(definition == expected);
}

TEST_CASE("every key is read") {
  const IndexDefinition definition = parse(with_properties(
      R"({"name":"a.b","type":"string","max_length":10,"each":true},{"name":"n","type":"int"},
         {"name":"d","type":"double","each":false},{"name":"f","type":"bool"})",
      R"(,"shard_on":"n","where":{"z":null,"k":"x","n.m":-1,"t":true,"d":1.0})"));
  CHECK(definition.properties == std::vector<Property>{{"a.b", PropertyType::string, 10, true},
                                                       {"n", PropertyType::integer, 735, false},
                                                       {"d", PropertyType::real, 735, false},
                                                       {"f", PropertyType::boolean, 735, false}});
  CHECK(definition.shard_on == 1);
  CHECK(definition.where ==
        std::vector<std::pair<std::string, Scalar>>{
            {"d", 1.0}, {"k", std::string("x")}, {"n.m", std::int64_t{-1}}, {"t", true}, {"z", std::monostate()}});
  CHECK_FALSE(definition.immutable);
}

TEST_CASE("table names are plain and not the tool's own") {
  for (const std::string& good : {std::string("a"), std::string("Index_9"), std::string(64, 'x'),
                                  std::string("entities_"), std::string("looseleaf"), std::string("select")}) {
    CAPTURE(good);
    CHECK(complaint_about(with_table(good)) == "accepted");
  }
}

TEST_CASE("property names are paths that can be column names") {
  for (const std::string& good :
       {std::string("a"), std::string("a.b.c"), std::string("a b"), std::string("`"), std::string("\u00fc"),
        std::string(64, 'x'), test::repeated("\u20ac", 64), std::string("id"), std::string("entity_id.x")}) {
    CAPTURE(good);
    CHECK(complaint_about(with_name(good)) == "accepted");
  }
}

TEST_CASE("what is wrong is named with its place, and a hint says what to do") {
  for (const auto& [text, complaint, part_of_hint] : test::bad_definitions()) {
    CAPTURE(text);
    std::string hint;
    CHECK(complaint_about(text, &hint) == complaint);
    CHECK(hint.find(part_of_hint) != std::string::npos);
  }
}

TEST_CASE("an index may have 8 properties, and `unique` may be false or combined with each") {
  CHECK(complaint_about(with_bools(8)) == "accepted");
  CHECK(complaint_about(with_properties(R"({"name":"p","type":"int"})", R"(,"unique":false)")) == "accepted");
  CHECK(complaint_about(with_properties(R"({"name":"p","type":"int","each":true})",
                                        R"(,"shard_on":"p","unique":true)")) == "accepted");
}

TEST_CASE("key columns have at most 3072 bytes together and the hint says how much is too much") {
  const auto string_of = [](const char* name, int length) {
    return std::string("{\"name\":\"") + name + R"(","type":"string","max_length":)" + std::to_string(length) + "}";
  };
  CHECK(complaint_about(with_properties(string_of("a", 735))) == "accepted");
  CHECK(complaint_about(with_properties(string_of("a", 735) + R"(,{"name":"b","type":"int"})")) == "accepted");
  CHECK(complaint_about(with_properties(string_of("a", 735) + "," + string_of("b", 29))) == "accepted");
  std::string hint;
  CHECK(complaint_about(with_properties(string_of("a", 735) + "," + string_of("b", 30)), &hint) ==
        "1:27 properties: key columns are too long together");
  CHECK(hint == "the key needs 3,076 bytes (limit 3,072); shorten its strings by 1 character in total");
  CHECK(complaint_about(with_properties(string_of("a", 735) + R"(,{"name":"b","type":"uuid"},{"name":"c","type":"uuid"},
      {"name":"d","type":"uuid"},{"name":"e","type":"uuid"},{"name":"f","type":"uuid"},{"name":"g","type":"uuid"},
      {"name":"h","type":"uuid"})")) == "accepted");
}

TEST_CASE("hints name what was probably meant") {
  std::string hint;
  complaint_about(R"({"table":"t","propertys":[]})", &hint);
  CHECK(hint == "did you mean \"properties\"?");
  complaint_about(with_properties(R"({"name":"user_id","type":"int"})", R"(,"shard_on":"userid")"), &hint);
  CHECK(hint == "did you mean \"user_id\"?");
  complaint_about(with_properties(R"({"name":"user_id","type":"int"})", R"(,"unique":true)"), &hint);
  CHECK(hint == "name the property that decides on which shard equal values meet, such as \"shard_on\": \"user_id\"");
}

TEST_CASE("the canonical form is one line with a fixed order and without defaults") {
  CHECK(parse(R"({"immutable":false,"where":{},"properties":[{"type":"string","each":false,"max_length":735,
                  "name":"p"}],"$schema":"x","table":"t"})")
            .canonical_json() == R"({"table":"t","properties":[{"name":"p","type":"string"}]})");
  CHECK(
      parse(with_properties(R"({"each":true,"max_length":3,"type":"string","name":"é"},{"type":"int","name":"n"})",
                            R"(,"where":{"b":-0.0,"a":null,"c":1,"d":"x","e":false},"shard_on":"n")"))
          .canonical_json() ==
      R"({"table":"t","properties":[{"name":"é","type":"string","max_length":3,"each":true},{"name":"n","type":"int"}],)"
      R"("shard_on":"n","where":{"a":null,"b":0.0,"c":1,"d":"x","e":false}})");
  CHECK(parse(R"({"unique":true,"immutable":true,"shard_on":"p","properties":[{"name":"p","type":"int"}],"table":"t"})")
            .canonical_json() ==
        R"({"table":"t","properties":[{"name":"p","type":"int"}],"shard_on":"p","immutable":true,"unique":true})");
}

TEST_CASE("a definition whose `shard_on` is no position has no canonical form and no fingerprint") {
  IndexDefinition definition = parse(with_name("p"));
  definition.shard_on = 1;
  CHECK(test::error_of([&] { return definition.canonical_json(); }).code() == ErrorCode::bad_definition);
  CHECK(test::error_of([&] { return definition.fingerprint(); }).code() == ErrorCode::bad_definition);
}

TEST_CASE("fingerprints are equal for equal meanings and differ for different ones") {
  const std::string one = parse(with_name("p")).fingerprint();
  CHECK(one == parse(R"({"properties":[{"type":"int","name":"p"}],"immutable":false,"table":"t"})").fingerprint());
  CHECK(one.size() == 16);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != parse(with_name("q")).fingerprint());
  const std::string p = R"({"name":"p","type":"int"})";
  CHECK(one != parse(with_properties(p, R"(,"immutable":true)")).fingerprint());
  CHECK(one != parse(with_properties(p, R"(,"shard_on":"p")")).fingerprint());
  CHECK(parse(with_properties(p, R"(,"shard_on":"p")")).fingerprint() !=
        parse(with_properties(p, R"(,"shard_on":"p","unique":true)")).fingerprint());
  const std::string where_int = parse(with_properties(p, R"(,"where":{"k":1})")).fingerprint();
  CHECK(where_int != parse(with_properties(p, R"(,"where":{"k":1.0})")).fingerprint());
  CHECK(where_int != parse(with_properties(p, R"(,"where":{"k":"1"})")).fingerprint());
}

TEST_CASE("any definition is read back from its canonical form") {
  std::mt19937 random(5);
  const std::vector<std::string> names = {"a", "b.c", "d\"e", "f\\\\", "é", "g h", "i`", "k'"};
  const std::vector<Scalar> scalars = {std::monostate(),
                                       true,
                                       std::int64_t{-5},
                                       0.1,
                                       1e300,
                                       std::string("x\"\n\u20ac"),
                                       BigInteger{"18446744073709551617"}};
  for (int round = 0; round < 2'000; ++round) {
    IndexDefinition definition;
    definition.table = "t" + std::to_string(round);
    bool has_each = false;
    for (std::size_t i = 0; i < 1 + random() % names.size(); ++i) {
      Property property{names[i], static_cast<PropertyType>(random() % 5), 735, false};
      if (property.type == PropertyType::string) {
        property.max_length = 1 + static_cast<std::uint32_t>(random() % 90);
      }
      property.each = !has_each && random() % 4 == 0;
      has_each = has_each || property.each;
      if (property.type <= PropertyType::integer && random() % 2 == 0) {
        definition.shard_on = i;
      }
      definition.properties.push_back(property);
    }
    for (std::size_t i = 0; i < random() % 4; ++i) {
      definition.where.emplace_back(std::string("w") + static_cast<char>('0' + i), scalars[random() % scalars.size()]);
    }
    definition.immutable = !has_each && random() % 2 == 0;
    definition.unique = definition.shard_on && random() % 2 == 0;
    const std::string canonical = definition.canonical_json();
    CAPTURE(canonical);
    const IndexDefinition again = parse(canonical);
    CHECK(again == definition);
    CHECK(again.canonical_json() == canonical);
  }
}
