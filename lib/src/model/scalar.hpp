// The scalars of JSON: reading them, writing them, and the one place that compares them.
#pragma once

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

// Compares a JSON value with a scalar. See row_rules.hpp for Node. Numbers are equal if their values are, whatever way
// they are written: two whole numbers by all their digits, any others as doubles. So a number that is written with a
// fraction or an exponent is no more exact than a double.
template <typename Node>
struct EqualsNode {
  const Node& node;

  bool operator()(std::monostate /*null*/) const { return node.is_null(); }
  bool operator()(bool value) const { return node.boolean() == value; }
  bool operator()(std::int64_t value) const {
    return node.integer() == value || node.fraction() == static_cast<double>(value);
  }
  bool operator()(double value) const { return node.number() == value; }
  bool operator()(const std::string& value) const { return node.string() == value; }
  bool operator()(const BigInteger& value) const {
    return node.big_integer() == value.digits || node.fraction() == nearest_double(value.digits);
  }
};

template <typename Node>
bool equals(const Node& node, const Scalar& value) {
  return std::visit(EqualsNode<Node>{node}, value);
}

}  // namespace looseleaf::model
