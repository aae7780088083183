// The scalars of JSON: reading them, writing them, and the one place that compares them.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace looseleaf::model {

// Returns the scalar that parse_strict() has read, if it kept all digits; absent for an object or an array.
[[nodiscard]] std::optional<Scalar> to_scalar(const nlohmann::json& value);

// Returns the scalar as JSON.
[[nodiscard]] std::string to_json(const Scalar& value);

// Returns the double nearest to a whole number, which is in the range of a double.
[[nodiscard]] double nearest_double(std::string_view digits);

// Compares two whole numbers beyond std::int64_t by their digits.
[[nodiscard]] std::strong_ordering compare_digits(std::string_view a, std::string_view b);

// Compares a JSON value with a scalar. See row_rules.hpp for Node. Two numbers are in the order of their values,
// whatever way they are written: two whole numbers by all their digits, any others as doubles. So a number that is
// written with a fraction or an exponent is no more exact than a double. Strings are in the order of their bytes.
// Values of other types are equivalent or unordered, and so are values of different types.
template <typename Node>
struct CompareNode {
  using Order = std::partial_ordering;
  const Node& node;

  Order operator()(std::monostate /*null*/) const { return node.is_null() ? Order::equivalent : Order::unordered; }
  Order operator()(bool value) const { return node.boolean() == value ? Order::equivalent : Order::unordered; }
  Order operator()(std::int64_t value) const {
    if (const auto integer = node.integer()) {
      return *integer <=> value;
    }
    const auto digits = node.big_integer();
    return digits ? (is_negative(*digits) ? Order::less : Order::greater)
                  : order(node.fraction(), static_cast<double>(value));
  }
  Order operator()(double value) const { return order(node.number(), value); }
  Order operator()(const std::string& value) const { return order(node.string(), std::string_view(value)); }
  Order operator()(const BigInteger& value) const {
    if (node.integer()) {
      return is_negative(value.digits) ? Order::greater : Order::less;
    }
    const auto digits = node.big_integer();
    return digits ? compare_digits(*digits, value.digits) : order(node.fraction(), nearest_double(value.digits));
  }

 private:
  static bool is_negative(std::string_view digits) { return digits.front() == '-'; }
  template <typename T>
  static Order order(const std::optional<T>& a, const T& b) {
    return a ? Order(*a <=> b) : Order::unordered;
  }
};

template <typename Node>
std::partial_ordering compare(const Node& node, const Scalar& value) {
  return std::visit(CompareNode<Node>{node}, value);
}

template <typename Node>
bool equals(const Node& node, const Scalar& value) {
  return compare(node, value) == std::partial_ordering::equivalent;
}

}  // namespace looseleaf::model
