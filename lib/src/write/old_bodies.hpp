// Compares the writes of a batch with the bodies that they replace.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <map>
#include <optional>
#include <string>

#include "model/parsed_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Parses a stored body. Throws Error(corrupt).
[[nodiscard]] model::ParsedEntity parse_stored_body(const std::string& body);

// Decides undecided items whose condition does not hold. `found` are the locked rows of the items' entities, all on one
// shard.
void check_conditions(const sql::Database& database, const Items& items, const std::map<Uuid, shard::EntityRow>& found);

// Rejects undecided items that would change an immutable property, and notes the index rows that only the old bodies
// call for.
void check_against_old(const shard::Shards& shards, const sql::Database& database, const shard::Catalog& catalog,
                       const Items& items, const std::map<Uuid, shard::EntityRow>& found);

// Returns the first index that forbids this change of an entity unless the entity is deleted first. Returns null if
// there is none. A tombstone counts as an entity without any property.
[[nodiscard]] const IndexDefinition* first_forbidding(const shard::Catalog& catalog, const model::ParsedEntity& before,
                                                      const std::optional<std::string>& after_body);

}  // namespace looseleaf::write
