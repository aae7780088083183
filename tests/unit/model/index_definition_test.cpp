// Index definitions.
#include <doctest/doctest.h>

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/parsed_files.hpp"

using namespace looseleaf;

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

std::string with_table(const std::string& table) {
  return "{\"table\":\"" + table + R"(","properties":[{"name":"p","type":"int"}]})";
}

std::string with_properties(const std::string& properties, const std::string& rest = "") {
  return R"({"table":"t","properties":[)" + properties + "]" + rest + "}";
}

std::string with_name(const std::string& name) {
  return with_properties("{\"name\":\"" + name + "\",\"type\":\"int\"}");
}

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += text;
  }
  return out;
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
  for (const std::string& bad :
       {std::string(), std::string("9a"), std::string("_a"), std::string("a-b"), std::string("a b"), std::string("a`b"),
        std::string("\u00e9"), std::string("a.b"), std::string(65, 'x')}) {
    CAPTURE(bad);
    CHECK(complaint_about(with_table(bad)) == "1:10 table: invalid table name");
  }
  for (const char* own : {"entities", "Entities", "looseleaf_index", "LOOSELEAF_x"}) {
    CAPTURE(own);
    CHECK(complaint_about(with_table(own)) == "1:10 table: reserved table name");
  }
}

TEST_CASE("property names are paths that can be column names") {
  for (const std::string& good :
       {std::string("a"), std::string("a.b.c"), std::string("a b"), std::string("`"), std::string("\u00fc"),
        std::string(64, 'x'), repeated("\u20ac", 64), std::string("id"), std::string("entity_id.x")}) {
    CAPTURE(good);
    CHECK(complaint_about(with_name(good)) == "accepted");
  }
  struct Case {
    std::string name;
    const char* what;
  };
  const std::vector<Case> cases = {
      {"", "invalid property path"},
      {".", "invalid property path"},
      {".a", "invalid property path"},
      {"a.", "invalid property path"},
      {"a..b", "invalid property path"},
      {"a\\n", "invalid property path"},
      {"a\\u0000", "invalid property path"},
      {"a\x7f", "invalid property path"},
      {std::string(65, 'x'), "property path is too long for a column name"},
      {repeated("\u20ac", 65), "property path is too long for a column name"},
      {"\U0001F600", "property path cannot be a column name"},
      {"a ", "property path cannot be a column name"},
      {"entity_id", "property is called entity_id"},
      {"Entity_ID", "property is called entity_id"},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.name);
    CHECK(complaint_about(with_name(bad.name)) == std::string("1:36 name: ") + bad.what);
  }
}

TEST_CASE("what is wrong is named with its place") {
  const std::string p = R"({"name":"p","type":"int"})";
  struct Case {
    std::string text;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {"{", "1:2 -: syntax error"},
      {"7", "1:1 -: not a JSON object"},
      {"{\n \"table\":\"t\",\n \"table\":\"t\"}", "3:2 table: duplicate key"},
      {"{}", "1:1 -: definition has no table"},
      {R"({"table":7})", "1:10 table: value has the wrong type"},
      {R"({"table":"t"})", "1:1 -: definition has no properties"},
      {R"({"table":"t","propertys":[]})", "1:14 propertys: unknown key"},
      {R"({"table":"t","properties":{}})", "1:27 properties: value has the wrong type"},
      {R"({"table":"t","properties":[]})", "1:27 properties: number of properties is out of range"},
      {R"({"table":"t","properties":["p"]})", "1:28 -: not a JSON object"},
      {with_properties(R"({"type":"int"})"), "1:28 -: property has no name"},
      {with_properties(R"({"name":7,"type":"int"})"), "1:36 name: value has the wrong type"},
      {with_properties(R"({"name":"p"})"), "1:28 -: property has no type"},
      {with_properties(R"({"name":"p","type":"INT"})"), "1:47 type: unknown property type"},
      {with_properties(R"({"name":"p","type":"int","length":3})"), "1:53 length: unknown key"},
      {with_properties(R"({"name":"p","type":"int","max_length":3})"),
       "1:53 max_length: max_length is set on a property that is not a string"},
      {with_properties(R"({"name":"p","type":"string","max_length":0})"),
       "1:69 max_length: max_length is out of range"},
      {with_properties(R"({"name":"p","type":"string","max_length":736})"),
       "1:69 max_length: max_length is out of range"},
      {with_properties(R"({"name":"p","type":"string","max_length":1.5})"),
       "1:69 max_length: value has the wrong type"},
      {with_properties(R"({"name":"p","type":"int","each":1})"), "1:60 each: value has the wrong type"},
      {with_properties(p + R"(,{"name":"P","type":"uuid"})"), "1:62 name: property is named twice"},
      {with_properties(R"({"name":"a","type":"int","each":true},{"name":"b","type":"int","each":true})"),
       "1:91 each: more than one property has each"},
      {with_properties(p, R"(,"shard_on":"q")"), "1:66 shard_on: `shard_on` names no property of the index"},
      {with_properties(p, R"(,"shard_on":0)"), "1:66 shard_on: value has the wrong type"},
      {with_properties(R"({"name":"p","type":"double"})", R"(,"shard_on":"p")"),
       "1:69 shard_on: `shard_on` must name a uuid, string or int property"},
      {with_properties(R"({"name":"p","type":"bool"})", R"(,"shard_on":"p")"),
       "1:67 shard_on: `shard_on` must name a uuid, string or int property"},
      {with_properties(p, R"(,"where":[])"), "1:63 where: value has the wrong type"},
      {with_properties(p, R"(,"where":{"k":[]})"), "1:68 k: value is not a scalar"},
      {with_properties(p, R"(,"where":{"k":{}})"), "1:68 k: value is not a scalar"},
      {with_properties(p, R"(,"where":{"k":1,"":1})"), "1:70 -: invalid property path"},
      {with_properties(p, R"(,"where":{"a..b":1})"), "1:64 a..b: invalid property path"},
      {with_properties(p, R"(,"immutable":"yes")"), "1:67 immutable: value has the wrong type"},
      {with_properties(R"({"name":"p","type":"int","each":true})", R"(,"immutable":true)"),
       "1:67 immutable: immutable cannot be combined with each"},
      {with_properties(p, R"(,"shard_on":"p","unique":1)"), "1:79 unique: value has the wrong type"},
      {with_properties(p, R"(,"unique":true)"), "1:55 unique: unique needs shard_on"},
      {with_properties(p, R"(,"unique":false)"), "accepted"},
      {with_properties(R"({"name":"p","type":"int","each":true})", R"(,"shard_on":"p","unique":true)"), "accepted"},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    CHECK(complaint_about(expected.text) == expected.complaint);
  }
}

TEST_CASE("an index has 1 to 8 properties") {
  const auto properties = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += (i == 0 ? "" : ",") + (R"({"name":"p)" + std::to_string(i) + R"(","type":"bool"})");
    }
    return with_properties(list);
  };
  CHECK(complaint_about(properties(8)) == "accepted");
  CHECK(complaint_about(properties(9)) == "1:27 properties: number of properties is out of range");
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
