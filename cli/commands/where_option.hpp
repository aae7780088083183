// The option --where of query, export, changes and trigger.
#pragma once

#include <looseleaf/query.hpp>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Returns the option, writing into `texts`. Only query explains it in full.
enum class Explained { in_full, by_query };
[[nodiscard]] Parameter where_parameter(std::vector<std::string>& texts, Explained explained);

// Reads the values of --where. Throws Error(usage).
[[nodiscard]] std::vector<Condition> filters_of(const std::vector<std::string>& texts);

}  // namespace looseleaf::cli
