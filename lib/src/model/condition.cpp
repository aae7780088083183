// Reads query conditions as they are written on the command line.
#include <fmt/format.h>

#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <nlohmann/json.hpp>

namespace looseleaf {
namespace {

struct Split {
  std::size_t at = 0;    // of the operator
  std::size_t size = 0;  // of the operator
  Operator op = Operator::equal;
};

Split split_at(std::string_view text, std::size_t at) {
  const bool or_equal = at + 1 < text.size() && text[at + 1] == '=';
  switch (text[at]) {
    case '<':
      return or_equal ? Split{at, 2, Operator::less_equal} : Split{at, 1, Operator::less};
    case '>':
      return or_equal ? Split{at, 2, Operator::greater_equal} : Split{at, 1, Operator::greater};
    default:
      return at > 0 && text[at - 1] == '^' ? Split{at - 1, 2, Operator::prefix} : Split{at, 1, Operator::equal};
  }
}

// Returns the end of the JSON string that the text begins with; npos if it is not closed.
std::size_t end_of_string(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return at < text.size() ? at + 1 : std::string_view::npos;
}

Error invalid(std::string_view text, const std::string& hint) {
  return {ErrorCode::usage, "invalid condition", {{"condition", std::string(text)}}, hint};
}

// Returns the name that is given as a JSON string before `end`.
std::string quoted_name(std::string_view text, std::size_t end) {
  const auto name = nlohmann::json::parse(text.substr(0, end), nullptr, false);
  if (end == std::string_view::npos || !name.is_string()) {
    throw invalid(text, R"(close the name's quotes: write "name"=value, with the name as a JSON string)");
  }
  return name.get<std::string>();
}

std::string quoted(std::string_view name) {
  using nlohmann::json;
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Condition Condition::parse(std::string_view text) {
  const std::size_t name_end = text.starts_with('"') ? end_of_string(text) : 0;
  const std::string name = name_end > 0 ? quoted_name(text, name_end) : std::string();
  const std::size_t at = text.find_first_of("=<>", name_end);
  const Split split = at == std::string_view::npos ? Split{} : split_at(text, at);
  if (split.at == 0 || (name_end > 0 && (split.at != name_end || name.empty()))) {
    throw invalid(text,
                  "write name=value, or with another operator: name>value, name>=value, name<value, name<=value, "
                  "name^=prefix");
  }
  const std::string_view plain_name = text.substr(0, split.at);
  if (name_end == 0 && split.op == Operator::equal && plain_name.ends_with('!')) {
    throw Error(ErrorCode::usage, "conditions do not support !=", {{"condition", std::string(text)}},
                fmt::format("use =, <, <=, >, >= or ^=; if the property's name ends in !, write it in double quotes: "
                            "'{}={}'",
                            quoted(plain_name), text.substr(split.at + split.size)));
  }
  return Condition{name_end > 0 ? name : std::string(plain_name), split.op,
                   std::string(text.substr(split.at + split.size))};
}

}  // namespace looseleaf
