// Converts simdjson's document to nlohmann's.
#include "model/json/fast_json.hpp"

#include <cmath>
#include <string>

#include "model/json/fast_parser.hpp"
#include "model/json/strict_json.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

bool convert(const element& from, std::size_t depth, json& to);

bool convert_object(const simdjson::dom::object& from, std::size_t depth, json& to) {
  to = json::object();
  auto& members = to.get_ref<json::object_t&>();
  for (const auto& [key, value] : from) {
    const auto [member, is_new] = members.emplace(std::string(key), nullptr);
    if (!is_new || !convert(value, depth + 1, member->second)) {
      return false;
    }
  }
  return true;
}

bool convert_array(const simdjson::dom::array& from, std::size_t depth, json& to) {
  to = json::array();
  auto& elements = to.get_ref<json::array_t&>();
  for (const element value : from) {
    if (!convert(value, depth + 1, elements.emplace_back())) {
      return false;
    }
  }
  return true;
}

// Returns false if the value breaks a limit or a rule of parse_strict(). `depth` objects and arrays are open around it.
bool convert(const element& from, std::size_t depth, json& to) {
  switch (from.type()) {
    case element_type::OBJECT:
      return depth < max_depth && convert_object(from.get_object().value_unsafe(), depth, to);
    case element_type::ARRAY:
      return depth < max_depth && convert_array(from.get_array().value_unsafe(), depth, to);
    case element_type::STRING:
      to = std::string(from.get_string().value_unsafe());
      return true;
    case element_type::INT64: {
      const std::int64_t value = from.get_int64().value_unsafe();
      // nlohmann has different types for negative and other integers.
      to = value < 0 ? json(value) : json(static_cast<std::uint64_t>(value));
      return true;
    }
    case element_type::UINT64:
      to = from.get_uint64().value_unsafe();
      return true;
    case element_type::DOUBLE:
      to = from.get_double().value_unsafe();
      return std::isfinite(to.get<double>());
    case element_type::BOOL:
      to = from.get_bool().value_unsafe();
      return true;
    case element_type::NULL_VALUE:
      to = nullptr;
      return true;
  }
  return false;
}

}  // namespace

std::optional<nlohmann::json> parse_fast(std::string_view text) {
  const base::Pool<FastParser>::Loan parser(FastParser::pool());
  const auto root = parser->parse(text);
  std::optional<nlohmann::json> value(std::in_place);
  if (!root || !convert(*root, 0, *value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace looseleaf::model
