// Reads and writes JSON scalars.
#include "model/scalar.hpp"

#include <charconv>
#include <limits>

#include "model/json/strict_json.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

struct ToText {
  std::string operator()(std::monostate /*null*/) const { return "null"; }
  std::string operator()(const BigInteger& value) const { return value.digits; }
  template <typename T>
  std::string operator()(const T& value) const {
    return json(value).dump(-1, ' ', false, json::error_handler_t::replace);
  }
};

}  // namespace

std::optional<Scalar> to_scalar(const json& value) {
  if (const auto digits = big_integer(value)) {
    return BigInteger{*digits};
  }
  switch (value.type()) {
    case json::value_t::null:
      return std::monostate();
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::string:
      return value.get<std::string>();
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return value.get<std::int64_t>();
    case json::value_t::number_float:
      return value.get<double>() + 0.0;  // -0 becomes 0
    default:
      return std::nullopt;
  }
}

std::string to_json(const Scalar& value) {
  return std::visit(ToText{}, value);
}

double nearest_double(std::string_view digits) {
  double number = std::numeric_limits<double>::quiet_NaN();  // equals nothing
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::strong_ordering compare_digits(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) {
    return negative ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const auto order = a.size() != b.size() ? a.size() <=> b.size() : a <=> b;  // JSON has no leading zeros
  return negative ? 0 <=> order : order;
}

}  // namespace looseleaf::model
