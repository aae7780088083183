// Reads and writes rows of index tables.
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
#include "sql/database.hpp"

namespace looseleaf::shard {

inline constexpr std::size_t no_limit = 1'000'000'000'000;

// Entries compare in the order of the table's primary key.
struct IndexEntry {
  model::Row values;
  Uuid entity_id;

  auto operator<=>(const IndexEntry&) const = default;
  bool operator==(const IndexEntry&) const = default;
};

// Returns a property's value as an SQL literal.
[[nodiscard]] std::string value_literal(const model::Value& value);
void add_value(sql::Statement& statement, const model::Value& value);
// Returns the quoted column names in key order, without entity_id.
[[nodiscard]] std::vector<std::string> column_names(const IndexDefinition& definition);
// Parses a cell that a query returned for a column of the property.
[[nodiscard]] model::Value parse_cell(const Property& property, const std::string& cell);

// Converts the rows of a SELECT of column_names() and entity_id to entries.
[[nodiscard]] std::vector<IndexEntry> to_entries(const IndexDefinition& definition, const sql::Result& result);

// Inserts the absent rows and does not change existing ones. Runs in strict mode, so a value that does not fit is an
// error and is not truncated. Returns the number of new rows. Entries should be sorted.
std::uint64_t insert_entries(const sql::Database& database, const IndexDefinition& definition,
                             std::span<const IndexEntry> entries);
// Returns the rows that have the values of these entries, of whichever entity.
[[nodiscard]] std::vector<IndexEntry> read_entries_with_values(const sql::Database& database,
                                                               const IndexDefinition& definition,
                                                               std::span<const IndexEntry> entries);
// Deletes exactly these rows and ignores absent ones.
void delete_entries(const sql::Database& database, const IndexDefinition& definition,
                    std::span<const IndexEntry> entries);

// Returns up to `limit` rows of at most max_ids entities, in no order.
[[nodiscard]] std::vector<IndexEntry> read_entries(const sql::Database& database, const IndexDefinition& definition,
                                                   std::span<const Uuid> ids, std::size_t limit = no_limit);

// Returns up to `limit` rows of the entities in the range, in order of (entity_id, values). Starts after `after` if it
// is given.
[[nodiscard]] std::vector<IndexEntry> read_entries_in(const sql::Database& database, const IndexDefinition& definition,
                                                      const IdRange& range, const std::optional<IndexEntry>& after,
                                                      std::size_t limit);

// See nth_id().
[[nodiscard]] std::optional<Uuid> entity_id_after(const sql::Database& database, const IndexDefinition& definition,
                                                  const IdRange& range, std::size_t skip);

// Returns the server's estimate of the number of rows of the entities in the range.
[[nodiscard]] std::uint64_t estimate_entries(const sql::Database& database, const IndexDefinition& definition,
                                             const IdRange& range);

// Returns "(a > 1 OR (a = 1 AND (b > 2 …)))" for the given columns and values. This is the condition for rows after
// (or before) a key.
[[nodiscard]] std::string beyond(std::span<const std::string> columns, std::span<const std::string> literals,
                                 const char* comparison);

}  // namespace looseleaf::shard
