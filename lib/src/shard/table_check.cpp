// Compares an index table with its definition by means of information_schema.
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
};

// Returns the column type as information_schema shows it. MySQL omits the display width of BIGINT, so the comparison
// drops it.
std::string type_of(const Property& property) {
  switch (property.type) {
    case PropertyType::uuid:
      return "binary(16)";
    case PropertyType::string:
      return fmt::format("varchar({})", property.max_length);
    case PropertyType::integer:
      return "bigint";
    case PropertyType::real:
      return "double";
    case PropertyType::boolean:
      return "tinyint(1)";
  }
  return {};
}

std::vector<Column> declared_columns(const IndexDefinition& definition, sql::Flavour flavour) {
  const std::string collation = flavour == sql::Flavour::mariadb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin";
  std::vector<Column> columns;
  for (const Property& property : definition.properties) {
    columns.push_back(
        {property.name, type_of(property), property.type == PropertyType::string ? collation : std::string()});
  }
  columns.push_back({"entity_id", "binary(16)", ""});
  return columns;
}

std::string in_this_table(const sql::Database& database, const IndexDefinition& definition) {
  return "table_schema = " + sql::text_literal(database.name()) +
         " AND table_name = " + sql::text_literal(definition.table);
}

void compare_columns(const sql::Database& database, const IndexDefinition& definition,
                     std::vector<std::string>& differences) {
  const sql::Result rows = database->query(
      "SELECT column_name, column_type, collation_name, is_nullable FROM information_schema.columns WHERE " +
      in_this_table(database, definition) + " ORDER BY ordinal_position");
  const std::vector<Column> declared = declared_columns(definition, database->flavour());
  if (rows.size() != declared.size()) {
    differences.push_back(fmt::format("it has {} columns instead of {}", rows.size(), declared.size()));
    return;
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    std::string type = rows.text(i, 1);
    type = type.substr(0, type.starts_with("bigint(") ? 6 : std::string::npos);
    if (rows.text(i, 0) != declared[i].name || type != declared[i].type) {
      differences.push_back(fmt::format("column {} is {} {} instead of {} {}", i + 1, rows.text(i, 0), type,
                                        declared[i].name, declared[i].type));
    } else if (rows.cell(i, 2).value_or("") != declared[i].collation) {
      differences.push_back(fmt::format("column {} has collation {} instead of {}", declared[i].name,
                                        rows.cell(i, 2).value_or("none"), declared[i].collation));
    } else if (rows.text(i, 3) != "NO") {
      differences.push_back(fmt::format("column {} may be NULL", declared[i].name));
    }
  }
}

void compare_keys(const sql::Database& database, const IndexDefinition& definition,
                  std::vector<std::string>& differences) {
  const sql::Result rows =
      database->query("SELECT index_name, non_unique, column_name FROM information_schema.statistics WHERE " +
                      in_this_table(database, definition) + " ORDER BY index_name, seq_in_index");
  std::map<std::string, std::pair<bool, std::vector<std::string>>> keys;  // unique, columns
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [unique, columns] = keys[rows.text(i, 0)];
    unique = rows.text(i, 1) == "0";
    columns.push_back(rows.text(i, 2));
  }
  std::vector<std::string> primary;
  for (const Property& property : definition.properties) {
    primary.push_back(property.name);
  }
  primary.emplace_back("entity_id");
  if (keys["PRIMARY"].second != primary) {
    differences.push_back(fmt::format("its primary key is not ({})", fmt::join(primary, ", ")));
  }
  const bool has_entity_key = std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
    return key.second.first == definition.immutable && key.second.second == std::vector<std::string>{"entity_id"};
  });
  if (!has_entity_key) {
    differences.push_back(definition.immutable ? "it lacks UNIQUE (entity_id)" : "it lacks KEY (entity_id)");
  }
  for (const auto& [name, key] : keys) {
    if (name != "PRIMARY" && key.first &&
        !(definition.immutable && key.second == std::vector<std::string>{"entity_id"})) {
      differences.push_back(fmt::format("it has another unique key, {}", name));
    }
  }
}

}  // namespace

std::vector<std::string> table_differences(const sql::Database& database, const IndexDefinition& definition) {
  std::vector<std::string> differences;
  const sql::Result table =
      database->query("SELECT engine FROM information_schema.tables WHERE " + in_this_table(database, definition));
  if (table.empty()) {
    return {"the table does not exist"};
  }
  if (base::ascii_lower(table.cell(0, 0).value_or("")) != "innodb") {
    differences.push_back(fmt::format("its engine is {} instead of InnoDB", table.cell(0, 0).value_or("unknown")));
  }
  compare_columns(database, definition, differences);
  compare_keys(database, definition, differences);
  return differences;
}

}  // namespace looseleaf::shard
