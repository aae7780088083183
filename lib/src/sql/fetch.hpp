// Reads the rows of a statement from the connector.
#pragma once

#include "sql/connector.hpp"
#include "sql/result.hpp"

namespace looseleaf::sql {

// Returns the rows of a statement that was executed; none unless it `announced` some. Throws the connector's
// exceptions.
[[nodiscard]] Result fetch(::sql::Statement& statement, bool announced);
// Executes a prepared statement, and returns its rows as text, like those of any other. Likewise.
[[nodiscard]] Result fetch(::sql::PreparedStatement& statement);

}  // namespace looseleaf::sql
