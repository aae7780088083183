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

std::vector<RowDigest> digest_entries(server::Lease& lease, std::span<const std::uint32_t> shards,
                                      const IndexDefinition& definition, const IdRange& range) {
  std::string text;
  for (const Property& property : definition.properties) {
    text += value_text(property) + ", ";
  }
  std::string sql;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    // The binary entity_id makes the whole text binary, so that REVERSE() reverses bytes and not characters.
    fmt::format_to(std::back_inserter(sql),
                   "{0}SELECT {1}, COUNT(*), BIT_XOR(CRC32(CONCAT({2}entity_id)) * "
                   "CRC32(REVERSE(CONCAT({2}entity_id)))) FROM {3} FORCE INDEX (entity_id){4}",
                   i == 0 ? "" : " UNION ALL ", i, text, lease.on(shards[i]).table(definition.table),
                   where_in("entity_id", range));
  }
  const sql::Result result = lease->query(sql);
  std::vector<RowDigest> digests(shards.size());
  for (std::size_t row = 0; row < result.size(); ++row) {
    digests.at(result.unsigned_integer(row, 0)) = {result.unsigned_integer(row, 1), result.unsigned_integer(row, 2)};
  }
  return digests;
}

}  // namespace looseleaf::shard
