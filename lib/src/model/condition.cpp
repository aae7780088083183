// Reads conditions as they are written on the command line. This is the only parser of them.
#include "model/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace looseleaf {
namespace {

constexpr std::string_view exists = " exists", elements = "[]", comparing = "=<>";

Error invalid(std::string_view text, const std::string& what, const std::string& hint) {
  return {ErrorCode::usage, what, {{"condition", std::string(text)}}, hint};
}

Error without_operator(std::string_view text) {
  return invalid(text, "invalid condition",
                 "write name=value, or with another operator: name!=value, name<value, name<=value, name>value, "
                 "name>=value, name^=prefix, or 'name exists'; in a shell, what has < or > needs quotes");
}

Error without_name(std::string_view text) {
  return invalid(text, "invalid condition", "write the name of a property before the operator: name=value");
}

// The beginning of a condition, up to the operator.
struct Name {
  std::string property;
  bool each = false;
  bool quoted = false;
  std::size_t size = 0;  // in the text, with quotes and [], but without the operator
};

Name quoted_name(std::string_view text) {
  const std::size_t end = model::end_of_string(text);
  const auto property = nlohmann::json::parse(text.substr(0, end), nullptr, false);
  if (end == std::string_view::npos || !property.is_string()) {
    throw invalid(text, "invalid condition",
                  R"(close the name's quotes: write "name"=value, with the name as a JSON string)");
  }
  const bool each = text.substr(end).starts_with(elements);
  return {property.get<std::string>(), each, true, end + (each ? elements.size() : 0)};
}

// Reads a name that ends before the first operator, or before " exists" if there is none.
Name plain_name(std::string_view text) {
  const std::size_t at = text.find_first_of(comparing);
  std::size_t size = text.size();
  if (at != std::string_view::npos) {
    const bool has_prefix = text[at] == '=' && at > 0 && (text[at - 1] == '^' || text[at - 1] == '!');
    size = at - (has_prefix ? 1 : 0);
  } else if (text.ends_with(exists)) {
    size -= exists.size();
  } else {
    throw without_operator(text);
  }
  const std::string_view name = text.substr(0, size);
  const bool each = name.ends_with(elements);
  return {std::string(name.substr(0, size - (each ? elements.size() : 0))), each, false, size};
}

struct OperatorAt {
  Operator op;
  std::size_t size;
};

// Returns the operator that the text begins with.
std::optional<OperatorAt> operator_at(std::string_view text) {
  using enum Operator;
  for (const Operator op : {not_equal, less_equal, greater_equal, prefix, equal, less, greater}) {  // longer ones first
    const std::string_view symbol = model::symbol(op);
    if (text.starts_with(symbol)) {
      return OperatorAt{op, symbol.size()};
    }
  }
  return text == model::symbol(Operator::exists) ? std::optional(OperatorAt{Operator::exists, text.size()})
                                                 : std::nullopt;
}

std::string quoted(const Name& name) {
  using nlohmann::json;
  return json(name.property).dump(-1, ' ', false, json::error_handler_t::replace) +
         std::string(name.each ? elements : "");
}

// A notation of other languages, which would be read as an operator and a value that nobody means.
struct OtherNotation {
  std::string_view symbol, meant;
};
constexpr std::array<OtherNotation, 4> other_notations = {{{"<>", "!="}, {"==", "="}, {"=>", ">="}, {"=<", "<="}}};

// Throws if a plain name is followed by another notation, or has one for the elements of an array. With the name in
// double quotes, its characters count as they stand.
void refuse_other_notation(std::string_view text, const Name& name) {
  const std::string_view rest = text.substr(name.size);
  const auto* const found = std::find_if(other_notations.begin(), other_notations.end(),
                                         [&](const auto& one) { return rest.starts_with(one.symbol); });
  if (found != other_notations.end()) {
    const std::string_view value = rest.substr(found->symbol.size());
    throw invalid(
        text, fmt::format("conditions do not support {}", found->symbol),
        fmt::format("write '{}{}{}'; if the value begins with {}, write the property's name in double quotes: "
                    "'{}{}{}'",
                    text.substr(0, name.size), found->meant, value, found->symbol[1], quoted(name), found->symbol,
                    value));
  }
  std::string path = name.property;
  const auto inside = [&] {
    return path.ends_with(elements) ? path.size() - elements.size() : path.find(std::string(elements) + ".");
  };
  for (std::size_t at = inside(); at != std::string::npos; at = inside()) {
    path.erase(at, elements.size());
  }
  if (path.empty()) {
    throw without_name(text);
  }
  if (path != name.property) {
    throw invalid(
        text, "[] inside a property's name",
        fmt::format("write '{}[]{}': a path goes on inside the elements of the first array on it; if the name "
                    "contains [], write it in double quotes: '{}{}'",
                    path, rest, quoted(name), rest));
  }
}

}  // namespace

Condition Condition::parse(std::string_view text) {
  const Name name = text.starts_with('"') ? quoted_name(text) : plain_name(text);
  const auto found = operator_at(text.substr(name.size));
  if (!found) {
    throw without_operator(text);
  }
  if (name.property.empty()) {
    throw without_name(text);
  }
  if (!name.quoted) {
    refuse_other_notation(text, name);
  }
  return Condition{name.property, found->op, std::string(text.substr(name.size + found->size)), name.each};
}

namespace model {

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::equal:
      return "=";
    case Operator::less:
      return "<";
    case Operator::less_equal:
      return "<=";
    case Operator::greater:
      return ">";
    case Operator::greater_equal:
      return ">=";
    case Operator::prefix:
      return "^=";
    case Operator::not_equal:
      return "!=";
    case Operator::exists:
      return exists;
  }
  return "";
}

std::string written_name(const Condition& condition) {
  return condition.property + std::string(condition.each ? elements : "");
}

std::size_t end_of_string(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return at < text.size() ? at + 1 : std::string_view::npos;
}

bool is_lower_bound(Operator op) {
  return op == Operator::greater || op == Operator::greater_equal;
}

Warning nothing_between(const std::string& property) {
  return {"no value lies between the two bounds of a property",
          {{"property", property}},
          "the value behind > has to be less than the one behind <"};
}

bool holds(Operator op, std::partial_ordering order) {
  switch (op) {
    case Operator::equal:
      return order == 0;
    case Operator::less:
      return order < 0;
    case Operator::less_equal:
      return order <= 0;
    case Operator::greater:
      return order > 0;
    case Operator::greater_equal:
      return order >= 0;
    case Operator::prefix:
    case Operator::not_equal:
    case Operator::exists:
      break;
  }
  return false;
}

}  // namespace model
}  // namespace looseleaf
