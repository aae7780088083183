// A token holds a hash of the query it belongs to (8 bytes), the row's values from the first property of the order on,
// and the entity's id. If the order goes across values, a hash of the values follows the first one.
#include "read/page_token.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <looseleaf/error.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "base/token.hpp"
#include "read/query_plan.hpp"

namespace looseleaf::read {
namespace {

using base::append_number;

constexpr std::size_t id_size = 16;

std::string written(const Condition& condition) {
  return fmt::format("{}:{}{}{}{}:{};", condition.property.size(), condition.property, condition.each ? "[]" : "",
                     static_cast<int>(condition.op), condition.value.size(), condition.value);
}

// Returns a hash of the query. It is equal for two queries if one can continue where the other ended, except for the
// values that digest_of_values() covers.
std::uint64_t identity_of(const IndexDefinition& definition, const Query& query) {
  std::string text = definition.fingerprint() + (query.descending ? "desc" : "asc") + query.order_by;
  for (const auto* conditions : {&query.conditions, &query.where}) {
    text += '\n';
    for (const Condition& condition : *conditions) {
      const bool is_in_digest =
          !query.order_by.empty() && conditions == &query.conditions && condition.op == Operator::equal;
      text += is_in_digest ? "" : written(condition);
    }
  }
  return base::fnv1a(text);
}

// With Query::order_by, the values have a digest of their own, because they may come from a list that changes between
// two pages: an error can say so then. Their order does not matter.
std::uint64_t digest_of_values(const Query& query) {
  std::set<std::string> values;
  for (const Condition& condition : query.conditions) {
    if (condition.op == Operator::equal) {
      values.insert(written(condition));
    }
  }
  return base::fnv1a(fmt::format("{}", fmt::join(values, "")));
}

struct AppendValue {
  std::string& bytes;

  void operator()(const Uuid& id) const { bytes.append(id.bytes.begin(), id.bytes.end()); }
  void operator()(const std::string& text) const {
    append_number(bytes, text.size());
    bytes += text;
  }
  void operator()(std::int64_t number) const { append_number(bytes, static_cast<std::uint64_t>(number)); }
  void operator()(double number) const { append_number(bytes, std::bit_cast<std::uint64_t>(number)); }
  void operator()(bool value) const { append_number(bytes, value ? 1 : 0); }
};

[[noreturn]] void fail(const char* what, const char* hint =
                                             "use the `next` of the previous page with the same index, "
                                             "conditions and order") {
  throw Error(ErrorCode::usage, what, {}, hint);
}

// Reads a value of a type; absent if the bytes are none.
std::optional<model::Value> read_value(base::ByteReader& reader, PropertyType type) {
  switch (type) {
    case PropertyType::uuid:
      return Uuid::from_bytes(reader.take(id_size));
    case PropertyType::string: {
      const std::string_view text = reader.take(reader.number());
      return base::is_utf8(text) ? std::optional<model::Value>(std::string(text)) : std::nullopt;
    }
    case PropertyType::integer:
      return static_cast<std::int64_t>(reader.number());
    case PropertyType::real: {
      const auto real = std::bit_cast<double>(reader.number());
      return std::isfinite(real) ? std::optional<model::Value>(real) : std::nullopt;
    }
    case PropertyType::boolean:
      return reader.number() != 0;
  }
  return std::nullopt;
}

}  // namespace

std::string make_token(const IndexDefinition& definition, const Query& query, const shard::IndexEntry& last) {
  std::string bytes;
  append_number(bytes, identity_of(definition, query));
  if (!query.order_by.empty()) {
    append_number(bytes, digest_of_values(query));
  }
  for (std::size_t i = order_position(definition, query); i < last.values.size(); ++i) {
    std::visit(AppendValue{bytes}, last.values[i]);
  }
  AppendValue{bytes}(last.entity_id);
  return base::to_token(bytes);
}

shard::IndexEntry parse_token(const IndexDefinition& definition, const Query& query, const std::string& token) {
  const auto bytes = base::from_token(token);
  if (!bytes) {
    fail("invalid page token");
  }
  base::ByteReader reader(*bytes);
  if (reader.number() != identity_of(definition, query)) {
    fail("the page token belongs to another query, or to another definition of the index");
  }
  if (!query.order_by.empty() && reader.number() != digest_of_values(query)) {
    fail("the page token belongs to other values of the conditions",
         "give the same values for every page, or begin again without a token");
  }
  shard::IndexEntry last;
  last.values.resize(order_position(definition, query));  // no order depends on them
  for (std::size_t i = last.values.size(); i < definition.properties.size(); ++i) {
    auto value = read_value(reader, definition.properties[i].type);
    if (!value) {
      fail("invalid page token");
    }
    last.values.push_back(*std::move(value));
  }
  const auto id = Uuid::from_bytes(reader.take(id_size));
  if (!id || !reader.complete()) {
    fail("invalid page token");
  }
  last.entity_id = *id;
  return last;
}

}  // namespace looseleaf::read
