// Makes ids of keys, with libuuid's SHA-1.
#include "model/key.hpp"

#include <fmt/format.h>
#include <uuid/uuid.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "model/condition.hpp"
#include "model/json/strict_json.hpp"
#include "model/row_rules.hpp"
#include "model/scalar.hpp"

namespace looseleaf {
namespace {

using KeyValue = std::variant<std::string, std::int64_t>;
using KeyValues = std::map<std::string, KeyValue>;  // by property

constexpr const char* possible_values = "a key has strings, and whole numbers of 64 bits without fraction or exponent";

// nlohmann writes strings and integers as RFC 8785 does.
Uuid id_of(const KeyValues& values) {
  constexpr Uuid name_space{
      {0x56, 0xe8, 0x61, 0x88, 0x42, 0x52, 0x5a, 0xf0, 0xae, 0x24, 0xb2, 0x6a, 0x78, 0x3c, 0x3b, 0xe2}};
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& pair : values) {
    std::visit([&](const auto& value) { pairs.push_back({pair.first, value}); }, pair.second);
  }
  const std::string text = pairs.dump();
  Uuid id;
  ::uuid_generate_sha1(id.bytes.data(), name_space.bytes.data(), text.data(), text.size());
  return id;
}

Error invalid_key(std::string_view text, const std::string& what, const std::string& hint) {
  return {ErrorCode::usage, what, {{"key", std::string(text)}}, hint};
}

// Returns the end of the first part of a key: of "name=value" up to a comma that is not in a JSON string.
std::size_t end_of_part(std::string_view text) {
  std::size_t at = 0;
  const auto skip_string = [&] {
    if (at < text.size() && text[at] == '"') {
      at += std::min(model::end_of_string(text.substr(at)), text.size() - at);
    }
  };
  skip_string();
  at = std::min(text.find_first_of("=,", at), text.size());
  if (at < text.size() && text[at] == '=') {
    ++at;
    skip_string();
  }
  return std::min(text.find(',', at), text.size());
}

Condition parse_part(std::string_view key, std::string_view part) {
  const auto invalid = [&] {
    return invalid_key(key, "invalid key",
                       "write name=value,name=value; a value that contains a comma is written in double quotes: "
                       "'name=\"a,b\"'");
  };
  Condition condition;
  try {
    condition = Condition::parse(part);
  } catch (const Error&) {
    throw invalid();
  }
  if (condition.op != Operator::equal || condition.each) {
    throw invalid();
  }
  return condition;
}

KeyValue parse_value(std::string_view key, const Condition& part) {
  const auto invalid = [&] {
    return invalid_key(key, "a key cannot have this value",
                       fmt::format("{}; if {} is a string, quote it: '{}=\"{}\"'", possible_values, part.value,
                                   part.property, part.value));
  };
  std::optional<Scalar> scalar;
  try {
    scalar = model::to_scalar(model::parse_strict(part.value, model::BigIntegers::with_all_digits));
  } catch (const model::JsonFault& fault) {
    if (fault.kind == model::JsonFaultKind::number_range) {
      throw invalid();
    }
  }
  if (!scalar) {
    if (part.value.starts_with('"')) {  // the quote is not closed, or something follows it
      throw invalid_key(key, "invalid key",
                        "close the double quotes at the end of the value; a quote that is part of it is written \\\"");
    }
    return part.value;
  }
  if (const auto* const string = std::get_if<std::string>(&*scalar)) {
    return *string;
  }
  if (const auto* const number = std::get_if<std::int64_t>(&*scalar)) {
    return *number;
  }
  throw invalid();
}

// The type is one that a key can have.
std::optional<KeyValue> key_value_of(const model::ParsedEntity& entity, const std::string& property) {
  const auto strings = entity.property_values({.name = property, .type = PropertyType::string});
  if (!strings.empty()) {
    return std::get<std::string>(strings.front());
  }
  const auto integers = entity.property_values({.name = property, .type = PropertyType::integer});
  return integers.empty() ? std::nullopt : std::optional<KeyValue>(std::get<std::int64_t>(integers.front()));
}

}  // namespace

Key::Key(std::vector<std::string> properties) : properties_(std::move(properties)) {
  std::sort(properties_.begin(), properties_.end());
  const auto refuse = [](const std::string& property, const char* what) {
    throw Error(ErrorCode::usage, what, {{"property", property}}, "name the properties of the key: --key trip,column");
  };
  if (properties_.empty() || properties_.front().empty()) {
    refuse("", "a property of the key has no name");
  }
  if (const auto wrong = std::find_if(properties_.begin(), properties_.end(), model::rules::has_empty_key);
      wrong != properties_.end()) {
    refuse(*wrong, "invalid property path");
  }
  if (const auto twice = std::adjacent_find(properties_.begin(), properties_.end()); twice != properties_.end()) {
    refuse(*twice, "a property comes twice in the key");
  }
  if (std::binary_search(properties_.begin(), properties_.end(), "id")) {
    refuse("id", "the id cannot be in the key of which it is made");
  }
}

KeyWithValues KeyWithValues::parse(std::string_view text) {
  if (!base::is_utf8(text)) {
    throw invalid_key("", "the key is not UTF-8 text", "check the encoding of the terminal or the script");
  }
  KeyValues values;
  std::vector<std::string> properties;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view part = text.substr(at, end_of_part(text.substr(at)));
    const Condition condition = parse_part(text, part);
    properties.push_back(condition.property);
    values.emplace(condition.property, parse_value(text, condition));
    at += part.size() + 1;
  }
  const bool has_number = std::any_of(
      values.begin(), values.end(), [](const auto& pair) { return std::holds_alternative<std::int64_t>(pair.second); });
  return {Key(std::move(properties)), id_of(values), has_number};
}

namespace model {

Uuid id_of_key(const Key& key, const ParsedEntity& entity, Position position) {
  KeyValues values;
  for (const std::string& property : key.properties()) {
    std::optional<KeyValue> value = key_value_of(entity, property);
    if (!value) {
      throw Error(ErrorCode::bad_entity, "the entity has no value that its key can have",
                  {{"line", std::to_string(position.line)},
                   {"column", std::to_string(position.column)},
                   {"property", property}},
                  fmt::format("give the entity this property; {}", possible_values));
    }
    values.emplace(property, *std::move(value));
  }
  return id_of(values);
}

}  // namespace model
}  // namespace looseleaf
