// Checks tables against the statements that create them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/database.hpp"

namespace looseleaf::shard {

// The only difference of a table that does not exist.
inline constexpr const char* no_table = "the table does not exist";

// Returns for each table one sentence for each difference in engine, columns, types, collations and keys; none if there
// is no difference. The statements are those of schema.hpp.
[[nodiscard]] std::vector<std::vector<std::string>> table_differences(const sql::Database& database,
                                                                      std::span<const std::string> create_statements);
// Returns the name of the table that such a statement creates.
[[nodiscard]] std::string table_of(std::string_view create_statement);

}  // namespace looseleaf::shard
