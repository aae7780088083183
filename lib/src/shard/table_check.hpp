// Checks an index table against its definition.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <string>
#include <vector>

#include "sql/database.hpp"

namespace looseleaf::shard {

// Returns one sentence for each difference in columns, types, collations and keys; empty if there is none.
[[nodiscard]] std::vector<std::string> table_differences(const sql::Database& database,
                                                         const IndexDefinition& definition);

}  // namespace looseleaf::shard
