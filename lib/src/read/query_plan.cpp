// Turns conditions into SQL and into a filter.
#include "read/query_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/status.hpp>
#include <numeric>
#include <set>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/condition.hpp"
#include "shard/placement.hpp"
#include "shard/statements.hpp"
#include "sql/literals.hpp"

namespace looseleaf::read {
namespace {

std::vector<std::string> property_names(const IndexDefinition& definition) {
  std::vector<std::string> names;
  for (const Property& property : definition.properties) {
    names.push_back(property.name);
  }
  return names;
}

std::string hint_for_name(const std::string& name, const std::vector<std::string>& names) {
  if (name.ends_with("[]") && std::find(names.begin(), names.end(), name.substr(0, name.size() - 2)) != names.end()) {
    return "leave [] out: an index on an array finds its elements by the plain name";
  }
  const auto meant = base::nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
  return meant ? fmt::format("did you mean `{}`?", *meant)
               : fmt::format("name one of its properties: {}", fmt::join(names, ", "));
}

std::size_t position_of(const IndexDefinition& definition, const Condition& condition) {
  const std::string name = model::written_name(condition);
  const auto names = property_names(definition);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorCode::usage, "index has no such property", {{"index", definition.table}, {"property", name}},
                hint_for_name(name, names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

bool holds(Operator op, const model::Value& value, const model::Value& bound) {
  return op == Operator::prefix ? std::get<std::string>(value).starts_with(std::get<std::string>(bound))
                                : model::holds(op, value <=> bound);
}

// True if the stored value may be only the beginning of a longer string.
bool may_be_cut(const Property& property, const model::Value& stored) {
  const auto* const text = std::get_if<std::string>(&stored);
  return text != nullptr && base::utf8_length(*text) >= property.max_length;
}

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

// Names the properties from `first` on that need an equality condition before the property at `position` can have
// `condition`, and gives an example.
std::string hint_for_first(const IndexDefinition& definition, std::size_t first, std::size_t position,
                           const std::string& condition) {
  const auto names = property_names(definition);
  const auto begin = names.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(position);
  std::string example;
  std::for_each(begin, end, [&](const std::string& name) { example += name + "=VALUE "; });
  return fmt::format("give {} with = first, because the index begins with {}: {}{}",
                     fmt::join(begin + static_cast<std::ptrdiff_t>(first), end, " and "), fmt::join(begin, end, ", "),
                     example, condition);
}

// Throws if no part of an index has what the condition asks for.
void require_usable(const IndexDefinition& definition, const Condition& condition) {
  if (condition.op == Operator::not_equal || condition.op == Operator::exists) {
    const std::string name = model::written_name(condition);
    throw Error(ErrorCode::usage, "index cannot use this condition", {{"index", definition.table}, {"property", name}},
                fmt::format("an index finds values with =, a range or ^=; filter with --where '{}{}{}'", name,
                            model::symbol(condition.op), condition.value));
  }
}

bool is_lower(Operator op) {
  return op == Operator::greater || op == Operator::greater_equal;
}

}  // namespace

QueryPlan::QueryPlan(const IndexDefinition& definition, const Query& query)
    : definition_(definition), descending_(query.descending) {
  for (const Condition& condition : query.conditions) {
    const std::size_t position = position_of(definition, condition);
    require_usable(definition, condition);
    if (condition.op != Operator::equal) {
      continue;
    }
    const auto same =
        std::find_if(bounds_.begin(), bounds_.end(), [&](const Bound& b) { return b.property == position; });
    Bound& bound = same != bounds_.end() ? *same : bounds_.emplace_back(Bound{position, Operator::equal, {}});
    bound.any_of.push_back(model::parse_value(definition.properties[position], condition.value));
  }
  std::sort(bounds_.begin(), bounds_.end(), [](const Bound& a, const Bound& b) { return a.property < b.property; });
  const std::size_t equal = bounds_.size();
  for (std::size_t i = 0; i < equal; ++i) {
    if (bounds_[i].property != i) {
      const std::string& name = definition.properties[bounds_[i].property].name;
      throw Error(ErrorCode::usage, "index cannot use this condition",
                  {{"index", definition.table}, {"property", name}},
                  hint_for_first(definition, i, bounds_[i].property, name + "=VALUE"));
    }
  }
  for (const Condition& condition : query.conditions) {
    if (condition.op != Operator::equal) {
      add_range(condition, equal);
    }
  }
  for (std::size_t i = 0; i < definition.properties.size(); ++i) {
    known_.push_back(known(i));
  }
}

void QueryPlan::add_range(const Condition& condition, std::size_t position) {
  const std::size_t given = position_of(definition_, condition);
  if (given != position) {
    throw Error(ErrorCode::usage, "index cannot use this condition",
                {{"index", definition_.table}, {"property", condition.property}},
                given > position
                    ? hint_for_first(definition_, position, given,
                                     fmt::format("'{}{}VALUE'", condition.property, model::symbol(condition.op)))
                    : fmt::format("give {} either with = or with a range", condition.property));
  }
  const Property& property = definition_.properties[position];
  if (condition.op == Operator::prefix && property.type != PropertyType::string) {
    throw Error(ErrorCode::usage, "only a string can have a prefix",
                {{"property", property.name}, {"type", to_string(property.type)}},
                "give a value with =, or a range with > and <");
  }
  for (const Bound& bound : bounds_) {
    if (bound.property == position && (bound.op == Operator::prefix || condition.op == Operator::prefix ||
                                       is_lower(bound.op) == is_lower(condition.op))) {
      throw Error(ErrorCode::usage, "conditions on one property contradict or repeat each other",
                  {{"property", property.name}}, "give at most one lower and one upper bound, or one prefix");
    }
  }
  bounds_.push_back({position, condition.op, {model::parse_value(property, condition.value)}});
}

std::vector<std::uint32_t> QueryPlan::shards(std::uint32_t count) const {
  std::set<std::uint32_t> wanted;
  for (const Bound& bound : bounds_) {
    if (definition_.shard_on == bound.property && bound.op == Operator::equal) {
      for (const model::Value& value : bound.any_of) {
        wanted.insert(shard::shard_of(model::as_stored(definition_.properties[bound.property], value), count));
      }
    }
  }
  std::vector<std::uint32_t> shards(wanted.begin(), wanted.end());
  if (shards.empty()) {
    shards.resize(count);
    std::iota(shards.begin(), shards.end(), 0);
  }
  return shards;
}

// Stored strings are cut to max_length, so a bound is cut too. A cut bound must not exclude values that are equal to
// it. A lower bound of exactly max_length must not either: longer values that begin with it are stored as the same
// text.
void QueryPlan::add_condition(sql::Statement& statement, const Bound& bound) const {
  const Property& property = definition_.properties[bound.property];
  const model::Value stored = model::as_stored(property, bound.any_of.front());
  const bool cut = stored != bound.any_of.front() && property.type == PropertyType::string;
  const auto* const text = std::get_if<std::string>(&stored);
  const bool full = text != nullptr && base::utf8_length(*text) == property.max_length;
  const std::string column = qualified(sql::quote_identifier(property.name));
  if (bound.any_of.size() > 1) {
    const char* separator = " IN (";
    statement.add(column);
    for (const model::Value& value : bound.any_of) {
      statement.add(separator);
      shard::add_value(statement, model::as_stored(property, value));
      separator = ", ";
    }
    statement.add(")");
    return;
  }
  shard::add_value(statement.add(column).add(comparison(bound.op, cut, full)), stored);
  if (bound.op == Operator::prefix) {
    if (const auto end = base::utf8_successor(*text)) {
      statement.add(" AND ").add(column).add(" < ").add_text(*end);
    }
  }
}

std::optional<model::Value> QueryPlan::known(std::size_t property) const {
  if (!is_fixed(property) || definition_.properties[property].type == PropertyType::string) {
    return std::nullopt;
  }
  const auto bound =
      std::find_if(bounds_.begin(), bounds_.end(), [&](const Bound& b) { return b.property == property; });
  return model::as_stored(definition_.properties[property], bound->any_of.front());
}

bool QueryPlan::is_fixed(std::size_t property) const {
  return std::any_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    return bound.property == property && bound.op == Operator::equal && bound.any_of.size() == 1;
  });
}

// Only columns whose values differ are compared and ordered by. If a fixed string column were among them, MariaDB would
// not see that the rows come in order, and would sort all matches.
QueryPlan::Key QueryPlan::key_of(const std::optional<shard::IndexEntry>& entry) const {
  Key key;
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    if (!is_fixed(i)) {
      key.columns.push_back(qualified(sql::quote_identifier(definition_.properties[i].name)));
      key.literals.push_back(entry ? shard::value_literal(entry->values[i]) : std::string());
    }
  }
  key.columns.emplace_back("r.entity_id");
  key.literals.push_back(entry ? shard::id_literal(entry->entity_id) : std::string());
  return key;
}

void QueryPlan::add_source(sql::Statement& statement, const Source& source,
                           const std::optional<shard::IndexEntry>& after,
                           const std::optional<shard::IndexEntry>& before) const {
  statement.add(fmt::format(
      "IF(c.generation = {} AND c.state = '{}' AND f.access <> '{}' AND {}, {}, NULL) AS shard "
      "FROM {} r JOIN {} c JOIN {} f WHERE ",
      source.generation, to_string(IndexState::ready), to_string(AccessState::moved), source.is_writable, source.shard,
      sql::qualified(source.database, definition_.table), sql::qualified(source.database, "looseleaf_index"),
      sql::qualified(source.database, "looseleaf_shard")));
  for (const Bound& bound : bounds_) {
    add_condition(statement, bound);
    statement.add(" AND ");
  }
  for (const auto& [end, comparison] :
       {std::pair(&after, descending_ ? "<" : ">"), {&before, descending_ ? ">" : "<"}}) {
    if (*end) {
      const Key key = key_of(*end);
      statement.add(shard::beyond(key.columns, key.literals, comparison)).add(" AND ");
    }
  }
  statement.add("c.table_name = " + sql::text_literal(definition_.table) + " AND f.only_row = 1");
}

sql::Statement QueryPlan::select(const Source& source, const std::optional<shard::IndexEntry>& after, std::size_t limit,
                                 Order order) const {
  std::string columns;
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    if (!known_[i]) {
      columns += qualified(sql::quote_identifier(definition_.properties[i].name)) + ", ";
    }
  }
  sql::Statement statement("SELECT " + columns + "r.entity_id, ");
  add_source(statement, source, after, std::nullopt);
  std::string end;
  const char* separator = " ORDER BY ";
  if (order == Order::of_query) {
    for (const std::string& column : key_of(std::nullopt).columns) {
      end.append(separator).append(column).append(descending_ ? " DESC" : "");
      separator = ", ";
    }
  }
  return statement.add(end.append(" LIMIT ").append(std::to_string(limit)));
}

sql::Statement QueryPlan::select_ids(const Source& source, const std::optional<shard::IndexEntry>& after,
                                     const std::optional<shard::IndexEntry>& before) const {
  sql::Statement statement(has_several_rows() ? "SELECT DISTINCT r.entity_id, " : "SELECT r.entity_id, ");
  add_source(statement, source, after, before);
  return statement;
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

bool QueryPlan::meets(const model::Value& value, const Bound& bound) {
  return std::any_of(bound.any_of.begin(), bound.any_of.end(),
                     [&](const model::Value& wanted) { return holds(bound.op, value, wanted); });
}

bool QueryPlan::meets(const model::Row& row, const model::ParsedEntity& entity) const {
  for (std::size_t i = 0; i < definition_.properties.size(); ++i) {
    const Property& property = definition_.properties[i];
    const auto meets_all = [&](const model::Value& value) {
      return std::all_of(bounds_.begin(), bounds_.end(),
                         [&](const Bound& bound) { return bound.property != i || meets(value, bound); });
    };
    if (!may_be_cut(property, row[i])) {
      if (!meets_all(row[i])) {
        return false;
      }
      continue;
    }
    const auto values = entity.property_values(property);
    if (std::none_of(values.begin(), values.end(), [&](const model::Value& value) {
          return model::as_stored(property, value) == row[i] && meets_all(value);
        })) {
      return false;
    }
  }
  return true;
}

bool QueryPlan::is_point() const {
  return std::all_of(definition_.properties.begin(), definition_.properties.end(),
                     [&, i = std::size_t{0}](const Property&) mutable { return is_fixed(i++); });
}

std::vector<model::Row> QueryPlan::matching_rows(const model::ParsedEntity& entity) const {
  std::vector<model::Row> rows = entity.expected_rows(definition_);
  std::erase_if(rows, [&](const model::Row& row) { return !meets(row, entity); });
  return rows;
}

const model::Row& QueryPlan::first(const std::vector<model::Row>& matching) const {
  return descending_ ? matching.back() : matching.front();
}

bool QueryPlan::has_several_rows() const {
  return std::any_of(definition_.properties.begin(), definition_.properties.end(),
                     [](const Property& property) { return property.each; });
}

bool QueryPlan::before(const shard::IndexEntry& a, const shard::IndexEntry& b) const {
  return descending_ ? b < a : a < b;
}

}  // namespace looseleaf::read
