// A token holds a hash of the query it belongs to (8 bytes), the row's values and the entity's id.
#include "read/page_token.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <looseleaf/error.hpp>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "base/token.hpp"

namespace looseleaf::read {
namespace {

using base::append_number;

constexpr std::size_t id_size = 16;

// Returns a hash of the query. It is equal for two queries if one can continue where the other ended.
std::uint64_t identity_of(const IndexDefinition& definition, const Query& query) {
  std::string text = definition.fingerprint() + (query.descending ? "desc" : "asc");
  for (const auto* conditions : {&query.conditions, &query.where}) {
    text += '\n';
    for (const Condition& condition : *conditions) {
      text += fmt::format("{}:{}{}{}{}:{};", condition.property.size(), condition.property, condition.each ? "[]" : "",
                          static_cast<int>(condition.op), condition.value.size(), condition.value);
    }
  }
  return base::fnv1a(text);
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

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::usage, what, {},
              "use the `next` of the previous page with the same index, conditions and order");
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
  for (const model::Value& value : last.values) {
    std::visit(AppendValue{bytes}, value);
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
  shard::IndexEntry last;
  for (const Property& property : definition.properties) {
    auto value = read_value(reader, property.type);
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
