// Reads query conditions as they are written on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// A notation of other languages, which would be read as an operator and a value that nobody means.
struct OtherNotation {
  std::string_view symbol, meant;
};
constexpr std::array<OtherNotation, 5> other_notations = {
    {{"!=", ""}, {"<>", ""}, {"==", "="}, {"=>", ">="}, {"=<", "<="}}};

// Throws if a plain name is followed by another notation. With the name in double quotes, its characters count as they
// stand.
void refuse_other_notation(std::string_view text, const Split& split, Condition::Operators allowed) {
  const bool negated = split.op == Operator::equal && text[split.at - 1] == '!';
  const std::size_t begin = split.at - (negated ? 1 : 0);
  const auto* const found = std::find_if(other_notations.begin(), other_notations.end(), [&](const auto& one) {
    return (negated || split.size == 1) && text.substr(begin, 2) == one.symbol;
  });
  if (found == other_notations.end()) {
    return;
  }
  const bool only_equality = allowed == Condition::Operators::equality;
  const std::string_view name = text.substr(0, begin), value = text.substr(begin + 2);
  std::string hint = only_equality && found->meant != "=" ? "a filter supports only ="
                     : found->meant.empty()               ? "use =, <, <=, >, >= or ^="
                                                          : fmt::format("write '{}{}{}'", name, found->meant, value);
  if (negated) {
    hint += fmt::format("; if the property's name ends in !, write it in double quotes: '{}={}'",
                        quoted(text.substr(0, split.at)), value);
  } else if (!only_equality || split.op == Operator::equal) {
    hint += fmt::format("; if the value begins with {}, write the property's name in double quotes: '{}{}{}'",
                        found->symbol[1], quoted(name), found->symbol, value);
  }
  throw Error(ErrorCode::usage, fmt::format("conditions do not support {}", found->symbol),
              {{"condition", std::string(text)}}, hint);
}

}  // namespace

Condition Condition::parse(std::string_view text, Operators allowed) {
  const std::size_t name_end = text.starts_with('"') ? end_of_string(text) : 0;
  const std::string name = name_end > 0 ? quoted_name(text, name_end) : std::string();
  const std::size_t at = text.find_first_of("=<>", name_end);
  const Split split = at == std::string_view::npos ? Split{} : split_at(text, at);
  if (split.at == 0 || (name_end > 0 && (split.at != name_end || name.empty()))) {
    throw invalid(text, allowed == Operators::equality
                            ? "write name=value"
                            : "write name=value, or with another operator: name>value, name>=value, name<value, "
                              "name<=value, name^=prefix");
  }
  const std::string_view plain_name = text.substr(0, split.at);
  if (name_end == 0) {
    refuse_other_notation(text, split, allowed);
  }
  return Condition{name_end > 0 ? name : std::string(plain_name), split.op,
                   std::string(text.substr(split.at + split.size))};
}

}  // namespace looseleaf
