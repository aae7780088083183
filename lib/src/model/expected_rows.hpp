// Computes the index rows that an entity calls for. Put, backfill, verify, clean and query all use this code.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/indexing.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/criterion.hpp"
#include "model/value.hpp"

namespace looseleaf::model {

// Returns the rows as they are stored, sorted and distinct. There are none if a property is absent, null or of another
// type, or if `where` does not match, or, in a unique index, if a string is longer than `max_length`.
[[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition, const nlohmann::json& entity);

// Returns why there are none; to be called only then.
[[nodiscard]] NoRow reason_for_no_row(const IndexDefinition& definition, const nlohmann::json& entity);

// Returns why some elements of arrays call for no row; to be called only if there are rows. A null is no such element.
[[nodiscard]] std::vector<NoRow> elements_left_out(const IndexDefinition& definition, const nlohmann::json& entity);

// Returns the values of one property before they are cut to max_length: for `each` in the order of the array, otherwise
// at most one.
[[nodiscard]] std::vector<Value> property_values(const Property& property, const nlohmann::json& entity);

// Examines the values at the criterion's path, without type conversion: null is not absent. See scalar.hpp.
[[nodiscard]] Examined examine(const nlohmann::json& entity, const Criterion& criterion);

[[nodiscard]] bool matches_where(const IndexDefinition& definition, const nlohmann::json& entity);

}  // namespace looseleaf::model
