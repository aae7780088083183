// Which index rows an entity calls for: the one answer that put, backfill, verify, clean and query share.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/value.hpp"

namespace looseleaf::model {

// The rows, as stored, sorted and distinct. None if a property is absent, null or of another type, or if `where`
// does not match.
[[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition, const nlohmann::json& entity);

// The value of one property before it is cut to max_length; absent if it gives no row. Not for `each` properties.
[[nodiscard]] std::optional<Value> property_value(const Property& property, const nlohmann::json& entity);

[[nodiscard]] bool matches_where(const IndexDefinition& definition, const nlohmann::json& entity);

// May an entity change from `before` to `after` under this definition's `immutable`? Always true if it is not
// immutable. Absent to present is allowed, present to anything else is not; an entity outside `where` is free.
[[nodiscard]] bool change_allowed(const IndexDefinition& definition, const nlohmann::json& before,
                                  const nlohmann::json& after);

}  // namespace looseleaf::model
