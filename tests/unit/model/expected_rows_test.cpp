// Which rows an entity calls for.
#include "model/expected_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace looseleaf;
using model::expected_rows;
using nlohmann::json;

namespace {

IndexDefinition definition_of(const std::string& properties, const std::string& rest = "") {
  return IndexDefinition::parse(R"({"table":"t","properties":[)" + properties + "]" + rest + "}", "test");
}

// The rows as JSON, one after another.
std::string rows_of(const IndexDefinition& definition, const std::string& entity) {
  std::string rows;
  for (const model::Row& row : expected_rows(definition, json::parse(entity))) {
    rows += model::to_json(row);
  }
  return rows;
}

// Each entity has these rows.
void check_rows(const IndexDefinition& definition, const std::vector<std::pair<const char*, std::string>>& cases) {
  for (const auto& [entity, rows] : cases) {
    CAPTURE(entity);
    CHECK(rows_of(definition, entity) == rows);
  }
}

constexpr const char* uuid_text = "\"f48b0440ca0c4d34b0f50123456789ab\"";

}  // namespace

TEST_CASE("an int is a literal without fraction or exponent in the BIGINT range") {
  check_rows(definition_of(R"({"name":"p","type":"int"})"),
             {
                 {R"({"p":7})", "[7]"},
                 {R"({"p":-0})", "[0]"},
                 {R"({"p":9223372036854775807})", "[9223372036854775807]"},
                 {R"({"p":-9223372036854775808})", "[-9223372036854775808]"},
                 {R"({"p":9223372036854775808})", ""},
                 {R"({"p":-9223372036854775809})", ""},
                 {R"({"p":18446744073709551616})", ""},
                 {R"({"p":7.0})", ""},
                 {R"({"p":7e0})", ""},
                 {R"({"p":"7"})", ""},
                 {R"({"p":true})", ""},
                 {R"({"p":null})", ""},
                 {R"({})", ""},
             });
}

TEST_CASE("a double is any number") {
  check_rows(definition_of(R"({"name":"p","type":"double"})"),
             {
                 {R"({"p":7})", "[7.0]"},
                 {R"({"p":-7})", "[-7.0]"},
                 {R"({"p":1.5e2})", "[150.0]"},
                 {R"({"p":-0.0})", "[0.0]"},
                 {R"({"p":-0})", "[0.0]"},
                 {R"({"p":18446744073709551615})", "[1.8446744073709552e+19]"},
                 {R"({"p":"7"})", ""},
                 {R"({"p":false})", ""},
             });
}

TEST_CASE("uuids, strings and bools take their own JSON type only") {
  const std::string row = std::string("[") + uuid_text + "]";
  check_rows(definition_of(R"({"name":"p","type":"uuid"})"), {{R"({"p":"F48B0440-CA0C-4D34-B0F5-0123456789AB"})", row},
                                                              {R"({"p":"f48b0440ca0c4d34b0f50123456789ab"})", row},
                                                              {R"({"p":"f48b"})", ""},
                                                              {R"({"p":7})", ""}});
  check_rows(definition_of(R"({"name":"p","type":"string"})"),
             {{R"({"p":"x"})", R"(["x"])"}, {R"({"p":""})", R"([""])"}, {R"({"p":7})", ""}, {R"({"p":["x"]})", ""}});
  check_rows(definition_of(R"({"name":"p","type":"bool"})"),
             {{R"({"p":true})", "[true]"}, {R"({"p":false})", "[false]"}, {R"({"p":1})", ""}, {R"({"p":"true"})", ""}});
}

TEST_CASE("a string is cut to its first code points") {
  check_rows(definition_of(R"({"name":"p","type":"string","max_length":2})"),
             {{R"({"p":"éßx"})", R"(["éß"])"}, {R"({"p":"ab"})", R"(["ab"])"}});
}

TEST_CASE("in a unique index a string that is too long has no row, and says so, while other elements have theirs") {
  const IndexDefinition one =
      definition_of(R"({"name":"p","type":"string","max_length":2})", R"(,"shard_on":"p","unique":true)");
  check_rows(one, {{R"({"p":"éßx"})", ""}, {R"({"p":"éß"})", R"(["éß"])"}});
  CHECK(describe(model::reason_for_no_row(one, json::parse(R"({"p":"éßx"})"))) ==
        "`p` is longer than `max_length` of a unique index");
  const IndexDefinition each =
      definition_of(R"({"name":"n","type":"int"},{"name":"p","type":"string","max_length":2,"each":true})",
                    R"(,"shard_on":"n","unique":true)");
  check_rows(each, {{R"({"n":1,"p":["abc","ab","b"]})", R"([1,"ab"][1,"b"])"}, {R"({"n":1,"p":["abc","abd"]})", ""}});
  CHECK(describe(model::reason_for_no_row(each, json::parse(R"({"n":1,"p":["abc","abd"]})"))) ==
        "`p` is longer than `max_length` of a unique index");
  CHECK(describe(model::reason_for_no_row(each, json::parse(R"({"p":["abc"]})"))) == "`n` is absent");
}

TEST_CASE("a dotted path walks through objects, not arrays") {
  check_rows(definition_of(R"({"name":"a.b.c","type":"int"})"), {{R"({"a":{"b":{"c":1}}})", "[1]"},
                                                                 {R"({"a":{"b":[{"c":1}]}})", ""},
                                                                 {R"({"a":{"b":1}})", ""},
                                                                 {R"({"a":{"b":{"c":{"d":1}}}})", ""},
                                                                 {R"({"a.b.c":1})", ""},
                                                                 {R"({"a":null})", ""}});
}

TEST_CASE("a compound index gives a row only if every property is there") {
  check_rows(
      definition_of(R"({"name":"a","type":"int"},{"name":"b","type":"string"})"),
      {{R"({"b":"x","a":1})", R"([1,"x"])"}, {R"({"a":1})", ""}, {R"({"a":1,"b":2})", ""}, {R"({"b":"x"})", ""}});
}

TEST_CASE("each gives one row per distinct stored value, sorted") {
  check_rows(definition_of(R"({"name":"tags","type":"string","max_length":3,"each":true})"),
             {{R"({"tags":["red","blue","red","blues"]})", R"(["blu"]["red"])"},
              {R"({"tags":["a",1,null,["b"],{"c":"d"},true,"e"]})", R"(["a"]["e"])"},
              {R"({"tags":[]})", ""},
              {R"({"tags":[[["a"]]]})", ""},
              {R"({"tags":"red"})", ""},
              {R"({"tags":null})", ""},
              {R"({})", ""}});
}

TEST_CASE("each follows its path before and inside the array") {
  check_rows(definition_of(R"({"name":"a.list.id.n","type":"int","each":true})"),
             {{R"({"a":{"list":[{"id":{"n":2}},{"id":{"n":1}},{"id":{"n":2}},{"id":3},{},4,null]}})", "[1][2]"},
              {R"({"a":[{"list":{"id":{"n":5}}}]})", "[5]"},
              {R"({"a":{"list":[{"id":[{"n":1}]}]}})", ""},
              {R"({"a":{"list":[1,2]}})", ""},
              {R"({"a":{"list":{"id":{"n":1}}}})", ""}});
}

TEST_CASE("each is combined with the other properties in their order") {
  check_rows(
      definition_of(R"({"name":"a","type":"int"},{"name":"t","type":"int","each":true},{"name":"b","type":"bool"})"),
      {{R"({"a":1,"t":[3,2,3],"b":true})", "[1,2,true][1,3,true]"},
       {R"({"a":1,"t":[3,2,3]})", ""},
       {R"({"t":[3],"b":true})", ""}});
}

TEST_CASE("doubles that differ in the sign of zero make one row") {
  const auto rows =
      expected_rows(definition_of(R"({"name":"t","type":"double","each":true})"), json::parse(R"({"t":[-0.0,0.0]})"));
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(std::signbit(std::get<double>(rows[0][0])));
}

TEST_CASE("strings sort by their bytes") {
  CHECK(rows_of(definition_of(R"({"name":"t","type":"string","each":true})"), R"({"t":["é","z","a","Z",""]})") ==
        R"([""]["Z"]["a"]["z"]["é"])");
}

TEST_CASE("where compares JSON values without coercion") {
  const std::vector<std::tuple<std::string, const char*, bool>> cases = {
      {R"({"k":1})", R"({"k":1})", true},        {R"({"k":1})", R"({"k":1.0})", true},
      {R"({"k":1})", R"({"k":"1"})", false},     {R"({"k":1})", R"({"k":true})", false},
      {R"({"k":-1})", R"({"k":-1})", true},      {R"({"k":-1})", R"({"k":18446744073709551615})", false},
      {R"({"k":1.0})", R"({"k":1e0})", true},    {R"({"k":1.0})", R"({"k":1})", true},
      {R"({"k":-0.0})", R"({"k":0.0})", true},   {R"({"k":"a"})", R"({"k":"a"})", true},
      {R"({"k":"a"})", R"({"k":"A"})", false},   {R"({"k":"a"})", R"({"k":["a"]})", false},
      {R"({"k":true})", R"({"k":true})", true},  {R"({"k":false})", R"({"k":true})", false},
      {R"({"k":false})", R"({"k":0})", false},   {R"({"k":null})", R"({"k":null})", true},
      {R"({"k":null})", R"({})", false},         {R"({"k.l":1})", R"({"k":{"l":1}})", true},
      {R"({"k":1,"m":2})", R"({"k":1})", false}, {R"({})", R"({})", true},
  };
  for (const auto& [where, text, matches] : cases) {
    CAPTURE(where);
    CAPTURE(text);
    const auto definition = definition_of(R"({"name":"p","type":"int"})", R"(,"where":)" + where);
    json entity = json::parse(text);
    CHECK(model::matches_where(definition, entity) == matches);
    entity["p"] = 1;
    CHECK(expected_rows(definition, entity).size() == (matches ? 1 : 0));
  }
}

TEST_CASE("an entity without a row says why: the first property without a value, and what is there instead") {
  const IndexDefinition definition = definition_of(
      R"({"name":"a.b","type":"int"},{"name":"tags.name","type":"string","each":true})", R"(,"where":{"kind":"post"})");
  const auto reason_of = [&](const std::string& members) {
    const json entity = json::parse(R"({"kind":"post")" + members + "}");
    REQUIRE(expected_rows(definition, entity).empty());
    return describe(model::reason_for_no_row(definition, entity));
  };
  const std::string a = R"(,"a":{"b":1})";
  CHECK(reason_of(R"(,"kind":"other")") == "it does not match `where`");
  CHECK(reason_of("") == "`a.b` is absent");
  CHECK(reason_of(R"(,"a":7)") == "`a.b` is absent");
  CHECK(reason_of(R"(,"a":null)") == "`a.b` is absent");
  CHECK(reason_of(R"(,"a":{"b":null})") == "`a.b` is null");
  CHECK(reason_of(R"(,"a":{"b":1.5})") == "`a.b` is not of type int");
  CHECK(reason_of(R"(,"a":{"b":{}})") == "`a.b` is not of type int");
  CHECK(reason_of(R"(,"a":{"b":[1]})") == "`a.b` is an array, and the definition has no `each`");
  CHECK(reason_of(R"(,"a":[{"b":1}])") == "`a.b` is an array, and the definition has no `each`");
  CHECK(reason_of(a) == "`tags.name` is absent");
  CHECK(reason_of(a + R"(,"tags":[])") == "`tags.name` is an empty array");
  CHECK(reason_of(a + R"(,"tags":[{"name":7},{}])") == "no element of `tags.name` is of type string");
  CHECK(reason_of(a + R"(,"tags":{"name":"x"})") == "`tags.name` is not an array, and the definition has `each`");
}
