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

// Warns of `a=1 and b=2`, which is one condition, unless its value is written as a JSON string.
void warn_of_joined_conditions(const std::string& text, const Condition& condition, const std::string& hint);

// Reads the values of --where, and warns of some. Throws Error(usage).
[[nodiscard]] std::vector<Condition> filters_of(const std::vector<std::string>& texts);

}  // namespace looseleaf::cli
