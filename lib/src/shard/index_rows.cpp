// Reads and writes rows of index tables.
#include "shard/index_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "shard/statements.hpp"
#include "sql/errors.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t tuples_at_once = 500;

void append_values(std::string& out, const IndexEntry& entry) {
  const char* separator = "";
  for (const model::Value& value : entry.values) {
    out += separator;
    if (const auto* const uuid = std::get_if<Uuid>(&value)) {
      append_id_literal(out, *uuid);
    } else {
      out += value_literal(value);
    }
    separator = ", ";
  }
}

void append_entry(std::string& out, const IndexEntry& entry) {
  append_values(out, entry);
  out += ", ";
  append_id_literal(out, entry.entity_id);
}

std::string select_columns(const sql::Database& database, const IndexDefinition& definition) {
  return fmt::format("SELECT {}, entity_id FROM {} ", fmt::join(column_names(definition), ", "),
                     database.table(definition.table));
}

template <typename Number>
Number parse_number(const std::string& cell) {
  Number number{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    throw Error(ErrorCode::corrupt, "an index row has a value that is not a number", {{"value", cell}});
  }
  return number;
}

}  // namespace

std::vector<IndexEntry> to_entries(const IndexDefinition& definition, const sql::Result& result) {
  std::vector<IndexEntry> entries;
  entries.reserve(result.size());
  const std::size_t width = definition.properties.size();
  for (std::size_t i = 0; i < result.size(); ++i) {
    IndexEntry entry;
    entry.values.reserve(width);
    for (std::size_t column = 0; column < width; ++column) {
      entry.values.push_back(parse_cell(definition.properties[column], result.text(i, column)));
    }
    entry.entity_id = require_uuid(result.text(i, width));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string value_literal(const model::Value& value) {
  struct Visitor {
    std::string operator()(const Uuid& uuid) const { return id_literal(uuid); }
    std::string operator()(const std::string& text) const { return sql::text_literal(text); }
    std::string operator()(std::int64_t number) const { return sql::integer_literal(number); }
    std::string operator()(double number) const { return sql::double_literal(number); }
    std::string operator()(bool flag) const { return flag ? "1" : "0"; }
  };
  return std::visit(Visitor{}, value);
}

void add_value(sql::Statement& statement, const model::Value& value) {
  struct Visitor {
    sql::Statement& statement;
    void operator()(const Uuid& uuid) const { statement.add_bytes(bytes_of(uuid)); }
    void operator()(const std::string& text) const { statement.add_text(text); }
    void operator()(std::int64_t number) const { statement.add_integer(number); }
    void operator()(double number) const { statement.add_double(number); }
    void operator()(bool flag) const { statement.add_integer(flag ? 1 : 0); }
  };
  std::visit(Visitor{statement}, value);
}

std::vector<std::string> column_names(const IndexDefinition& definition) {
  std::vector<std::string> names;
  for (const Property& property : definition.properties) {
    names.push_back(sql::quote_identifier(property.name));
  }
  return names;
}

model::Value parse_cell(const Property& property, const std::string& cell) {
  switch (property.type) {
    case PropertyType::uuid:
      return require_uuid(cell);
    case PropertyType::string:
      return cell;
    case PropertyType::integer:
      return parse_number<std::int64_t>(cell);
    case PropertyType::real: {
      const double number = parse_number<double>(cell);
      return number == 0 ? 0.0 : number;  // MySQL prints -0 and MariaDB does not
    }
    case PropertyType::boolean:
      return parse_number<std::int64_t>(cell) != 0;
  }
  throw Error(ErrorCode::corrupt, "a property has no type", {{"property", property.name}});
}

std::uint64_t insert_entries(const sql::Database& database, const IndexDefinition& definition,
                             std::span<const IndexEntry> entries) {
  const std::string prefix = fmt::format("INSERT INTO {} ({}, entity_id) VALUES ", database.table(definition.table),
                                         fmt::join(column_names(definition), ", "));
  MultiRow statement(database, prefix, " ON DUPLICATE KEY UPDATE entity_id = entity_id");
  for (const IndexEntry& entry : entries) {
    statement.add([&](std::string& out) { append_entry(out, entry); });
  }
  if (entries.empty() || database->changes_are_counted()) {
    return statement.finish();
  }
  // A proxy may have set CLIENT_FOUND_ROWS on its own connections. Then a row that is there already counts as well, and
  // nobody would notice it. So once in a session, the first row comes twice.
  statement.add([&](std::string& out) { append_entry(out, entries.front()); });
  const std::uint64_t counted = statement.finish();
  if (counted > entries.size()) {
    throw sql::ServerError(sql::ErrorClass::permanent, 0, ErrorCode::server,
                           "the connection counts rows that did not change", {},
                           "let the proxy connect without CLIENT_FOUND_ROWS (ProxySQL: mysql-client_found_rows=false)");
  }
  database->note_changes_are_counted();
  return counted;
}

std::vector<IndexEntry> read_entries_with_values(const sql::Database& database, const IndexDefinition& definition,
                                                 std::span<const IndexEntry> entries) {
  std::vector<IndexEntry> found;
  for (std::size_t from = 0; from < entries.size(); from += tuples_at_once) {
    std::string rows;
    for (const IndexEntry& entry : entries.subspan(from, std::min(tuples_at_once, entries.size() - from))) {
      rows += rows.empty() ? "(" : ", (";
      append_values(rows, entry);
      rows += ')';
    }
    auto some = to_entries(definition, database->query(fmt::format("{}FORCE INDEX (PRIMARY) WHERE ({}) IN ({})",
                                                                   select_columns(database, definition),
                                                                   fmt::join(column_names(definition), ", "), rows)));
    std::move(some.begin(), some.end(), std::back_inserter(found));
  }
  return found;
}

void delete_entries(const sql::Database& database, const IndexDefinition& definition,
                    std::span<const IndexEntry> entries) {
  const std::string columns = fmt::format("{}", fmt::join(column_names(definition), ", "));
  const std::string table = database.table(definition.table);
  for (std::size_t from = 0; from < entries.size(); from += tuples_at_once) {
    std::string rows;
    for (const IndexEntry& entry : entries.subspan(from, std::min(tuples_at_once, entries.size() - from))) {
      rows += rows.empty() ? "(" : ", (";
      append_entry(rows, entry);
      rows += ')';
    }
    // The whole primary key ensures that the statement touches only these rows. MySQL would scan the table for a list
    // that it looks up by a part of a key.
    database->execute(
        fmt::format("DELETE r FROM {0} r FORCE INDEX (PRIMARY) WHERE ({1}, entity_id) IN ({2})", table, columns, rows));
  }
}

std::vector<IndexEntry> read_entries(const sql::Database& database, const IndexDefinition& definition,
                                     std::span<const Uuid> ids, std::size_t limit) {
  if (ids.empty()) {
    return {};
  }
  return to_entries(definition,
                    database->query(fmt::format("{}WHERE entity_id IN ({}) LIMIT {}",
                                                select_columns(database, definition), id_list(ids), limit)));
}

std::vector<IndexEntry> read_entries_in(const sql::Database& database, const IndexDefinition& definition,
                                        const IdRange& range, const std::optional<IndexEntry>& after,
                                        std::size_t limit) {
  std::vector<std::string> columns = column_names(definition);
  columns.insert(columns.begin(), "entity_id");
  // With the first bound the server starts at the right place in the entity_id key.
  std::string where = where_in("entity_id", {after ? after->entity_id : range.from, range.until});
  if (after) {
    std::vector<std::string> literals = {id_literal(after->entity_id)};
    for (const model::Value& value : after->values) {
      literals.push_back(value_literal(value));
    }
    where += " AND " + beyond(columns, literals, ">");
  }
  return to_entries(definition, database->query(fmt::format("{}FORCE INDEX (entity_id){} ORDER BY {} LIMIT {}",
                                                            select_columns(database, definition), where,
                                                            fmt::join(columns, ", "), limit)));
}

std::optional<Uuid> entity_id_after(const sql::Database& database, const IndexDefinition& definition,
                                    const IdRange& range, std::size_t skip) {
  return nth_id(database, definition.table, "entity_id", range, skip);
}

std::uint64_t estimate_entries(const sql::Database& database, const IndexDefinition& definition, const IdRange& range) {
  const bool mariadb = database->facts().flavour == sql::Flavour::mariadb;
  const std::size_t rows_column = mariadb ? 8 : 9;
  // Without FORCE INDEX, because MySQL would not estimate the number of rows with it.
  const sql::Result plan =
      database->query(fmt::format("EXPLAIN {}SELECT entity_id FROM {}{}", mariadb ? "" : "FORMAT=TRADITIONAL ",
                                  database.table(definition.table), where_in("entity_id", range)));
  // If there is no plan, there are no rows.
  return plan.cell(0, rows_column) ? plan.unsigned_integer(0, rows_column) : 0;
}

std::string beyond(std::span<const std::string> columns, std::span<const std::string> literals,
                   const char* comparison) {
  std::string out = fmt::format("{} {} {}", columns.back(), comparison, literals.back());
  for (std::size_t i = columns.size() - 1; i-- > 0;) {
    out = fmt::format("({0} {1} {2} OR ({0} = {2} AND {3}))", columns[i], comparison, literals[i], out);
  }
  return out;
}

}  // namespace looseleaf::shard
