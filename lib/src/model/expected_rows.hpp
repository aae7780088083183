// Which index rows an entity calls for: the one answer that put, backfill, verify, clean and query share.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/value.hpp"

namespace looseleaf::model {

// The rows, as stored, sorted and distinct. None if a property is absent, null or of another type, or if `where`
// does not match.
[[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition, const nlohmann::json& entity);

// The values of one property before they are cut to max_length, in the order of the array for `each`, else at most
// one. None if it gives no row.
[[nodiscard]] std::vector<Value> property_values(const Property& property, const nlohmann::json& entity);

// Does the path lead to exactly this value? Without coercion: 1 is not 1.0, and null is not absent.
[[nodiscard]] bool has_value(const nlohmann::json& entity, std::string_view path, const Scalar& value);

[[nodiscard]] bool matches_where(const IndexDefinition& definition, const nlohmann::json& entity);

// May an entity change from `before` to `after` under this definition's `immutable`? Always true if it is not
// immutable. Absent to present is allowed, present to anything else is not; an entity outside `where` is free.
[[nodiscard]] bool change_allowed(const IndexDefinition& definition, const nlohmann::json& before,
                                  const nlohmann::json& after);

}  // namespace looseleaf::model
