// Filters: what they say while more entities may come, and what in the end.
#include "model/filter.hpp"

#include <doctest/doctest.h>

#include <looseleaf/query.hpp>
#include <string>
#include <vector>

#include "base/warnings.hpp"
#include "model/parsed_entity.hpp"

using namespace looseleaf;
using model::Filter;

namespace {

std::vector<std::string> warnings_of(const Filter& filter, Filter::Reading reading) {
  std::vector<std::string> given;
  base::Warnings warnings([&](const Warning& warning) { given.push_back(warning.what); });
  filter.warn_of_mistakes(warnings, reading);
  return given;
}

void read_others(const Filter& filter, int entities) {
  const model::ParsedEntity other(R"({"id":"5c1e7a2a83a94d2a9f3d1c0b7e6f5a49","n":1})");
  for (int i = 0; i < entities; ++i) {
    CHECK_FALSE(filter.matches(other));
  }
}

}  // namespace

TEST_CASE("the one entity that a filter waits for may still come, so its absence is no mistake before the end") {
  const Filter filter({Condition::parse("id=5c1e7a2a83a94d2a9f3d1c0b7e6f5a48")});
  read_others(filter, 2000);
  CHECK(warnings_of(filter, Filter::Reading::goes_on).empty());
  CHECK(warnings_of(filter, Filter::Reading::ended) ==
        std::vector<std::string>{"a filter compares the text of an id, and no entity that was read has this text"});
}

TEST_CASE(
    "a property that many entities lack is probably a mistake even while more may come, but not one that a few lack") {
  const std::vector<std::string> lacking = {"no entity that was read has the property that a filter names"};
  const Filter filter({Condition::parse("m=1")});
  read_others(filter, 10);
  CHECK(warnings_of(filter, Filter::Reading::goes_on).empty());
  CHECK(warnings_of(filter, Filter::Reading::ended) == lacking);
  read_others(filter, 1000);
  CHECK(warnings_of(filter, Filter::Reading::goes_on) == lacking);
}
