// Compares a table with its CREATE TABLE statement by means of information_schema.
#include "shard/table_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

std::string in_this_table(const sql::Database& database, const Shape& shape) {
  return "table_schema = " + sql::text_literal(database.name()) + " AND table_name = " + sql::text_literal(shape.name);
}

void compare_columns(const sql::Database& database, const Shape& shape, std::vector<std::string>& differences) {
  const sql::Result rows = database->query(
      "SELECT column_name, column_type, collation_name, is_nullable FROM information_schema.columns WHERE " +
      in_this_table(database, shape) + " ORDER BY ordinal_position");
  if (rows.size() != shape.columns.size()) {
    differences.push_back(fmt::format("it has {} columns instead of {}", rows.size(), shape.columns.size()));
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Column& declared = shape.columns[i];
    const std::string type = without_width(rows.text(i, 1));
    if (rows.text(i, 0) != declared.name || type != declared.type) {
      differences.push_back(fmt::format("column {} is {} {} instead of {} {}", i + 1, rows.text(i, 0), type,
                                        declared.name, declared.type));
    } else if (rows.cell(i, 2).value_or("") != declared.collation) {
      differences.push_back(fmt::format("column {} has collation {} instead of {}", declared.name,
                                        rows.cell(i, 2).value_or("none"), declared.collation));
    } else if ((rows.text(i, 3) != "NO") != declared.nullable) {
      differences.push_back(fmt::format("column {} {} be NULL", declared.name, declared.nullable ? "may not" : "may"));
    }
  }
}

void compare_keys(const sql::Database& database, const Shape& shape, std::vector<std::string>& differences) {
  const sql::Result rows =
      database->query("SELECT index_name, non_unique, column_name FROM information_schema.statistics WHERE " +
                      in_this_table(database, shape) + " ORDER BY index_name, seq_in_index");
  std::map<std::string, Key> keys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Key& key = keys[rows.text(i, 0)];
    key.unique = rows.text(i, 1) == "0";
    key.columns.push_back(rows.cell(i, 2).value_or(""));  // nothing if it is an expression
  }
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

}  // namespace

std::vector<std::string> table_differences(const sql::Database& database, std::string_view create_statement) {
  const Shape shape = shape_of(create_statement);
  std::vector<std::string> differences;
  const sql::Result table =
      database->query("SELECT engine FROM information_schema.tables WHERE " + in_this_table(database, shape));
  if (table.empty()) {
    return {no_table};
  }
  if (base::ascii_lower(table.cell(0, 0).value_or("")) != "innodb") {
    differences.push_back(fmt::format("its engine is {} instead of InnoDB", table.cell(0, 0).value_or("unknown")));
  }
  compare_columns(database, shape, differences);
  compare_keys(database, shape, differences);
  return differences;
}

std::string table_of(std::string_view create_statement) {
  return shape_of(create_statement).name;
}

}  // namespace looseleaf::shard
