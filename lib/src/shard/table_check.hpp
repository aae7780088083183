// Checks a table against the statement that creates it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sql/database.hpp"

namespace looseleaf::shard {

// The only difference of a table that does not exist.
inline constexpr const char* no_table = "the table does not exist";

// Returns one sentence for each difference in engine, columns, types, collations and keys; empty if there is none. The
// statement is one of schema.hpp.
[[nodiscard]] std::vector<std::string> table_differences(const sql::Database& database,
                                                         std::string_view create_statement);
// Returns the name of the table that such a statement creates.
[[nodiscard]] std::string table_of(std::string_view create_statement);

}  // namespace looseleaf::shard
