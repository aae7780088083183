// Which index rows an entity calls for, said once for whatever holds the entity. A Node is one JSON value:
//   bool is_null(), is_object(), is_array()
//   std::optional<Node> find(std::string_view key)        the member of an object
//   void for_each(const Function&)                        calls it with every element of an array
//   std::optional<std::string_view> string()              absent if it is no string, and so on
//   std::optional<bool> boolean()
//   std::optional<std::int64_t> integer()                 a literal without fraction and exponent, within that range
//   std::optional<std::string> big_integer()              the digits of such a literal beyond that range
//   std::optional<double> fraction(), number()            a literal with fraction or exponent; any number
#pragma once

#include <algorithm>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/indexing.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/condition.hpp"
#include "model/criterion.hpp"
#include "model/scalar.hpp"
#include "model/value.hpp"

namespace looseleaf::model::rules {

// True if a key of a dotted path is empty, so that split_path() would take another path for the same.
inline bool has_empty_key(std::string_view path) {
  return path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos;
}

// Splits a dotted path into its first key and the rest; the rest is empty at the end.
inline std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    return {path, {}};
  }
  return {path.substr(0, dot), path.substr(dot + 1)};
}

template <typename Node>
struct Reached {
  std::optional<Node> node;  // absent if there is nothing at the path
  std::string_view rest;     // the part of the path that was not followed
};

// Follows a path through objects. Stops at any other value, so `rest` is empty only at the path's end.
template <typename Node>
Reached<Node> resolve_path(const Node& from, std::string_view path) {
  Reached<Node> reached{from, path};
  while (reached.node && !reached.rest.empty() && reached.node->is_object()) {
    const auto [key, rest] = split_path(reached.rest);
    reached = {reached.node->find(key), rest};
  }
  return reached;
}

template <typename Node>
std::optional<Node> find_path(const Node& from, std::string_view path) {
  const Reached<Node> reached = resolve_path(from, path);
  return reached.rest.empty() ? reached.node : std::nullopt;
}

// Returns the uncut value of a scalar; absent if it has another type.
template <typename Node>
std::optional<Value> typed_value(PropertyType type, const Node& node) {
  switch (type) {
    case PropertyType::uuid: {
      const auto text = node.string();
      return text ? std::optional<Value>(Uuid::parse(*text)) : std::nullopt;
    }
    case PropertyType::string: {
      const auto text = node.string();
      return text ? std::optional<Value>(std::in_place, std::in_place_type<std::string>, *text) : std::nullopt;
    }
    case PropertyType::integer:
      return node.integer();
    case PropertyType::real:
      return node.number();
    case PropertyType::boolean:
      return node.boolean();
  }
  return std::nullopt;
}

template <typename Node>
std::optional<Value> single_value(const Property& property, const Node& entity) {
  const std::optional<Node> node = find_path(entity, property.name);
  return node ? typed_value(property.type, *node) : std::nullopt;
}

// Calls the function with the node at the path, or with `each` with the node at the rest of the path in each element of
// the first array on the path. Without an array on the path there are none, even if the path leads to a scalar.
template <typename Node, typename Function>
void for_each_node(const Node& entity, std::string_view path, bool each, const Function& function) {
  const Reached<Node> reached = resolve_path(entity, path);
  if (!each && reached.node && reached.rest.empty()) {
    function(*reached.node);
  }
  if (each && reached.node && reached.node->is_array()) {
    reached.node->for_each([&](const Node& element) {
      if (const std::optional<Node> node = find_path(element, reached.rest)) {
        function(*node);
      }
    });
  }
}

// Returns one value for each element with the right type in the array on the path.
template <typename Node>
std::vector<Value> each_value(const Property& property, const Node& entity) {
  std::vector<Value> values;
  for_each_node(entity, property.name, true, [&](const Node& node) {
    if (std::optional<Value> value = typed_value(property.type, node)) {
      values.push_back(*std::move(value));
    }
  });
  return values;
}

// Returns the values of one property before they are cut to max_length.
template <typename Node>
std::vector<Value> property_values(const Property& property, const Node& entity) {
  if (property.each) {
    return each_value(property, entity);
  }
  std::optional<Value> value = single_value(property, entity);
  return value ? std::vector<Value>{*std::move(value)} : std::vector<Value>();
}

template <typename Node>
bool has_value(const Node& entity, std::string_view path, const Scalar& value) {
  const std::optional<Node> node = find_path(entity, path);
  return node && equals(*node, value);
}

template <typename Node>
bool meets(const Node& node, const Criterion& criterion) {
  return criterion.op == Operator::exists ||
         std::any_of(criterion.any_of.begin(), criterion.any_of.end(), [&](const Scalar& value) {
           if (criterion.op == Operator::prefix) {
             const auto text = node.string();
             return text && text->starts_with(std::get<std::string>(value));
           }
           return holds(criterion.op, compare(node, value));
         });
}

template <typename Node>
unsigned kind_of(const Node& node) {
  return node.string()     ? kinds::string
         : node.number()   ? kinds::number
         : node.is_null()  ? kinds::null
         : node.boolean()  ? kinds::boolean
         : node.is_array() ? kinds::array
                           : kinds::object;
}

template <typename Node>
Examined examine(const Node& entity, const Criterion& criterion) {
  Examined examined;
  for_each_node(entity, criterion.path, criterion.each, [&](const Node& node) {
    examined.found |= kind_of(node);
    examined.meets = examined.meets || meets(node, criterion);
  });
  return examined;
}

template <typename Node>
bool matches_where(const IndexDefinition& definition, const Node& entity) {
  return std::all_of(definition.where.begin(), definition.where.end(),
                     [&](const auto& condition) { return has_value(entity, condition.first, condition.second); });
}

// Appends a value to every row.
inline void append(std::vector<Row>& rows, Value value) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    rows[i].push_back(value);
  }
  rows.front().push_back(std::move(value));
}

// Appends each of the values to a copy of every row.
inline void append_each(std::vector<Row>& rows, const Property& property, std::vector<Value> values) {
  std::vector<Row> longer;
  for (Value& value : values) {
    const Value stored = as_stored(property, std::move(value));
    for (const Row& row : rows) {
      longer.push_back(row);
      longer.back().push_back(stored);
    }
  }
  rows = std::move(longer);
}

template <typename Node>
std::vector<Row> expected_rows(const IndexDefinition& definition, const Node& entity) {
  if (!matches_where(definition, entity)) {
    return {};
  }
  std::vector<Row> rows(1);
  rows.front().reserve(definition.properties.size());
  for (const Property& property : definition.properties) {
    const auto has_no_row = [&](const Value& value) { return definition.unique && is_cut(property, value); };
    if (property.each) {
      std::vector<Value> values = each_value(property, entity);
      std::erase_if(values, has_no_row);
      append_each(rows, property, std::move(values));
    } else if (std::optional<Value> value = single_value(property, entity); value && !has_no_row(*value)) {
      append(rows, as_stored(property, *std::move(value)));
    } else {
      return {};
    }
    if (rows.empty()) {
      return {};
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Returns why the entity has no value of the property; to be called only if property_values() returns none.
template <typename Node>
NoRow::Why reason_for_no_value(const Property& property, const Node& entity) {
  using Why = NoRow::Why;
  const Reached<Node> reached = resolve_path(entity, property.name);
  if (!reached.node) {
    return Why::absent;
  }
  if (reached.node->is_array()) {
    if (!property.each) {
      return Why::array_without_each;
    }
    bool empty = true;
    reached.node->for_each([&](const Node&) { empty = false; });
    return empty ? Why::empty_array : Why::no_element;
  }
  if (reached.node->is_null()) {
    return reached.rest.empty() ? Why::null : Why::absent;
  }
  if (!reached.rest.empty()) {
    return Why::absent;
  }
  if (property.each) {
    return Why::not_an_array;
  }
  const bool too_large = property.type == PropertyType::integer && reached.node->big_integer();
  return too_large ? Why::out_of_range : Why::other_type;
}

// Returns why there are no expected_rows(); to be called only then.
template <typename Node>
NoRow reason_for_no_row(const IndexDefinition& definition, const Node& entity) {
  if (!matches_where(definition, entity)) {
    return {NoRow::Why::no_match};
  }
  for (const Property& property : definition.properties) {
    if (property_values(property, entity).empty()) {
      return {reason_for_no_value(property, entity), property.name, property.type};
    }
  }
  for (const Property& property : definition.properties) {
    const std::vector<Value> values = property_values(property, entity);
    if (std::all_of(values.begin(), values.end(), [&](const Value& value) { return is_cut(property, value); })) {
      return {NoRow::Why::too_long, property.name, property.type};
    }
  }
  return {};
}

// Returns why some elements of arrays call for no row; to be called only if there are expected_rows().
template <typename Node>
std::vector<NoRow> elements_left_out(const IndexDefinition& definition, const Node& entity) {
  std::vector<NoRow> reasons;
  for (const Property& property : definition.properties) {
    bool other_type = false, too_long = false;
    if (property.each) {
      for_each_node(entity, property.name, true, [&](const Node& node) {
        const std::optional<Value> value = typed_value(property.type, node);
        other_type = other_type || (!value && !node.is_null());
        too_long = too_long || (value && definition.unique && is_cut(property, *value));
      });
    }
    if (other_type) {
      reasons.push_back({NoRow::Why::some_elements, property.name, property.type});
    }
    if (too_long) {
      reasons.push_back({NoRow::Why::some_too_long, property.name, property.type});
    }
  }
  return reasons;
}

}  // namespace looseleaf::model::rules
