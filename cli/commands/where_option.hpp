// The option --where of query, export, changes and trigger.
#pragma once

#include <looseleaf/query.hpp>
#include <string>
#include <vector>

namespace looseleaf::cli {

// Reads the values of --where. Throws Error(usage).
[[nodiscard]] std::vector<Condition> filters_of(const std::vector<std::string>& texts);

}  // namespace looseleaf::cli
