// Rows of index tables.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/value.hpp"
#include "shard/statements.hpp"
#include "sql/connection.hpp"

namespace looseleaf::shard {

inline constexpr std::size_t no_limit = 1'000'000'000'000;

// In the order of the table's primary key.
struct IndexEntry {
  model::Row values;
  Uuid entity_id;

  auto operator<=>(const IndexEntry&) const = default;
  bool operator==(const IndexEntry&) const = default;
};

// The server's name for a value of a property, as SQL.
[[nodiscard]] std::string value_literal(const model::Value& value);
void add_value(sql::Statement& statement, const model::Value& value);
// The quoted column names, in key order, without entity_id.
[[nodiscard]] std::vector<std::string> column_names(const IndexDefinition& definition);
// A value as a query returns it in a column of the property.
[[nodiscard]] model::Value parse_cell(const Property& property, const std::string& cell);

// Entries from the rows of a SELECT of column_names() and entity_id.
[[nodiscard]] std::vector<IndexEntry> to_entries(const IndexDefinition& definition, const sql::Result& result);

// Inserts what is absent and changes nothing that is there (strict: a value that does not fit is an error, not cut).
// Returns how many rows were new. Entries should be sorted.
std::uint64_t insert_entries(sql::Connection& connection, const IndexDefinition& definition,
                             std::span<const IndexEntry> entries);
// Deletes exactly these rows; those that are absent are ignored.
void delete_entries(sql::Connection& connection, const IndexDefinition& definition,
                    std::span<const IndexEntry> entries);

// The rows of at most max_ids entities, in no order; up to `limit` of them.
[[nodiscard]] std::vector<IndexEntry> read_entries(sql::Connection& connection, const IndexDefinition& definition,
                                                   std::span<const Uuid> ids, std::size_t limit = no_limit);

// Up to `limit` rows of entities in the range, in order of (entity_id, values), from after `after`.
[[nodiscard]] std::vector<IndexEntry> read_entries_in(sql::Connection& connection, const IndexDefinition& definition,
                                                      const IdRange& range, const std::optional<IndexEntry>& after,
                                                      std::size_t limit);

// See nth_id().
[[nodiscard]] std::optional<Uuid> entity_id_after(sql::Connection& connection, const IndexDefinition& definition,
                                                  const IdRange& range, std::size_t skip);

// The server's estimate of how many rows of entities in the range there are.
[[nodiscard]] std::uint64_t estimate_entries(sql::Connection& connection, const IndexDefinition& definition,
                                             const IdRange& range);

// "(a > 1 OR (a = 1 AND (b > 2 …)))" for the columns and values given: what comes after (or before) a key.
[[nodiscard]] std::string beyond(std::span<const std::string> columns, std::span<const std::string> literals,
                                 const char* comparison);

}  // namespace looseleaf::shard
