// Typed values of indexed properties, and index rows made of them.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <variant>
#include <vector>

namespace looseleaf::model {

// There is one alternative per PropertyType, in the same order.
using Value = std::variant<Uuid, std::string, std::int64_t, double, bool>;

// The values of one index row in the order of the definition's properties, without the entity_id.
using Row = std::vector<Value>;

// Returns a JSON array for reports: ["f48b…", 7, true].
[[nodiscard]] std::string to_json(const Row& row);

// Converts the text of a query condition to a value. Strings are not cut. Throws Error(usage) if the text does not fit
// the type.
[[nodiscard]] Value parse_value(const Property& property, const std::string& text);

// Returns true if it is a string that as_stored() cuts. In a unique index such a value has no row.
[[nodiscard]] bool is_cut(const Property& property, const Value& value);

// Returns the value as a column stores it: strings are cut to max_length code points, and -0 becomes 0.
[[nodiscard]] Value as_stored(const Property& property, Value value);

}  // namespace looseleaf::model
