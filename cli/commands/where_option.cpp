// The option --where of query, export, changes and trigger.
#include "cli/commands/where_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <looseleaf/error.hpp>
#include <string_view>

#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

// Whether the value goes on with "and" or "or", a name and an operator.
bool looks_like_two_conditions(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto from = [](std::string_view text, std::size_t at) { return text.substr(std::min(at, text.size())); };
  for (const std::string_view joined_by : {" and ", " or ", " && ", " || "}) {
    const std::size_t at = value.find(joined_by);
    if (at == std::string::npos) {
      continue;
    }
    std::string_view rest = from(value, at + joined_by.size());
    rest = from(rest, rest.find_first_not_of(' '));
    const std::string_view behind_name = from(rest, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.[]"));
    const std::string_view op = from(behind_name, behind_name.find_first_not_of(' '));
    const bool has_name = behind_name.size() < rest.size() && (rest.front() < '0' || rest.front() > '9');
    if (has_name && (op.find_first_of("=<>!^") == 0 || behind_name == " exists")) {
      return true;
    }
  }
  return false;
}

Condition filter_of(const std::string& text) {
  if (text.starts_with("--")) {
    throw Error(ErrorCode::usage, "another option is the value of --where", {{"option", "--where"}, {"value", text}},
                "write --where name=value; write a name that begins with -- in double quotes: '\"--name\"=value'");
  }
  try {
    return Condition::parse(text);
  } catch (Error& error) {
    error.with("option", "--where");
    if (!text.empty() && text.find_first_of("=<>\"") == std::string::npos && text.find(' ') == std::string::npos) {
      error.with_hint(
          fmt::format("write --where {0}=VALUE, or --where '{0} exists'; other operators are != < <= > >= "
                      "^=, and need quotes",
                      text));
    }
    throw;
  }
}

}  // namespace

void warn_of_joined_conditions(const std::string& text, const Condition& condition, const std::string& hint) {
  if (!condition.value.starts_with('"') && looks_like_two_conditions(condition.value)) {
    print_warning("one condition looks like two: all that follows its operator is the value", {{"condition", text}},
                  hint);
  }
}

Parameter where_parameter(std::vector<std::string>& texts, Explained explained) {
  return {
      .name = "--where",
      .value = "COND",
      .help = "filter by a condition on any property: `name=value`, `'name!=value'`, `'name>value'`, `'name exists'`",
      .target = &texts,
      .details =
          explained == Explained::by_query
              ? "`looseleaf query --help` explains conditions."
              : "The operators are `=`, `!=`, `<`, `<=`, `>`, `>=`, `^=` (begins with) and `exists`; quote them, "
                "since a shell takes `<`, `>` and spaces for itself. `name[]` means any element of an array. The "
                "value is a JSON scalar if it can be read as one (`1`, `true`, `null`, `\"1\"`), else a string. A "
                "number never equals a string. Numbers are compared by value: `1` equals 1.0; strings by their "
                "bytes. `!=` is true wherever `=` is not, so also if the property is absent. If the option is "
                "repeated, all conditions must hold, but several values of one name with `=` mean any of them. A "
                "warning says if nothing that was read has the property, or a value of this type there."};
}

std::vector<Condition> filters_of(const std::vector<std::string>& texts) {
  std::vector<Condition> filters;
  for (const std::string& text : texts) {
    filters.push_back(filter_of(text));
    warn_of_joined_conditions(text, filters.back(), "repeat --where, once for each of them");
  }
  return filters;
}

}  // namespace looseleaf::cli
