// Conditions and the planner. Input: a digit for the index, perhaps a 'd' for descending; then a line for the
// order ("order " and a property), each condition on the index, each filter ("where " and a condition) and each entity.
// The SQL holds values as digits only and leaves out no row that is given; what is given is what a plain look at the
// conditions finds. What a filter finds by its operators agrees.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/hex.hpp"
#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "model/filter.hpp"
#include "read/query_plan.hpp"
#include "shard/index_rows.hpp"
#include "shard/placement.hpp"
#include "sql/literals.hpp"
#include "sql/statement.hpp"
#include "tests/fuzz/oracle.hpp"
#include "tests/fuzz/samples.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;

struct Input {
  const IndexDefinition* definition = nullptr;
  Query query;
  std::vector<model::AcceptedEntity> entities;
};

const std::map<Operator, std::string> operators = {{Operator::equal, "="},          {Operator::less, "<"},
                                                   {Operator::less_equal, "<="},    {Operator::greater, ">"},
                                                   {Operator::greater_equal, ">="}, {Operator::prefix, "^="},
                                                   {Operator::not_equal, "!="},     {Operator::exists, " exists"}};

constexpr std::string_view where = "where ", order = "order ";

std::optional<Condition> read_condition(const std::string& text) {
  try {
    Condition condition = Condition::parse(text);
    const std::string rest = (condition.each ? "[]" : "") + operators.at(condition.op) + condition.value;
    require(text.ends_with(rest), "a condition ends with its operator and its value");
    const std::string_view name = std::string_view(text).substr(0, text.size() - rest.size());
    if (name.starts_with('"')) {
      require(nlohmann::json::parse(name) == condition.property, "a name in quotes is a JSON string");
    } else {
      require(name == condition.property, "a condition begins with its property");
      require(name.find_first_of("<>=") == std::string::npos, "a condition is split at its first operator");
      require(!name.ends_with("[]"), "brackets behind a plain name do not belong to it");
    }
    require(!condition.property.empty(), "a condition has a property");
    return condition;
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage, "a condition is refused as wrong usage");
    return std::nullopt;
  }
}

std::optional<model::AcceptedEntity> read_entity(const std::string& text) {
  try {
    return model::accept_entity(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Input> read_input(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const auto& definitions = fuzz::sample_definitions();
  if (line.empty() || line[0] < '0' || static_cast<std::size_t>(line[0] - '0') >= definitions.size()) {
    return std::nullopt;
  }
  Input input;
  input.definition = &definitions[static_cast<std::size_t>(line[0] - '0')];
  input.query.index = input.definition->table;
  input.query.descending = line.ends_with('d');
  while (std::getline(lines, line)) {
    if (line.starts_with('{')) {
      if (auto entity = read_entity(line)) {
        input.entities.push_back(*std::move(entity));
      }
    } else if (line.starts_with(order)) {
      input.query.order_by = line.substr(order.size());
    } else if (line.starts_with(where)) {
      if (auto condition = read_condition(line.substr(where.size()))) {
        input.query.where.push_back(*std::move(condition));
      }
    } else if (auto condition = read_condition(line)) {
      input.query.conditions.push_back(*std::move(condition));
    }
  }
  return input;
}

// The SQL in its parts: names, keywords, operators, and literals of digits. Anything else is a value that got out.
std::vector<std::string> tokens_of(std::string_view sql) {
  constexpr std::string_view punctuation = "(),=<>";
  constexpr std::array<std::string_view, 5> constants = {"@@global.read_only", "'ready'", "'moved'", "'0'", "'OFF'"};
  std::vector<std::string> tokens;
  const auto take = [&](std::size_t size) {
    tokens.emplace_back(sql.substr(0, size));
    sql.remove_prefix(size);
  };
  while (!sql.empty()) {
    const auto after = [&](auto belongs) {
      return static_cast<std::size_t>(std::find_if_not(sql.begin(), sql.end(), belongs) - sql.begin());
    };
    if (sql[0] == ' ') {
      sql.remove_prefix(1);
    } else if (sql.starts_with("r.") || sql.starts_with("c.") || sql.starts_with("f.")) {  // index, catalog, fence
      take(2);
    } else if (sql.starts_with("db.")) {  // the database
      take(3);
    } else if (const auto* const constant = std::find_if(constants.begin(), constants.end(),
                                                         [&](std::string_view one) { return sql.starts_with(one); });
               constant != constants.end()) {
      take(constant->size());
    } else if (sql[0] == '`') {
      std::size_t end = 1;
      for (; sql.at(end) != '`' || (end + 1 < sql.size() && sql[end + 1] == '`'); ++end) {
        end += sql[end] == '`' ? 1U : 0U;
      }
      take(end + 1);
    } else if (sql.starts_with("x'") || sql.starts_with("''")) {
      const std::size_t begin = sql.find('\'') + 1;
      const std::size_t end = sql.find_first_not_of("0123456789abcdef", begin);
      require(end != std::string_view::npos && sql[end] == '\'', "a literal is hexadecimal digits");
      take(end + 1);
    } else if (std::isdigit(static_cast<unsigned char>(sql[0])) != 0 || sql[0] == '-') {
      take(after([](char c) { return std::string_view("0123456789.e+-").find(c) != std::string_view::npos; }));
    } else if (punctuation.find(sql[0]) != std::string_view::npos) {
      take(sql.size() > 1 && sql[1] == '=' ? 2 : 1);
    } else {
      const std::size_t size =
          after([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
      require(size > 0, "SQL consists of names, keywords, operators and literals");
      take(size);
    }
  }
  return tokens;
}

void check_words(const std::vector<std::string>& tokens, const IndexDefinition& definition) {
  std::istringstream words(
      "SELECT DISTINCT FROM JOIN WHERE AND OR IN ORDER BY DESC LIMIT OFFSET UNION ALL AS IF NULL TRUE _utf8mb4 db. r "
      "r. c c. "
      "f f. p entity_id shard looseleaf_index table_name generation state looseleaf_shard access only_row");
  std::set<std::string> known(std::istream_iterator<std::string>(words), {});
  known.insert(sql::quote_identifier(definition.table));
  for (const std::string& column : shard::column_names(definition)) {
    known.insert(column);
  }
  for (std::size_t i = 0; i <= definition.properties.size(); ++i) {
    known.insert(fmt::format("c{}", i));  // columns of a derived table
  }
  for (const std::string& token : tokens) {
    const bool literal = token.starts_with("x'") || token == "''";
    const bool word = std::isalpha(static_cast<unsigned char>(token[0])) != 0 || token[0] == '_' || token[0] == '`';
    require(literal || !word || known.contains(token), "no word in SQL comes from a value");
  }
}

// Evaluates the WHERE of a plan for a row, as a server with a binary collation does.
class Where {
 public:
  Where(const IndexDefinition& definition, std::vector<std::string> tokens)
      : definition_(definition), tokens_(std::move(tokens)) {}

  [[nodiscard]] bool holds(const model::Row& row) {
    at_ = static_cast<std::size_t>(std::find(tokens_.begin(), tokens_.end(), "WHERE") - tokens_.begin());
    bool all = true;
    while (at_ < tokens_.size() && tokens_[at_] != "ORDER") {
      ++at_;  // WHERE or AND
      const bool one = comparison(row);
      all = all && one;
    }
    return all;
  }

 private:
  bool comparison(const model::Row& row) {
    constexpr std::size_t catalog_line = 5;  // c. table_name = _utf8mb4 x'...', which holds
    constexpr std::size_t fence_line = 4;    // f. only_row = 1, likewise
    const std::string& first = tokens_.at(at_++);
    if (first == "TRUE") {
      return true;
    }
    if (first == "c." || first == "f.") {
      at_ += (first == "c." ? catalog_line : fence_line) - 1;
      return true;
    }
    const auto columns = shard::column_names(definition_);
    const auto column =
        static_cast<std::size_t>(std::find(columns.begin(), columns.end(), tokens_.at(at_++)) - columns.begin());
    const model::Value& value = row.at(column);
    const std::string op = tokens_.at(at_++);
    if (op == "IN") {
      bool any = false;
      while (tokens_.at(at_) != ")") {
        ++at_;  // ( or ,
        any = literal(column) == value || any;
      }
      ++at_;
      return any;
    }
    const model::Value bound = literal(column);
    return op == "="    ? value == bound
           : op == "<"  ? value < bound
           : op == "<=" ? value <= bound
           : op == ">"  ? value > bound
                        : value >= bound;
  }

  model::Value literal(std::size_t column) {
    if (tokens_.at(at_) == "_utf8mb4") {
      ++at_;
    }
    const std::string token = tokens_.at(at_++);
    switch (definition_.properties.at(column).type) {
      case PropertyType::uuid:
        return Uuid::from_bytes(bytes(token)).value();
      case PropertyType::string:
        return bytes(token);
      case PropertyType::integer:
        return number<std::int64_t>(token);
      case PropertyType::real:
        return number<double>(token);
      case PropertyType::boolean:
        return number<std::int64_t>(token) != 0;
    }
    std::abort();
  }

  static std::string bytes(std::string_view token) {
    std::string out;
    for (std::size_t i = token.find('\'') + 1; i + 2 < token.size(); i += 2) {
      out += static_cast<char>(base::hex_digit(token[i]) * 16 + base::hex_digit(token[i + 1]));
    }
    return out;
  }

  template <typename Number>
  static Number number(const std::string& token) {
    Number parsed{};
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), parsed);
    require(error == std::errc() && end == token.data() + token.size(), "a number in SQL is one number");
    return parsed;
  }

  const IndexDefinition& definition_;
  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
};

bool meets(const model::Value& value, Operator op, const model::Value& bound) {
  switch (op) {
    case Operator::equal:
      return value == bound;
    case Operator::less:
      return value < bound;
    case Operator::less_equal:
      return value <= bound;
    case Operator::greater:
      return value > bound;
    case Operator::greater_equal:
      return value >= bound;
    case Operator::prefix:
      return std::get<std::string>(value).starts_with(std::get<std::string>(bound));
    case Operator::not_equal:
    case Operator::exists:
      break;
  }
  return false;
}

// Does a value of this property meet all conditions on it, those with = taken together as any-of?
bool meets_all(const Property& property, const model::Value& value, const std::vector<Condition>& conditions) {
  bool all = true, any_equal = false, equal_found = false;
  for (const Condition& condition : conditions) {
    if (condition.property != property.name) {
      continue;
    }
    const bool met = meets(value, condition.op, model::parse_value(property, condition.value));
    if (condition.op == Operator::equal) {
      any_equal = true;
      equal_found = equal_found || met;
    } else {
      all = all && met;
    }
  }
  return all && (!any_equal || equal_found);
}

bool should_match(const Input& input, const nlohmann::json& entity) {
  const auto& properties = input.definition->properties;
  return model::matches_where(*input.definition, entity) &&
         std::all_of(properties.begin(), properties.end(), [&](const Property& property) {
           const auto values = model::property_values(property, entity);
           return std::any_of(values.begin(), values.end(), [&](const model::Value& value) {
             return meets_all(property, value, input.query.conditions);
           });
         });
}

// Put in the places of a shape, the values make the text.
void check_shape(const sql::Statement& statement) {
  std::string text;
  std::string_view shape = statement.shape();
  for (const sql::Statement::Value& value : statement.values()) {
    const std::size_t place = shape.find('?');
    require(place != std::string_view::npos, "there is a place for every value");
    const bool bytes = shape.substr(0, place).ends_with("UNHEX(");
    text += shape.substr(0, bytes ? place - 6 : place);
    shape.remove_prefix(bytes ? place + 2 : place + 1);
    if (const auto* const string = std::get_if<std::string>(&value)) {
      text += bytes ? (string->empty() ? "''" : "x'" + *string + "'") : sql::text_literal(*string);
    } else if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
      text += sql::integer_literal(*integer);
    } else {
      text += sql::double_literal(std::get<double>(value));
    }
  }
  require(text + std::string(shape) == statement.text(), "the two forms of a statement mean the same");
}

std::string cell_of(const model::Value& value) {
  struct Visitor {
    std::string operator()(const Uuid& uuid) const { return std::string(shard::bytes_of(uuid)); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(bool flag) const { return flag ? "1" : "0"; }
  };
  return std::visit(Visitor{}, value);
}

// What a server finds of an entry for a plan's SELECT.
sql::Result found(const IndexDefinition& definition, const std::vector<std::string>& tokens,
                  const shard::IndexEntry& entry) {
  const std::vector<std::string> columns = shard::column_names(definition);
  std::vector<std::optional<std::string>> cells;
  for (auto token = tokens.begin() + 1; *token == "r."; token += 3) {  // r. NAME ,
    const auto column = std::find(columns.begin(), columns.end(), token[1]);
    cells.emplace_back(column == columns.end()
                           ? std::string(shard::bytes_of(entry.entity_id))
                           : cell_of(entry.values[static_cast<std::size_t>(column - columns.begin())]));
  }
  cells.emplace_back("1");
  const std::size_t width = cells.size();
  return {std::move(cells), width};
}

read::QueryPlan::Source source() {
  return {"db", 1, 1, "@@global.read_only = 0"};
}

using Values = std::vector<read::QueryPlan::Values>;

// The SELECTs of all rows of a shard.
std::vector<sql::Statement> selects(const read::QueryPlan& plan, const Values& parts,
                                    const std::optional<shard::IndexEntry>& after) {
  std::vector<sql::Statement> statements;
  for (const read::QueryPlan::Values& part : parts) {
    statements.push_back(plan.select(source(), part, {after, std::nullopt}, 10, read::QueryPlan::Order::of_query));
  }
  return statements;
}

bool any_holds(const Input& input, const std::vector<sql::Statement>& statements, const model::Row& row) {
  return std::any_of(statements.begin(), statements.end(), [&](const sql::Statement& statement) {
    return Where(*input.definition, tokens_of(statement.text())).holds(row);
  });
}

void check_given(const Input& input, const read::QueryPlan& plan, const shard::IndexEntry& entry) {
  const auto statements = selects(plan, plan.parts(0, 1), std::nullopt);
  const sql::Result result = found(*input.definition, tokens_of(statements.front().text()), entry);
  require(plan.entry(result, 0) == entry, "columns that are not read are as the conditions say");
  for (const std::uint32_t shards : {1U, 2U, 7U}) {
    const std::uint32_t entity_shard = shard::shard_of(entry.entity_id, shards);
    const std::uint32_t shard = shard::index_shard(*input.definition, entry.values, entity_shard, shards);
    const std::vector<std::uint32_t> asked = plan.shards(shards);
    require(std::find(asked.begin(), asked.end(), shard) != asked.end(),
            "the shards asked have every row that is given");
    const Values parts = plan.parts(shard, shards), divided = plan.divided(parts);
    require(any_holds(input, selects(plan, parts, std::nullopt), entry.values), "SQL finds every row that is given");
    require(any_holds(input, selects(plan, divided, std::nullopt), entry.values), "so it does value by value");
  }
}

void check_all_words(const Input& input, const read::QueryPlan& plan, const shard::IndexEntry& entry) {
  const Values parts = plan.parts(0, 1), divided = plan.divided(parts);
  for (const sql::Statement& statement : selects(plan, parts, entry)) {
    check_words(tokens_of(statement.text()), *input.definition);
  }
  for (const bool ties : {false, true}) {
    const read::QueryPlan::Range range{entry, entry, ties};
    check_words(tokens_of(plan.select_ids(source(), parts.front(), range).text()), *input.definition);
  }
  const auto some = std::span(divided).first(std::min<std::size_t>(divided.size(), 3));
  check_words(tokens_of(plan.select_place(source(), some, entry, 10, 5).text()), *input.definition);
}

void check_entity(const Input& input, const read::QueryPlan& plan, const model::AcceptedEntity& entity) {
  std::size_t given = 0;
  const nlohmann::json members = nlohmann::json::parse(entity.text);
  const std::vector<model::Row> matching = plan.matching_rows(entity.parsed);
  for (const model::Row& row : model::expected_rows(*input.definition, members)) {
    const shard::IndexEntry entry{row, entity.id};
    if (!matching.empty() && plan.first(matching) == row) {
      ++given;
      check_given(input, plan, entry);
    }
    check_all_words(input, plan, entry);
  }
  require(given == (should_match(input, members) ? 1U : 0U), "an entity that matches is given once, others never");
}

// Absent if the operator cannot compare the value.
std::optional<bool> passes(Condition condition, Operator op, const model::ParsedEntity& entity) {
  condition.op = op;
  try {
    return model::Filter({condition}).matches(entity);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage, "a filter is refused as wrong usage");
    return std::nullopt;
  }
}

void check_filter(const Condition& condition, const model::ParsedEntity& entity) {
  const auto holds = [&](Operator op) { return passes(condition, op, entity); };
  const auto equal = holds(Operator::equal), less = holds(Operator::less), greater = holds(Operator::greater);
  const auto found = holds(Operator::exists);
  if (!found) {  // the condition is not UTF-8 text, or its path has an empty key
    require(!equal && !less && !greater, "what one operator refuses in a condition, all refuse");
    return;
  }
  const bool exists = *found;
  require(!equal || *equal == !holds(Operator::not_equal).value(), "!= is the negation of =");
  require(exists || !(equal.value_or(false) || holds(Operator::prefix).value_or(false)), "what is absent has no value");
  if (!less || !greater || !equal) {
    return;
  }
  require(exists || !(*less || *greater), "what is absent has no order");
  require(condition.each || *less + *equal + *greater <= 1, "a value has one order at most");
  require(holds(Operator::less_equal) == (*less || *equal), "<= is < or =");
  require(holds(Operator::greater_equal) == (*greater || *equal), ">= is > or =");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = read_input(std::string(reinterpret_cast<const char*>(data), size));
  if (!input) {
    return -1;
  }
  for (const Condition& condition : input->query.where) {
    for (const model::AcceptedEntity& entity : input->entities) {
      check_filter(condition, entity.parsed);
    }
  }
  std::optional<read::QueryPlan> plan;
  try {
    plan.emplace(*input->definition, input->query);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage, "conditions are refused as wrong usage");
    return 0;
  }
  for (const sql::Statement& statement : selects(*plan, plan->parts(0, 1), std::nullopt)) {
    check_words(tokens_of(statement.text()), *input->definition);
    check_shape(statement);
  }
  for (const model::AcceptedEntity& entity : input->entities) {
    check_entity(*input, *plan, entity);
  }
  return 0;
}
