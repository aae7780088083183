// Makes the id of an entity that has a key.
#pragma once

#include <looseleaf/entity_reader.hpp>
#include <looseleaf/key.hpp>

#include "model/parsed_entity.hpp"

namespace looseleaf::model {

// Returns the id that the entity's values make. Throws Error(bad_entity), with the position and the property, if the
// entity has no value for a property of the key, or one that no key can have.
[[nodiscard]] Uuid id_of_key(const Key& key, const ParsedEntity& entity, Position position);

}  // namespace looseleaf::model
