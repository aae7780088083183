// The tables on every shard, as SQL.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <string>
#include <vector>

#include "sql/errors.hpp"

namespace looseleaf::shard {

inline constexpr unsigned format_version = 1;

// The tool's own tables, or what `init` writes there, are not on the shard.
class NotInitialised : public Error {
 public:
  NotInitialised();
};

// CREATE TABLE IF NOT EXISTS for `entities` and the tool's own tables.
[[nodiscard]] std::vector<std::string> tool_tables();

// CREATE TABLE of an index table, as --dry-run shows it, without the closing semicolon.
[[nodiscard]] std::string create_index_table(const IndexDefinition& definition, sql::Flavour flavour);

// The comment that ties an index table to its generation, so that no other generation adopts it.
[[nodiscard]] std::string table_comment(std::uint64_t generation);

}  // namespace looseleaf::shard
