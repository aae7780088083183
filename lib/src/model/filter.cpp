// Filters entities by any of their properties.
#include "model/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "model/condition.hpp"
#include "model/json/strict_json.hpp"
#include "model/scalar.hpp"

namespace looseleaf::model {
namespace {

bool may_be_number(std::string_view text) {
  return text.find_first_not_of(" \t\r\n0123456789+-.eE") == std::string_view::npos;
}

// Returns the condition with its value as a JSON string.
std::string with_quotes(const Condition& condition) {
  return fmt::format("'{}{}\"{}\"'", written_name(condition), symbol(condition.op), condition.value);
}

// Returns the value as a JSON scalar if it can be parsed as one, or else as a string.
Scalar parse_scalar(const Condition& condition) {
  const std::string& text = condition.value;
  try {
    return to_scalar(parse_strict(text, nullptr, BigIntegers::with_all_digits)).value_or(text);
  } catch (const JsonFault& fault) {
    if (fault.kind == JsonFaultKind::number_range && may_be_number(text)) {
      throw Error(ErrorCode::usage, "number in a filter is out of range",
                  {{"property", written_name(condition)}, {"value", text}},
                  fmt::format("no entity has a number beyond the range of a double; to compare with a string, quote "
                              "the value: {}",
                              with_quotes(condition)));
    }
    return text;
  }
}

bool compares(Operator op) {
  return op == Operator::less || op == Operator::less_equal || op == Operator::greater || op == Operator::greater_equal;
}

Scalar value_of(const Condition& condition) {
  if (condition.op == Operator::prefix && !condition.value.starts_with('"')) {
    return condition.value;  // the beginning of a string may look like a number
  }
  Scalar value = parse_scalar(condition);
  const bool has_order = !std::holds_alternative<std::monostate>(value) && !std::holds_alternative<bool>(value);
  if (compares(condition.op) && !has_order) {
    throw Error(ErrorCode::usage, "only numbers and strings have an order",
                {{"property", written_name(condition)}, {"value", condition.value}},
                fmt::format("use = or !=; to compare with a string, quote the value: {}", with_quotes(condition)));
  }
  return value;
}

}  // namespace

Filter::Filter(const std::vector<Condition>& conditions) {
  std::for_each(conditions.begin(), conditions.end(), [this](const Condition& condition) { add(condition); });
}

void Filter::add(const Condition& condition) {
  const bool negated = condition.op == Operator::not_equal;
  const Operator op = negated ? Operator::equal : condition.op;
  const auto alternative = std::find_if(tests_.begin(), tests_.end(), [&](const Test& test) {
    return !test.negated && test.criterion.op == Operator::equal && test.criterion.path == condition.property &&
           test.criterion.each == condition.each;
  });
  if (condition.op == Operator::equal && alternative != tests_.end()) {
    alternative->criterion.any_of.push_back(value_of(condition));
    return;
  }
  Test& test = tests_.emplace_back();
  test.criterion = {condition.property, condition.each, op, {}};
  test.negated = negated;
  if (op != Operator::exists) {
    test.criterion.any_of.push_back(value_of(condition));
  }
}

bool Filter::matches(const ParsedEntity& entity) const {
  ++read_;
  bool all = true;
  for (const Test& test : tests_) {
    if (all || !test.known) {
      const Examined examined = entity.examine(test.criterion);
      if (examined.exists && !test.known) {
        test.known = true;
      }
      all = all && examined.meets != test.negated;
    }
  }
  return all;
}

void Filter::warn_of_unknown_properties(base::Warnings& warnings, Reading reading) const {
  constexpr std::uint64_t many = 1000;
  if (read_ < (reading == Reading::goes_on ? many : 1)) {
    return;
  }
  for (const Test& test : tests_) {
    if (!test.known) {
      const Criterion& criterion = test.criterion;
      warnings.give(
          {criterion.each ? "no entity that was read has an element of the array that a filter names"
                          : "no entity that was read has the property that a filter names",
           {{"property", written_name({criterion.path, criterion.op, {}, criterion.each})}},
           "check the spelling of the name: capital letters differ from small ones, and spaces belong to it"});
    }
  }
}

}  // namespace looseleaf::model
