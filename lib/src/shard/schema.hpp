// The tables on every shard, as SQL.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <string>
#include <vector>

#include "sql/errors.hpp"

namespace looseleaf::shard {

inline constexpr unsigned format_version = 5;

// Looseleaf's own tables, or the rows that `init` writes there, are missing on the shard.
class NotInitialised : public Error {
 public:
  NotInitialised();
  // The same if another shard of the cluster is known to be initialised.
  [[nodiscard]] static NotInitialised beside_others();

 private:
  explicit NotInitialised(const std::string& hint);
};
// Adds the option --cluster to each command that a hint names, except to those that have it and to `copy`, which is for
// two clusters.
[[nodiscard]] std::string hint_for_file(std::string hint, const std::string& file);

// Returns CREATE TABLE IF NOT EXISTS statements for `entities` and Looseleaf's own tables.
[[nodiscard]] std::vector<std::string> tool_tables();

// Returns CREATE TABLE for an index table, without its comment and the closing semicolon.
[[nodiscard]] std::string create_index_table(const IndexDefinition& definition, sql::Flavour flavour);

// Returns the comment that ties an index table to its generation, so that no other generation adopts the table.
[[nodiscard]] std::string table_comment(std::uint64_t generation);

}  // namespace looseleaf::shard
