// The operators of conditions: how they are written, and when they hold. Both kinds of conditions use this code: those
// on an index and those of Query::where.
#pragma once

#include <compare>
#include <cstddef>
#include <looseleaf/options.hpp>
#include <looseleaf/query.hpp>
#include <string>
#include <string_view>

namespace looseleaf::model {

// Returns the operator as it is written between a name and a value; for Operator::exists " exists".
[[nodiscard]] std::string_view symbol(Operator op);

// Returns the condition's property as it is written, with "[]" for the elements of an array, but without quotes.
[[nodiscard]] std::string written_name(const Condition& condition);

// Returns the end of the JSON string that the text begins with; npos if it is not closed.
[[nodiscard]] std::size_t end_of_string(std::string_view text);

// True if a value that compares in this way with a condition's value meets the condition. Only for operators that
// compare, from Operator::equal to Operator::greater_equal.
[[nodiscard]] bool holds(Operator op, std::partial_ordering order);

// True if a value that meets one operator is above the condition's value.
[[nodiscard]] bool is_lower_bound(Operator op);

// The warning of two bounds on one property, of which the lower one is the higher one.
[[nodiscard]] Warning nothing_between(const std::string& property);

}  // namespace looseleaf::model
