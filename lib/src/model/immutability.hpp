// What an index with `immutable` allows.
#pragma once

#include <looseleaf/index_definition.hpp>

#include "model/parsed_entity.hpp"

namespace looseleaf::model {

// True if this definition's `immutable` allows an entity to change from `before` to `after`. Always true if the index
// is not immutable. A property may be added, but not changed or removed. An entity that `where` excludes may change
// freely.
[[nodiscard]] bool change_allowed(const IndexDefinition& definition, const ParsedEntity& before,
                                  const ParsedEntity& after);

}  // namespace looseleaf::model
