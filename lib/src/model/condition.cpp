// Reads query conditions as they are written on the command line.
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>

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

}  // namespace

Condition Condition::parse(std::string_view text) {
  const std::size_t at = text.find_first_of("=<>");
  const Split split = at == std::string_view::npos ? Split{} : split_at(text, at);
  if (split.at == 0) {
    throw Error(
        ErrorCode::usage, "invalid condition", {{"condition", std::string(text)}},
        "write name=value, or with another operator: name>value, name>=value, name<value, name<=value, name^=prefix");
  }
  return Condition{std::string(text.substr(0, split.at)), split.op, std::string(text.substr(split.at + split.size))};
}

}  // namespace looseleaf
