// Page tokens.
#include "read/page_token.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <looseleaf/error.hpp>

namespace looseleaf::read {
namespace {

IndexDefinition all_types() {
  return IndexDefinition::parse(R"({"table": "t", "properties": [
    {"name": "u", "type": "uuid"}, {"name": "s", "type": "string"}, {"name": "i", "type": "int"},
    {"name": "d", "type": "double"}, {"name": "b", "type": "bool"}]})",
                                "test");
}

shard::IndexEntry entry(std::string text, std::int64_t whole, double number, bool truth) {
  return {{Uuid::parse("000102030405060708090a0b0c0d0e0f").value(), std::move(text), whole, number, truth},
          Uuid::parse("ff0102030405060708090a0b0c0d0e0f").value()};
}

Query query_of(const char* value) {
  Query query;
  query.index = "t";
  query.conditions = {{"s", Operator::equal, value}};
  return query;
}

bool is_refused(const IndexDefinition& definition, const Query& query, const std::string& token) {
  try {
    static_cast<void>(parse_token(definition, query, token));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.hint() == "use the `next` of the previous page with the same index, conditions and order");
    return true;
  }
  return false;
}

TEST_CASE("a token gives back the row that it was made from, whatever its values") {
  const IndexDefinition definition = all_types();
  constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const auto& row :
       {entry("", 0, 0.0, false), entry("x", least, -0.0, true), entry(std::string(3, '\0'), most, 5e-324, true),
        entry(std::string(100'000, 'y'), -1, -1.7976931348623157e308, false)}) {
    const shard::IndexEntry back = parse_token(definition, query_of("x"), make_token(definition, query_of("x"), row));
    CHECK(back == row);
    CHECK(std::signbit(std::get<double>(back.values[3])) == std::signbit(std::get<double>(row.values[3])));
  }
}

TEST_CASE("a token is refused by a query with another definition, condition, filter or order") {
  const IndexDefinition definition = all_types();
  const Query query = query_of("x");
  const std::string token = make_token(definition, query, entry("x", 1, 1.5, true));
  IndexDefinition other = definition;
  other.properties[1].max_length = 10;
  CHECK(is_refused(other, query, token));
  CHECK(is_refused(definition, query_of("y"), token));
  Query descending = query;
  descending.descending = true;
  CHECK(is_refused(definition, descending, token));
  Query filtered = query;
  filtered.where = {{"s", Operator::equal, "x"}};
  CHECK(is_refused(definition, filtered, token));
  CHECK_FALSE(is_refused(definition, query, token));
}

TEST_CASE("a token of one order across values has the place, and none of the values before it") {
  const IndexDefinition definition = all_types();
  Query query = query_of("a secret");
  query.order_by = "i";
  const std::string token = make_token(definition, query, entry("a secret", 7, 1.5, true));
  CHECK(token.size() < 100);
  const shard::IndexEntry back = parse_token(definition, query, token);
  const shard::IndexEntry other =
      parse_token(definition, query, make_token(definition, query, entry("other", 7, 1.5, true)));
  CHECK(back == other);
  CHECK(std::get<std::int64_t>(back.values[2]) == 7);
}

TEST_CASE("a token with any character changed or cut off is refused") {
  const IndexDefinition definition = all_types();
  const Query query = query_of("x");
  const std::string token = make_token(definition, query, entry("some text", 7, 1.5, true));
  for (std::size_t at = 0; at < token.size(); ++at) {
    CAPTURE(at);
    std::string changed = token;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    CHECK(is_refused(definition, query, changed));
    CHECK(is_refused(definition, query, token.substr(0, at)));
  }
  CHECK(is_refused(definition, query, token + "AAAA"));
}

}  // namespace
}  // namespace looseleaf::read
