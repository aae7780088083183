// The tables on every shard, as SQL; docs/format.md explains them.
#include "shard/schema.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

std::string column_type(const Property& property, sql::Flavour flavour) {
  switch (property.type) {
    case PropertyType::uuid:
      return "BINARY(16)";
    case PropertyType::string:
      return fmt::format("VARCHAR({}) CHARACTER SET utf8mb4 COLLATE {}", property.max_length,
                         flavour == sql::Flavour::mariadb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin");
    case PropertyType::integer:
      return "BIGINT";
    case PropertyType::real:
      return "DOUBLE";
    case PropertyType::boolean:
      return "TINYINT(1)";
  }
  return {};
}

bool has_string(const IndexDefinition& definition) {
  for (const Property& property : definition.properties) {
    if (property.type == PropertyType::string) {
      return true;
    }
  }
  return false;
}

}  // namespace

NotInitialised::NotInitialised()
    : NotInitialised(
          "run `looseleaf init` first; if the other shards are initialised, check the name of this database") {}

NotInitialised::NotInitialised(const std::string& hint)
    : Error(ErrorCode::wrong_cluster, "shard is not initialised", {}, hint) {}

NotInitialised NotInitialised::beside_others() {
  return NotInitialised(
      "others are: check the name of this database; if the shard has moved, use the current cluster file; if its data "
      "are lost, restore them from a backup; if `looseleaf init` was interrupted, run it again");
}

std::string hint_for_file(std::string hint, const std::string& file) {
  constexpr std::string_view program = "`looseleaf ";
  const std::string option = fmt::format("--cluster {} ", base::shell_word(file));
  for (std::size_t at = hint.find(program); at != std::string::npos; at = hint.find(program, at)) {
    at += program.size();
    const std::string_view rest = std::string_view(hint).substr(at);
    if (!rest.starts_with("--cluster ") && !rest.starts_with("copy ")) {
      hint.insert(at, option);
    }
  }
  return hint;
}

std::vector<std::string> tool_tables() {
  return {
      "CREATE TABLE IF NOT EXISTS entities (\n"
      "  added_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,\n"
      "  id BINARY(16) NOT NULL,\n"
      "  updated DATETIME(6) NOT NULL,\n"
      "  writer BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
      "  body MEDIUMBLOB,\n"
      "  UNIQUE KEY (id),\n"
      "  KEY (updated)\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_shard (\n"
      "  only_row TINYINT NOT NULL PRIMARY KEY,\n"
      "  cluster_id BINARY(16) NOT NULL,\n"
      "  shard INT UNSIGNED NOT NULL,\n"
      "  shard_count INT UNSIGNED NOT NULL,\n"
      "  format INT UNSIGNED NOT NULL,\n"
      "  epoch BIGINT UNSIGNED NOT NULL,\n"
      "  clock_floor DATETIME(6) NOT NULL,\n"
      "  access VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  access_token BIGINT UNSIGNED NOT NULL,\n"
      "  access_reason VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  access_holder VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  access_since DATETIME(6) NOT NULL,\n"
      "  access_until DATETIME(6)\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_index (\n"
      "  table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,\n"
      "  generation BIGINT UNSIGNED NOT NULL,\n"
      "  state VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  fingerprint CHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  definition MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  since DATETIME(6) NOT NULL\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_progress (\n"
      "  job VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  generation BIGINT UNSIGNED NOT NULL,\n"
      "  position BIGINT UNSIGNED,\n"
      "  barrier DATETIME(6),\n"
      "  detail MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,\n"
      "  token BIGINT UNSIGNED NOT NULL,\n"
      "  holder VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
      "  since DATETIME(6) NOT NULL,\n"
      "  heartbeat DATETIME(6) NOT NULL,\n"
      "  done BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
      "  estimate BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
      "  PRIMARY KEY (job, table_name)\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_cleanup (\n"
      "  token BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n"
      "  since DATETIME(6) NOT NULL,\n"
      "  ids MEDIUMBLOB NOT NULL\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_buffer (\n"
      "  token BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n"
      "  accepted DATETIME(6) NOT NULL,\n"
      "  id BINARY(16) NOT NULL,\n"
      "  first_copy INT UNSIGNED NOT NULL,\n"
      "  second_copy INT UNSIGNED,\n"
      "  body MEDIUMBLOB NOT NULL,\n"
      "  KEY (accepted)\n"
      ") ENGINE=InnoDB",
      "CREATE TABLE IF NOT EXISTS looseleaf_receipt (\n"
      "  token BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n"
      "  accepted DATETIME(6) NOT NULL,\n"
      "  id BINARY(16) NOT NULL,\n"
      "  first_copy INT UNSIGNED,\n"
      "  second_copy INT UNSIGNED,\n"
      "  reason VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,\n"
      "  body MEDIUMBLOB\n"
      ") ENGINE=InnoDB",
  };
}

std::string create_index_table(const IndexDefinition& definition, sql::Flavour flavour) {
  std::string sql = fmt::format("CREATE TABLE {} (\n", sql::quote_identifier(definition.table));
  std::string key;
  for (const Property& property : definition.properties) {
    const std::string column = sql::quote_identifier(property.name);
    sql += fmt::format("  {} {} NOT NULL,\n", column, column_type(property, flavour));
    key += (key.empty() ? "" : ", ") + column;
  }
  sql += fmt::format("  entity_id BINARY(16) NOT NULL{},\n", definition.immutable ? " UNIQUE" : "");
  // With UNIQUE (properties) beside such a primary key, inserts would wait for each other's gap locks.
  sql += fmt::format("  PRIMARY KEY ({}{})", key, definition.unique ? "" : ", entity_id");
  if (!definition.immutable) {
    sql += ",\n  KEY (entity_id)";
  }
  sql += "\n) ENGINE=InnoDB";
  if (has_string(definition)) {
    sql += " ROW_FORMAT=DYNAMIC";  // a server whose default is COMPACT does not allow long keys
  }
  return sql;
}

std::string table_comment(std::uint64_t generation) {
  return fmt::format("looseleaf generation {:016x}", generation);
}

}  // namespace looseleaf::shard
