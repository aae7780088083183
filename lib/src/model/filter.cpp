// Filters entities by any of their properties.
#include "model/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "model/condition.hpp"
#include "model/json/strict_json.hpp"
#include "model/row_rules.hpp"
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
    return to_scalar(parse_strict(text, BigIntegers::with_all_digits)).value_or(text);
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

unsigned kind_of(const Scalar& value) {
  constexpr unsigned of_alternative[] = {kinds::null,   kinds::boolean, kinds::number,
                                         kinds::number, kinds::string,  kinds::number};
  return of_alternative[value.index()];
}

unsigned wanted_kinds(const Criterion& criterion) {
  unsigned wanted = 0;
  for (const Scalar& value : criterion.any_of) {
    wanted |= kind_of(value);
  }
  return wanted;
}

// Returns the condition as a value of --where.
std::string option_with(const Condition& condition, const std::string& name, const std::string& value) {
  return fmt::format("--where '{}{}{}'", name, symbol(condition.op), value);
}

// How to write a condition on values of the types that were found.
std::string hint_for(const Condition& condition, unsigned wanted, unsigned found) {
  const std::string name = written_name(condition);
  const std::string& value = condition.value;
  if (value.starts_with('[') || value.starts_with('{')) {
    return fmt::format("only one value, not an array or object, can be compared with, here an element's: {}",
                       option_with(condition, condition.property + "[]", "VALUE"));
  }
  if ((found & kinds::array) != 0 && !condition.each) {
    return fmt::format("there is an array, and [] means any element of it: {}",
                       option_with(condition, name + "[]", value));
  }
  if ((found & kinds::string) != 0 && wanted != kinds::string) {
    return fmt::format("there is a string, which never equals a number, true or false; quote the value: {}",
                       option_with(condition, name, '"' + value + '"'));
  }
  if ((found & (kinds::number | kinds::boolean)) != 0 && wanted == kinds::string && value.starts_with('"')) {
    return fmt::format("a string never equals a number, true or false; leave the quotes out: {}",
                       option_with(condition, name, value.substr(1, value.size() - 2)));
  }
  return "only values of the same type are compared, and `^=` is for strings";
}

// For a path that may lead through an array.
std::string hint_for_array(const Condition& condition) {
  const bool is_path = condition.property.find('.') != std::string::npos;
  return condition.each || !is_path ? ""
                                    : "; if an array is on the way, write " +
                                          option_with(condition, condition.property + "[]", condition.value);
}

bool is_greater(const Scalar& a, const Scalar& b) {
  if (const auto* const text = std::get_if<std::string>(&a)) {
    return std::holds_alternative<std::string>(b) && *text > std::get<std::string>(b);
  }
  const auto number = [](const Scalar& value) {
    const auto* const integer = std::get_if<std::int64_t>(&value);
    const auto* const fraction = std::get_if<double>(&value);
    return integer ? std::optional(static_cast<double>(*integer)) : fraction ? std::optional(*fraction) : std::nullopt;
  };
  return number(a) && number(b) && *number(a) > *number(b);
}

bool is_quoted(const std::string& value) {
  return value.size() > 1 && value.front() == '\'' && value.back() == '\'';
}

}  // namespace

Filter::Filter(const std::vector<Condition>& conditions) {
  std::for_each(conditions.begin(), conditions.end(), [this](const Condition& condition) { add(condition); });
}

void Filter::add(const Condition& condition) {
  if (rules::has_empty_key(condition.property)) {
    throw Error(ErrorCode::usage, "invalid property path", {{"property", written_name(condition)}},
                "join keys with single dots");
  }
  if (!base::is_utf8(condition.value) || !base::is_utf8(condition.property)) {
    throw Error(ErrorCode::usage, "a condition is not UTF-8 text", {{"property", written_name(condition)}},
                "check the encoding of the terminal or the script");
  }
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
  test.written = condition;
  if (op != Operator::exists) {
    test.criterion.any_of.push_back(value_of(condition));
  }
}

bool Filter::matches(const ParsedEntity& entity) const {
  ++read_;
  bool all = true;
  for (const Test& test : tests_) {
    if (all || !test.met) {
      const Examined examined = entity.examine(test.criterion);
      if ((examined.found & ~test.found) != 0) {
        test.found |= examined.found;
      }
      if (examined.meets && !test.met) {
        test.met = true;
      }
      all = all && examined.meets != test.negated;
    }
  }
  return all;
}

void Filter::warn_of_mistakes(base::Warnings& warnings, Reading reading) const {
  constexpr std::uint64_t many = 1000;
  if (read_ < (reading == Reading::goes_on ? many : 1)) {
    return;
  }
  for (const Test& test : tests_) {
    if (const std::optional<Warning> mistake = test.met ? std::nullopt : mistake_in(test, reading)) {
      warnings.give(*mistake);
    }
    if (std::any_of(tests_.begin(), tests_.end(), [&](const Test& other) { return exclude_each_other(test, other); })) {
      warnings.give(nothing_between(written_name(test.written)));
    }
  }
}

// Elements of an array may meet one bound each.
bool Filter::exclude_each_other(const Test& lower, const Test& upper) {
  const Operator op = upper.criterion.op;
  return lower.criterion.path == upper.criterion.path && !lower.criterion.each && !upper.criterion.each &&
         is_lower_bound(lower.criterion.op) && (op == Operator::less || op == Operator::less_equal) &&
         is_greater(lower.criterion.any_of.front(), upper.criterion.any_of.front());
}

// Nothing is ever equal to null by mistake: where there is no null, `!=null` is true as it should be.
std::optional<Warning> Filter::mistake_in(const Test& test, Reading reading) {
  const Condition& condition = test.written;
  const unsigned wanted = wanted_kinds(test.criterion), found = test.found;
  Error::Context context = {{"property", written_name(condition)}};
  if (found == 0) {
    return Warning{condition.each ? "no entity that was read has an element of the array that a filter names"
                                  : "no entity that was read has the property that a filter names",
                   std::move(context),
                   "check the spelling of the name: capital letters differ from small ones, and spaces belong to it" +
                       hint_for_array(condition)};
  }
  context.emplace_back("value", condition.value);
  if (wanted != 0 && (wanted & (kinds::null | found)) == 0 && found != kinds::null) {
    return Warning{"no value that was read has the type of the value that a filter compares with", std::move(context),
                   hint_for(condition, wanted, found)};
  }
  if (wanted == kinds::string && is_quoted(condition.value)) {
    return Warning{"the quotes in a filter belong to the value, and no value that was read meets it",
                   std::move(context),
                   "leave them out: " + option_with(condition, written_name(condition),
                                                    condition.value.substr(1, condition.value.size() - 2))};
  }
  const bool may_come = reading == Reading::goes_on;  // that one entity which was not among many others
  if (wanted == kinds::string && condition.property == "id" && Uuid::parse(condition.value) && !may_come) {
    return Warning{"a filter compares the text of an id, and no entity that was read has this text", std::move(context),
                   "write the id exactly as it was put, or run `looseleaf get`, to which dashes and capital letters "
                   "make no difference"};
  }
  const std::size_t length = condition.value.find_last_not_of("*%") + 1;
  if (wanted == kinds::string && length > 0 && length < condition.value.size()) {
    return Warning{"* and % in a filter stand for themselves, and no value that was read meets it", std::move(context),
                   "to find what begins with a text, write " +
                       fmt::format("--where '{}^={}'", written_name(condition), condition.value.substr(0, length))};
  }
  return std::nullopt;
}

}  // namespace looseleaf::model
