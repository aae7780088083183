// Runs SQL statements as a server's client program does, but without starting a program for each.
#pragma once

#include <string>

namespace looseleaf::test {

// Runs `statements`, which semicolons separate, as root over a connection of its own to `socket`. `database` is
// selected unless it is empty. Returns the rows of all results in the form of `mariadb --batch --skip-column-names`.
// Throws std::runtime_error with the server's message at the first statement that fails.
[[nodiscard]] std::string run_sql(const std::string& socket, const std::string& database,
                                  const std::string& statements);

}  // namespace looseleaf::test
