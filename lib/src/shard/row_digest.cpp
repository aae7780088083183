// A digest of index rows that the client and the servers compute in the same way.
#include "shard/row_digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codec/crc32.hpp"
#include "shard/statements.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

// Appends a value in such a way that its end is unambiguous.
struct AppendValue {
  std::string& text;

  void operator()(const Uuid& uuid) const { text += bytes_of(uuid); }
  void operator()(const std::string& string) const {
    fmt::format_to(std::back_inserter(text), "{}:", string.size());
    text += string;
  }
  void operator()(std::int64_t number) const { fmt::format_to(std::back_inserter(text), "{},", number); }
  void operator()(double number) const { fmt::format_to(std::back_inserter(text), "{},", number); }
  void operator()(bool flag) const { text += flag ? "1," : "0,"; }
};

// Returns the SQL expression for the same text.
std::string value_text(const Property& property) {
  const std::string column = sql::quote_identifier(property.name);
  switch (property.type) {
    case PropertyType::uuid:
      return column;
    case PropertyType::string:
      return fmt::format("LENGTH({0}), ':', {0}", column);
    default:
      return fmt::format("{}, ','", column);
  }
}

}  // namespace

std::uint64_t RowMixer::mix(const model::Row& values, const Uuid& entity_id) {
  text_.clear();
  for (const model::Value& value : values) {
    std::visit(AppendValue{text_}, value);
  }
  text_ += bytes_of(entity_id);
  reversed_.assign(text_.rbegin(), text_.rend());
  return std::uint64_t{codec::crc32(text_)} * codec::crc32(reversed_);
}

bool servers_can_digest(const IndexDefinition& definition) {
  return std::none_of(definition.properties.begin(), definition.properties.end(),
                      [](const Property& property) { return property.type == PropertyType::real; });
}

RowDigest digest_entries(const sql::Database& database, const IndexDefinition& definition, const IdRange& range) {
  std::string text;
  for (const Property& property : definition.properties) {
    text += value_text(property) + ", ";
  }
  // The binary entity_id makes the whole text binary, so that REVERSE() reverses bytes and not characters.
  const sql::Result result = database->query(
      fmt::format("SELECT COUNT(*), BIT_XOR(CRC32(CONCAT({0}entity_id)) * CRC32(REVERSE(CONCAT({0}entity_id)))) "
                  "FROM {1} FORCE INDEX (entity_id){2}",
                  text, database.table(definition.table), where_in("entity_id", range)));
  return {result.unsigned_integer(0, 0), result.unsigned_integer(0, 1)};
}

}  // namespace looseleaf::shard
