// Filters entities by properties that the index does not have.
#include "model/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>

namespace looseleaf::model {
namespace {

// Returns the text as a JSON scalar if it can be parsed as one, or else as a string.
Scalar parse_scalar(const std::string& property, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  switch (json.type()) {
    case nlohmann::json::value_t::null:
      return std::monostate();
    case nlohmann::json::value_t::boolean:
      return json.get<bool>();
    case nlohmann::json::value_t::string:
      return json.get<std::string>();
    case nlohmann::json::value_t::number_integer:
      return json.get<std::int64_t>();
    case nlohmann::json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        throw Error(ErrorCode::usage, "number in a filter is out of range", {{"property", property}, {"value", text}},
                    fmt::format("use a number of at most {}, or quote it to compare with a string",
                                std::numeric_limits<std::int64_t>::max()));
      }
      return json.get<std::int64_t>();
    case nlohmann::json::value_t::number_float:
      return json.get<double>() + 0.0;  // -0 becomes 0
    default:
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
