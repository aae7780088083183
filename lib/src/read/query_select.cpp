// The SELECTs of a query.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <looseleaf/jobs.hpp>
#include <looseleaf/status.hpp>

#include "base/text.hpp"
#include "read/query_plan.hpp"
#include "shard/statements.hpp"
#include "sql/literals.hpp"

namespace looseleaf::read {
namespace {

// Qualifies a column of the index table, because the catalog may have a column of the same name.
std::string qualified(const std::string& quoted_column) {
  return "r." + quoted_column;
}

const char* comparison(Operator op, bool cut, bool full) {
  switch (op) {
    case Operator::equal:
      return " = ";
    case Operator::less:
      return cut ? " <= " : " < ";
    case Operator::less_equal:
      return " <= ";
    case Operator::greater:
      return full ? " >= " : " > ";
    case Operator::greater_equal:
    case Operator::prefix:
      return " >= ";
    case Operator::not_equal:
    case Operator::exists:
      break;  // refused by the constructor
  }
  return "";
}

}  // namespace

// Stored strings are cut to max_length, so a bound is cut too. A cut bound must not exclude values that are equal to
// it. A lower bound of exactly max_length must not either: longer values that begin with it are stored as the same
// text.
void QueryPlan::add_condition(sql::Statement& statement, const Bound& bound,
                              const std::vector<model::Value>& values) const {
  const Property& property = definition_.properties[bound.property];
  const std::string column = qualified(sql::quote_identifier(property.name));
  if (values.size() == 1) {
    shard::add_value(statement.add(column).add(" = "), values.front());
    return;
  }
  if (!values.empty()) {
    const char* separator = " IN (";
    statement.add(column);
    for (const model::Value& value : values) {
      shard::add_value(statement.add(separator), value);
      separator = ", ";
    }
    statement.add(")");
    return;
  }
  const model::Value stored = model::as_stored(property, bound.any_of.front());
  const bool cut = stored != bound.any_of.front() && property.type == PropertyType::string;
  const auto* const text = std::get_if<std::string>(&stored);
  const bool full = text != nullptr && base::utf8_length(*text) == property.max_length;
  shard::add_value(statement.add(column).add(comparison(bound.op, cut, full)), stored);
  if (bound.op == Operator::prefix) {
    if (const auto end = base::utf8_successor(*text)) {
      statement.add(" AND ").add(column).add(" < ").add_text(*end);
    }
  }
}

// Only columns whose values differ are compared and ordered by. If a fixed string column were among them, MariaDB would
// not see that the rows come in order, and would sort all matches.
QueryPlan::Key QueryPlan::key_of(const std::optional<shard::IndexEntry>& entry) const {
  Key key;
  for (std::size_t i = order_from_; i < definition_.properties.size(); ++i) {
    if (!is_fixed(i)) {
      key.columns.push_back(qualified(sql::quote_identifier(definition_.properties[i].name)));
      key.literals.push_back(entry ? shard::value_literal(entry->values[i]) : std::string());
    }
  }
  key.columns.emplace_back("r.entity_id");
  key.literals.push_back(entry ? shard::id_literal(entry->entity_id) : std::string());
  return key;
}

void QueryPlan::add_conditions(sql::Statement& statement, const Values& values, const Range& range) const {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    add_condition(statement, bounds_[i], values[i]);
    statement.add(" AND ");
  }
  if (range.after) {
    const Key key = key_of(range.after);
    statement.add(shard::beyond(key.columns, key.literals, descending_ ? "<" : ">")).add(" AND ");
  }
  if (range.before) {
    const Key key = key_of(range.before);
    const char* const comparison = descending_ ? ">" : "<";
    statement
        .add(range.ties ? fmt::format("{} {}= {}", key.columns.front(), comparison, key.literals.front())
                        : shard::beyond(key.columns, key.literals, comparison))
        .add(" AND ");
  }
}

void QueryPlan::add_source(sql::Statement& statement, const Source& source, const sql::Statement& rows,
                           const sql::Statement& conditions) const {
  statement
      .add(fmt::format("IF(c.generation = {} AND c.state = '{}' AND {}, {}, NULL) AS shard FROM ", source.generation,
                       to_string(IndexState::ready), source.is_writable, source.shard))
      .add(rows)
      .add(fmt::format(" r JOIN {} c WHERE ", sql::qualified(source.database, "looseleaf_index")))
      .add(conditions)
      .add("c.table_name = " + sql::text_literal(definition_.table));
}

// In a unique index no two rows of one value have the same place. Servers would sort all matches to order them by
// entity_id as well, which is not in the primary key.
std::vector<std::string> QueryPlan::order_of_rows(const Values& values) const {
  std::vector<std::string> columns = key_of(std::nullopt).columns;
  if (definition_.unique && columns.size() > 1 && !needs_sorting(values)) {
    columns.pop_back();
  }
  return columns;
}

std::string QueryPlan::ordered_by(const std::vector<std::string>& columns) const {
  const std::string direction = descending_ ? " DESC" : "";
  return fmt::format(" ORDER BY {}{}", fmt::join(columns, direction + ", "), direction);
}

// If the server has to sort the rows, it does so before it joins the few that are left with the catalog.
sql::Statement QueryPlan::select(const Source& source, const Values& values, const Range& range, std::size_t limit,
                                 Order order) const {
  std::string columns;
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    if (!known_[i]) {
      columns += qualified(sql::quote_identifier(definition_.properties[i].name)) + ", ";
    }
  }
  columns += "r.entity_id";
  const std::string ordered = order == Order::of_query ? ordered_by(order_of_rows(values)) : std::string();
  const std::string end = fmt::format("{} LIMIT {}", ordered, limit);
  const sql::Statement table(sql::qualified(source.database, definition_.table));
  sql::Statement conditions(""), statement("SELECT " + columns + ", ");
  add_conditions(conditions, values, range);
  if (order == Order::of_query && needs_sorting(values)) {
    sql::Statement sorted("(SELECT " + columns + " FROM ");
    sorted.add(table).add(" r WHERE ").add(conditions).add("TRUE" + end + ")");
    add_source(statement, source, sorted, sql::Statement(""));
    return statement;
  }
  add_source(statement, source, table, conditions);
  return statement.add(end);
}

sql::Statement QueryPlan::select_ids(const Source& source, const Values& values, const Range& range) const {
  sql::Statement conditions(""),
      statement(has_several_rows() ? "SELECT DISTINCT r.entity_id, " : "SELECT r.entity_id, ");
  add_conditions(conditions, values, range);
  add_source(statement, source, sql::Statement(sql::qualified(source.database, definition_.table)), conditions);
  return statement;
}

sql::Statement QueryPlan::select_place(const Source& source, std::span<const Values> divided,
                                       const std::optional<shard::IndexEntry>& after, std::size_t each,
                                       std::size_t rank) const {
  const std::vector<std::string> key = key_of(std::nullopt).columns;
  std::string columns;
  std::vector<std::string> names;
  for (const std::string& column : key) {
    names.push_back(fmt::format("c{}", names.size()));
    columns += fmt::format("{}{} AS {}", columns.empty() ? "" : ", ", column, names.back());
  }
  sql::Statement statement(fmt::format("SELECT {}, {} AS shard FROM (", fmt::join(names, ", "), source.shard));
  for (const Values& values : divided) {
    statement.add(fmt::format("{}(SELECT {} FROM {} r WHERE ", &values == divided.data() ? "" : " UNION ALL ", columns,
                              sql::qualified(source.database, definition_.table)));
    add_conditions(statement, values, {after, std::nullopt});
    statement.add(fmt::format("TRUE{} LIMIT {})", ordered_by(order_of_rows(values)), each));
  }
  return statement.add(fmt::format(") p{} LIMIT 1 OFFSET {}", ordered_by(names), rank));
}

shard::IndexEntry QueryPlan::place(const sql::Result& found, std::size_t row) const {
  shard::IndexEntry place;
  std::size_t column = 0;
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    const bool is_in_key = i >= order_from_ && !is_fixed(i);
    place.values.push_back(is_in_key ? shard::parse_cell(definition_.properties[i], found.text(row, column++))
                                     : model::Value());
  }
  place.entity_id = shard::require_uuid(found.text(row, column));
  return place;
}

shard::IndexEntry QueryPlan::entry(const sql::Result& found, std::size_t row) const {
  shard::IndexEntry entry;
  std::size_t column = 0;
  entry.values.reserve(known_.size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    entry.values.push_back(known_[i] ? *known_[i]
                                     : shard::parse_cell(definition_.properties[i], found.text(row, column++)));
  }
  entry.entity_id = shard::require_uuid(found.text(row, column));
  return entry;
}

}  // namespace looseleaf::read
