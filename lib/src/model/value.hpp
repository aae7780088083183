// Typed values of indexed properties and the rows they make.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <variant>
#include <vector>

namespace looseleaf::model {

// One alternative per PropertyType, in its order.
using Value = std::variant<Uuid, std::string, std::int64_t, double, bool>;

// The values of one index row in the order of the definition's properties, without the entity_id.
using Row = std::vector<Value>;

// A JSON array for reports: ["f48b…", 7, true].
[[nodiscard]] std::string to_json(const Row& row);

// A Value from the text of a query condition; strings are taken whole. Throws Error(usage) if the text is not of the
// type.
[[nodiscard]] Value parse_value(const Property& property, const std::string& text);

// As stored in a column: strings cut to max_length code points, -0 made 0.
[[nodiscard]] Value as_stored(const Property& property, Value value);

}  // namespace looseleaf::model
