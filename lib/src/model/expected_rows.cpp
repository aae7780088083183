// From an entity to the index rows it calls for.
#include "model/expected_rows.hpp"

#include <algorithm>
#include <limits>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <utility>

namespace looseleaf::model {
namespace {

using nlohmann::json;

// Splits a dotted path: its first key, and the rest (empty at the end).
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    return {path, {}};
  }
  return {path.substr(0, dot), path.substr(dot + 1)};
}

struct Reached {
  const json* node = nullptr;  // null if the path leads nowhere
  std::string_view rest;       // of the path, not walked yet
};

// Follows a path through objects; stops before anything else, so that `rest` is empty only at the path's end.
Reached walk(const json& from, std::string_view path) {
  Reached reached{&from, path};
  while (!reached.rest.empty() && reached.node->is_object()) {
    const auto [key, rest] = split_path(reached.rest);
    const auto member = reached.node->find(key);
    if (member == reached.node->end()) {
      return {};
    }
    reached = {&*member, rest};
  }
  return reached;
}

const json* find_path(const json& from, std::string_view path) {
  const Reached reached = walk(from, path);
  return reached.rest.empty() ? reached.node : nullptr;
}

std::optional<std::int64_t> integer_of(const json& node) {
  if (!node.is_number_integer() || (node.is_number_unsigned() && node.get_ref<const json::number_unsigned_t&>() >
                                                                     std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return node.get<std::int64_t>();
}

// The typed value of a scalar, whole; absent if it is of another type.
std::optional<Value> typed_value(PropertyType type, const json& node) {
  switch (type) {
    case PropertyType::uuid:
      return node.is_string() ? Uuid::parse(node.get_ref<const std::string&>()) : std::optional<Value>();
    case PropertyType::string:
      return node.is_string() ? std::optional<Value>(node.get_ref<const std::string&>()) : std::nullopt;
    case PropertyType::integer:
      return integer_of(node);
    case PropertyType::real:
      return node.is_number() ? std::optional<Value>(node.get<double>()) : std::nullopt;
    case PropertyType::boolean:
      return node.is_boolean() ? std::optional<Value>(node.get<bool>()) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> single_value(const Property& property, const json& entity) {
  const json* node = find_path(entity, property.name);
  return node != nullptr ? typed_value(property.type, *node) : std::nullopt;
}

// One value per element, of the type, of the array on the path. A path without an array on it gives none, not even if
// it ends at a scalar: a scalar is a value of another type.
std::vector<Value> each_value(const Property& property, const json& entity) {
  std::vector<Value> values;
  const Reached reached = walk(entity, property.name);
  if (reached.node == nullptr || !reached.node->is_array()) {
    return values;
  }
  for (const json& element : *reached.node) {
    const json* node = find_path(element, reached.rest);
    if (std::optional<Value> value = node != nullptr ? typed_value(property.type, *node) : std::nullopt) {
      values.push_back(*std::move(value));
    }
  }
  return values;
}

struct EqualsNode {
  const json& node;

  bool operator()(std::monostate /*null*/) const { return node.is_null(); }
  bool operator()(bool value) const { return node.is_boolean() && node.get<bool>() == value; }
  bool operator()(std::int64_t value) const { return integer_of(node) == value; }
  bool operator()(double value) const { return node.is_number_float() && node.get<double>() == value; }
  bool operator()(const std::string& value) const {
    return node.is_string() && node.get_ref<const std::string&>() == value;
  }
};

}  // namespace

std::vector<Row> expected_rows(const IndexDefinition& definition, const json& entity) {
  if (!matches_where(definition, entity)) {
    return {};
  }
  std::vector<Row> rows(1);
  rows.front().reserve(definition.properties.size());
  for (const Property& property : definition.properties) {
    if (!property.each) {
      std::optional<Value> value = single_value(property, entity);
      if (!value) {
        return {};
      }
      const Value stored = as_stored(property, *std::move(value));
      for (Row& row : rows) {
        row.push_back(stored);
      }
      continue;
    }
    std::vector<Row> longer;
    for (Value& value : each_value(property, entity)) {
      const Value stored = as_stored(property, std::move(value));
      for (const Row& row : rows) {
        longer.push_back(row);
        longer.back().push_back(stored);
      }
    }
    rows = std::move(longer);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::vector<Value> property_values(const Property& property, const json& entity) {
  if (property.each) {
    return each_value(property, entity);
  }
  std::optional<Value> value = single_value(property, entity);
  return value ? std::vector<Value>{*std::move(value)} : std::vector<Value>();
}

bool has_value(const json& entity, std::string_view path, const Scalar& value) {
  const json* node = find_path(entity, path);
  return node != nullptr && std::visit(EqualsNode{*node}, value);
}

bool matches_where(const IndexDefinition& definition, const json& entity) {
  return std::all_of(definition.where.begin(), definition.where.end(),
                     [&](const auto& condition) { return has_value(entity, condition.first, condition.second); });
}

bool change_allowed(const IndexDefinition& definition, const json& before, const json& after) {
  if (!definition.immutable || !matches_where(definition, before)) {
    return true;
  }
  bool had_row = true;
  for (const Property& property : definition.properties) {
    const std::vector<Value> values = property_values(property, before);
    if (!values.empty() && property_values(property, after) != values) {
      return false;
    }
    had_row = had_row && !values.empty();
  }
  return !had_row || matches_where(definition, after);
}

}  // namespace looseleaf::model
