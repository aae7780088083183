// Compares a table with its CREATE TABLE statement by means of information_schema.
#include "shard/table_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

struct Column {
  std::string name, type, collation;
  bool nullable = false;
};

struct Key {
  bool unique = false;
  std::vector<std::string> columns;

  bool operator==(const Key&) const = default;
};

struct Shape {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::string> primary;
  std::vector<Key> keys;  // besides the primary one
};

// Takes a word from the front of a text: what is quoted, or what ends before one of `ends`.
std::string take_word(std::string_view& text, std::string_view ends = " ,)") {
  std::string word;
  if (text.starts_with('`')) {
    std::size_t end = 1;
    while (text.substr(end, 2) == "``" || (end < text.size() && text[end] != '`')) {
      word += text[end];
      end += text[end] == '`' ? 2 : 1;
    }
    text.remove_prefix(std::min(text.size(), end + 1));
  } else {
    word = text.substr(0, text.find_first_of(ends));
    text.remove_prefix(word.size());
  }
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(ends)));
  return word;
}

std::vector<std::string> words_in_parentheses(std::string_view line) {
  std::vector<std::string> words;
  for (line.remove_prefix(line.find('(') + 1); !line.empty();) {
    words.push_back(take_word(line));
  }
  return words;
}

// Reads one line of a CREATE TABLE statement of schema.cpp.
void add_line(Shape& shape, std::string_view line) {
  if (line.starts_with("PRIMARY KEY (")) {
    shape.primary = words_in_parentheses(line);
    return;
  }
  if (line.starts_with("KEY (") || line.starts_with("UNIQUE KEY (")) {
    shape.keys.push_back({line.starts_with("UNIQUE"), words_in_parentheses(line)});
    return;
  }
  Column column;
  column.name = take_word(line);
  const std::string_view whole = line;  // without the name, which may contain any word
  column.type = base::ascii_lower(take_word(line, " ,"));
  column.type += line.starts_with("UNSIGNED") ? " unsigned" : "";
  if (const std::size_t collate = whole.find("COLLATE "); collate != std::string_view::npos) {
    std::string_view rest = whole.substr(collate + std::string_view("COLLATE ").size());
    column.collation = take_word(rest);
  }
  column.nullable = whole.find("NOT NULL") == std::string_view::npos;
  if (whole.find("PRIMARY KEY") != std::string_view::npos) {
    shape.primary = {column.name};
  } else if (whole.find(" UNIQUE") != std::string_view::npos) {
    shape.keys.push_back({true, {column.name}});
  }
  shape.columns.push_back(std::move(column));
}

// Reads a CREATE TABLE statement of schema.cpp, which has a line for each column and key.
Shape shape_of(std::string_view statement) {
  Shape shape;
  std::size_t end = statement.find(" (\n");
  std::string_view head = statement.substr(0, end);
  head.remove_prefix(head.rfind(' ') + 1);
  shape.name = take_word(head);
  for (std::size_t begin = end + 3; statement.substr(begin).starts_with("  "); begin = end + 1) {
    end = statement.find('\n', begin);
    add_line(shape, statement.substr(begin + 2, end - begin - 2));
  }
  return shape;
}

// As information_schema shows a type, but without the display width of integers, which MySQL omits.
std::string without_width(const std::string& type) {
  for (const std::string_view integer : {"bigint", "int", "tinyint"}) {
    if (type.starts_with(integer) && type.substr(integer.size()).starts_with("(") && type != "tinyint(1)") {
      return std::string(integer) + type.substr(type.find(')') + 1);
    }
  }
  return type;
}

// A table as the server describes it.
struct Found {
  std::string engine;
  std::vector<Column> columns;
  std::map<std::string, Key> keys;  // by name, with the primary one
};

struct FoundTables {
  std::map<std::string, Found> by_name;  // MariaDB also finds names that differ in case
  bool in_small_letters = false;         // the server stores names so
};

// The number of queries does not depend on the number of tables, because each takes long.
FoundTables found_tables(const sql::Database& database, const std::vector<Shape>& shapes) {
  std::vector<std::string> names;
  std::transform(shapes.begin(), shapes.end(), std::back_inserter(names),
                 [](const Shape& shape) { return sql::text_literal(shape.name); });
  const std::string in_these_tables = fmt::format("table_schema = {} AND table_name IN ({})",
                                                  sql::text_literal(database.name()), fmt::join(names, ", "));
  FoundTables result;
  std::map<std::string, Found>& found = result.by_name;
  const sql::Result tables = database->query(
      "SELECT table_name, engine, @@lower_case_table_names FROM information_schema.tables WHERE " + in_these_tables);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    found[tables.text(i, 0)].engine = tables.cell(i, 1).value_or("unknown");
    result.in_small_letters = tables.text(i, 2) == "1";
  }
  const sql::Result columns = database->query(
      "SELECT table_name, column_name, column_type, collation_name, is_nullable FROM information_schema.columns "
      "WHERE " +
      in_these_tables + " ORDER BY table_name, ordinal_position");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    found[columns.text(i, 0)].columns.push_back({columns.text(i, 1), without_width(columns.text(i, 2)),
                                                 columns.cell(i, 3).value_or(""), columns.text(i, 4) != "NO"});
  }
  const sql::Result keys = database->query(
      "SELECT table_name, index_name, non_unique, column_name FROM information_schema.statistics WHERE " +
      in_these_tables + " ORDER BY table_name, index_name, seq_in_index");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Key& key = found[keys.text(i, 0)].keys[keys.text(i, 1)];
    key.unique = keys.text(i, 2) == "0";
    key.columns.push_back(keys.cell(i, 3).value_or(""));  // nothing if it is an expression
  }
  return result;
}

void compare_columns(const std::vector<Column>& columns, const Shape& shape, std::vector<std::string>& differences) {
  if (columns.size() != shape.columns.size()) {
    differences.push_back(fmt::format("it has {} columns instead of {}", columns.size(), shape.columns.size()));
    return;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& declared = shape.columns[i];
    const Column& found = columns[i];
    if (found.name != declared.name || found.type != declared.type) {
      differences.push_back(fmt::format("column {} is {} {} instead of {} {}", i + 1, found.name, found.type,
                                        declared.name, declared.type));
    } else if (found.collation != declared.collation) {
      differences.push_back(fmt::format("column {} has collation {} instead of {}", declared.name,
                                        found.collation.empty() ? "none" : found.collation, declared.collation));
    } else if (found.nullable != declared.nullable) {
      differences.push_back(fmt::format("column {} {} be NULL", declared.name, declared.nullable ? "may not" : "may"));
    }
  }
}

void compare_keys(std::map<std::string, Key> keys, const Shape& shape, std::vector<std::string>& differences) {
  if (keys["PRIMARY"].columns != shape.primary) {
    differences.push_back(fmt::format("its primary key is not ({})", fmt::join(shape.primary, ", ")));
  }
  keys.erase("PRIMARY");
  for (const Key& declared : shape.keys) {
    if (std::none_of(keys.begin(), keys.end(), [&](const auto& key) { return key.second == declared; })) {
      differences.push_back(
          fmt::format("it lacks {} ({})", declared.unique ? "UNIQUE" : "KEY", fmt::join(declared.columns, ", ")));
    }
  }
  for (const auto& [name, key] : keys) {
    if (key.unique && std::find(shape.keys.begin(), shape.keys.end(), key) == shape.keys.end()) {
      differences.push_back(fmt::format("it has another unique key, {}", name));
    }
  }
}

std::vector<std::string> differences_of(const FoundTables& tables, const Shape& shape) {
  const auto found = tables.by_name.find(tables.in_small_letters ? base::ascii_lower(shape.name) : shape.name);
  if (found == tables.by_name.end()) {
    return {no_table};
  }
  std::vector<std::string> differences;
  const Found& table = found->second;
  if (base::ascii_lower(table.engine) != "innodb") {
    differences.push_back(fmt::format("its engine is {} instead of InnoDB", table.engine));
  }
  compare_columns(table.columns, shape, differences);
  compare_keys(table.keys, shape, differences);
  return differences;
}

}  // namespace

std::vector<std::vector<std::string>> table_differences(const sql::Database& database,
                                                        std::span<const std::string> create_statements) {
  if (create_statements.empty()) {
    return {};
  }
  std::vector<Shape> shapes;
  std::transform(create_statements.begin(), create_statements.end(), std::back_inserter(shapes), shape_of);
  const FoundTables tables = found_tables(database, shapes);
  std::vector<std::vector<std::string>> differences;
  std::transform(shapes.begin(), shapes.end(), std::back_inserter(differences),
                 [&](const Shape& shape) { return differences_of(tables, shape); });
  return differences;
}

std::string table_of(std::string_view create_statement) {
  return shape_of(create_statement).name;
}

}  // namespace looseleaf::shard
