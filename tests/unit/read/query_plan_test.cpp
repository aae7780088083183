// Which rows of an entity a query finds.
#include "read/query_plan.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <looseleaf/query.hpp>
#include <string>
#include <vector>

namespace looseleaf::read {
namespace {

const IndexDefinition& by_tag() {
  static const IndexDefinition definition = IndexDefinition::parse(
      R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string", "max_length": 3, "each": true},
                                            {"name": "n", "type": "int"}]})",
      "test");
  return definition;
}

// The tags of the rows that match.
std::vector<std::string> matching(const std::string& entity, const std::vector<std::string>& conditions) {
  Query query;
  query.index = "by_tag";
  for (const std::string& condition : conditions) {
    query.conditions.push_back(Condition::parse(condition));
  }
  std::vector<std::string> tags;
  for (const model::Row& row : QueryPlan(by_tag(), query).matching_rows(model::ParsedEntity(entity))) {
    tags.push_back(std::get<std::string>(row.front()));
  }
  return tags;
}

TEST_CASE("conditions hold for the uncut value of a row that has only the beginning of it") {
  const std::string entity = R"({"n": 1, "tags": ["ab", "abc", "abcd", "xyz1", "xyz2"]})";
  using Tags = std::vector<std::string>;
  CHECK(matching(entity, {}) == Tags{"ab", "abc", "xyz"});
  CHECK(matching(entity, {"tags=ab"}) == Tags{"ab"});
  CHECK(matching(entity, {"tags=abc"}) == Tags{"abc"});
  CHECK(matching(entity, {"tags=abcd"}) == Tags{"abc"});
  CHECK(matching(entity, {"tags=abce"}).empty());
  CHECK(matching(entity, {"tags=xyz"}).empty());
  CHECK(matching(entity, {"tags>xyz1"}) == Tags{"xyz"});
  CHECK(matching(entity, {"tags>xyz2"}).empty());
  CHECK(matching(entity, {"tags>xyz1", "tags<xyz2"}).empty());
  CHECK(matching(entity, {"tags^=xyz2"}) == Tags{"xyz"});
  CHECK(matching(entity, {"tags=xyz2", "tags=ab", "n=1"}) == Tags{"ab", "xyz"});
  CHECK(matching(entity, {"tags=xyz2", "n=2"}).empty());
}

// The time was quadratic in the number of elements: for each row, all elements were copied twice.
TEST_CASE("an entity with many elements that are as long as max_length is matched in a moment") {
  constexpr int count = 20'000;
  const IndexDefinition definition = IndexDefinition::parse(
      R"({"table": "t", "properties": [{"name": "tags", "type": "string", "max_length": 10, "each": true}]})", "test");
  std::vector<std::string> tags;
  for (int i = 0; i < count; ++i) {
    tags.push_back(fmt::format("\"{:010}\"", i));
  }
  const model::ParsedEntity entity(fmt::format(R"({{"tags": [{}]}})", fmt::join(tags, ",")));
  Query query;
  for (const bool is_bounded : {false, true}) {
    if (is_bounded) {
      query.conditions.push_back(Condition::parse("tags>=0"));
    }
    const std::clock_t start = std::clock();  // of the processor: others may have it meanwhile
    CHECK(QueryPlan(definition, query).matching_rows(entity).size() == count);
    CHECK(std::clock() - start < 3 * CLOCKS_PER_SEC);
  }
}

}  // namespace
}  // namespace looseleaf::read
