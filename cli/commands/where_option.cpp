// The option --where of query, export, changes and trigger.
#include "cli/commands/where_option.hpp"

#include <fmt/format.h>

#include <looseleaf/error.hpp>

namespace looseleaf::cli {
namespace {

Condition filter_of(const std::string& text) {
  if (text.starts_with("--")) {
    throw Error(ErrorCode::usage, "another option is the value of --where", {{"option", "--where"}, {"value", text}},
                "write --where name=value; write a name that begins with -- in double quotes: '\"--name\"=value'");
  }
  try {
    return Condition::parse(text, Condition::Operators::equality);
  } catch (Error& error) {
    error.with("option", "--where");
    if (!text.empty() && text.find_first_of("=<>\"") == std::string::npos) {
      error.with_hint(fmt::format("write --where {}=VALUE", text));
    }
    throw;
  }
}

}  // namespace

std::vector<Condition> filters_of(const std::vector<std::string>& texts) {
  std::vector<Condition> filters;
  for (const std::string& text : texts) {
    filters.push_back(filter_of(text));
  }
  return filters;
}

}  // namespace looseleaf::cli
