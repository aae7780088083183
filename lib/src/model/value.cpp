// Converts typed values from query text, to columns and to reports.
#include "model/value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) {
    return std::nullopt;
  }
  return number;
}

// Returns the nearest double. For a number that is too close to 0, that is 0: from_chars() reports such a number just
// as one that is too large, and the JSON parser tells them apart.
std::optional<Value> parse_double(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (at != end || error == std::errc::invalid_argument) {
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range) {
    const json parsed = json::parse(text, nullptr, false);
    return parsed.is_number_float() ? std::optional<Value>(parsed.get<double>()) : std::nullopt;
  }
  return std::isfinite(number) ? std::optional<Value>(number) : std::nullopt;
}

std::optional<Value> try_parse(PropertyType type, const std::string& text) {
  switch (type) {
    case PropertyType::uuid:
      return Uuid::parse(text);
    case PropertyType::string:
      return base::is_utf8(text) ? std::optional<Value>(text) : std::nullopt;
    case PropertyType::integer:
      return parse_number<std::int64_t>(text);
    case PropertyType::real:
      return parse_double(text);
    case PropertyType::boolean:
      return text == "true" || text == "false" ? std::optional<Value>(text == "true") : std::nullopt;
  }
  return std::nullopt;
}

std::string hint_for(PropertyType type) {
  switch (type) {
    case PropertyType::uuid:
      return "write a uuid as 32 hexadecimal digits, with or without dashes";
    case PropertyType::string:
      return "write a string in valid UTF-8";
    case PropertyType::integer:
      return "write a whole number from -9223372036854775808 to 9223372036854775807";
    case PropertyType::real:
      return "write a number such as 2, -0.5 or 1e6";
    case PropertyType::boolean:
      return "write true or false";
  }
  return {};
}

struct ToJson {
  json operator()(const Uuid& value) const { return looseleaf::to_string(value); }
  json operator()(const std::string& value) const { return value; }
  json operator()(std::int64_t value) const { return value; }
  json operator()(double value) const { return value; }
  json operator()(bool value) const { return value; }
};

}  // namespace

std::string to_json(const Row& row) {
  json values = json::array();
  for (const Value& value : row) {
    values.push_back(std::visit(ToJson{}, value));
  }
  return values.dump(-1, ' ', false, json::error_handler_t::replace);
}

Value parse_value(const Property& property, const std::string& text) {
  std::optional<Value> value = try_parse(property.type, text);
  if (!value) {
    throw Error(ErrorCode::usage, "value does not have its property's type",
                {{"property", property.name}, {"type", to_string(property.type)}, {"value", text}},
                hint_for(property.type));
  }
  return *std::move(value);
}

bool is_cut(const Property& property, const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr && base::utf8_length(*text) > property.max_length;
}

Value as_stored(const Property& property, Value value) {
  if (auto* text = std::get_if<std::string>(&value)) {
    text->resize(base::utf8_prefix(*text, property.max_length).size());
  } else if (auto* number = std::get_if<double>(&value); number != nullptr && *number == 0) {
    *number = 0;  // drops the sign of -0
  }
  return value;
}

}  // namespace looseleaf::model
