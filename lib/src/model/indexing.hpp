// Counts of indexed entities, as they are stored.
#pragma once

#include <looseleaf/indexing.hpp>
#include <string>
#include <string_view>

#include "model/parsed_entity.hpp"

namespace looseleaf::model {

// Adds what an entity calls for, which is `rows` rows.
void count_entity(IndexingCounts& counts, const IndexDefinition& definition, const ParsedEntity& entity, const Uuid& id,
                  std::size_t rows);

// Returns the counts as JSON.
[[nodiscard]] std::string to_json(const IndexingCounts& counts);
// Reads what to_json() writes; an empty text stands for no counts. Throws Error(corrupt) on anything else.
[[nodiscard]] IndexingCounts parse_indexing_counts(std::string_view text);

}  // namespace looseleaf::model
