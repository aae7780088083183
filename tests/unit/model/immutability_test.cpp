// Which changes of an entity an index with `immutable` allows.
#include "model/immutability.hpp"

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

using namespace looseleaf;

TEST_CASE("an immutable property may appear but not change") {
  const IndexDefinition definition = IndexDefinition::parse(
      R"({"table":"t","properties":[{"name":"a","type":"string","max_length":2},{"name":"b","type":"double"}],
          "where":{"k":1},"immutable":true})",
      "test");
  const std::vector<std::tuple<const char*, const char*, bool>> cases = {
      {R"({"k":1})", R"({"k":1,"a":"x","b":1})", true},
      {R"({"k":1,"a":"x"})", R"({"k":1,"a":"x","b":1})", true},
      {R"({"k":1,"a":"x","b":1})", R"({"k":1,"a":"x","b":1.0,"c":2})", true},
      {R"({"k":1,"a":"x","b":1})", R"({"k":1,"a":"y","b":1})", false},
      {R"({"k":1,"a":"x","b":1})", R"({"k":1,"a":"x"})", false},
      {R"({"k":1,"a":"x","b":1})", R"({"k":1,"a":null,"b":1})", false},
      {R"({"k":1,"a":"x","b":1})", R"({"a":"x","b":1})", false},
      {R"({"k":1,"a":"abc","b":1})", R"({"k":1,"a":"abd","b":1})", false},
      {R"({"k":1,"a":"x"})", R"({"k":1,"a":"y"})", false},
      {R"({"k":1,"a":"x"})", R"({"k":2,"a":"x"})", true},
      {R"({"k":1,"a":5})", R"({"k":1,"a":"x"})", true},
      {R"({"k":2,"a":"x","b":1})", R"({"k":1,"a":"y","b":2})", true},
  };
  for (const auto& [from, to, allowed] : cases) {
    CAPTURE(from);
    CAPTURE(to);
    const model::ParsedEntity before(from), after(to);
    CHECK(model::change_allowed(definition, before, after) == allowed);
    IndexDefinition free = definition;
    free.immutable = false;
    CHECK(model::change_allowed(free, before, after));
  }
}
