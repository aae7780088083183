// Filters entities by properties that the index does not have.
#include "model/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <string_view>

#include "model/json/strict_json.hpp"
#include "model/scalar.hpp"

namespace looseleaf::model {
namespace {

bool may_be_number(std::string_view text) {
  return text.find_first_not_of(" \t\r\n0123456789+-.eE") == std::string_view::npos;
}

// Returns the text as a JSON scalar if it can be parsed as one, or else as a string.
Scalar parse_scalar(const std::string& property, const std::string& text) {
  try {
    return to_scalar(parse_strict(text, nullptr, BigIntegers::with_all_digits)).value_or(text);
  } catch (const JsonFault& fault) {
    if (fault.kind == JsonFaultKind::number_range && may_be_number(text)) {
      throw Error(ErrorCode::usage, "number in a filter is out of range", {{"property", property}, {"value", text}},
                  fmt::format("no entity has a number beyond the range of a double; to compare with a string, quote "
                              "the value: '{}=\"{}\"'",
                              property, text));
    }
    return text;
  }
}

}  // namespace

Filter::Filter(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    if (condition.op != Operator::equal) {
      throw Error(ErrorCode::usage, "a filter supports only =", {{"property", condition.property}},
                  "write name=value; for a range, use an index that has the property");
    }
    any_of_[condition.property].push_back(parse_scalar(condition.property, condition.value));
  }
}

bool Filter::matches(const ParsedEntity& entity) const {
  return std::all_of(any_of_.begin(), any_of_.end(), [&](const auto& property) {
    return std::any_of(property.second.begin(), property.second.end(),
                       [&](const Scalar& value) { return entity.has_value(property.first, value); });
  });
}

}  // namespace looseleaf::model
