// Decides which entities may be stored.
#pragma once

#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <string_view>

#include "model/parsed_entity.hpp"

namespace looseleaf::model {

inline constexpr std::size_t max_body_size = 16 * 1024 * 1024 - 5;  // in bytes of JSON text

inline constexpr const char* hint_for_id = "write 32 hexadecimal digits as a string, or omit the id to get a new one";

// Hints for a text that is not an object, or too large.
[[nodiscard]] std::string hint_for_no_object();
[[nodiscard]] std::string hint_for_size();

// An entity that may be stored.
struct AcceptedEntity {
  Uuid id;
  std::string text;  // as it will be stored: trimmed and with its id
  ParsedEntity parsed;
  bool id_was_made = false;  // false: the text had an `id`, or a key
};

// Accepts an entity given to put. If it has no `id`, inserts one as the first member: that of the key or, without a
// key, a new one (UUIDv7). Throws Error(bad_entity) with line and column in the context, counted from `start`, for
// everything that docs/format.md does not allow: not an object, syntax errors, duplicate keys, invalid UTF-8, lone
// surrogates, depth, size, an id that is not a UUID, or is not that of the key, no value for a property of the key.
[[nodiscard]] AcceptedEntity accept_entity(std::string_view text, Position start = {}, const Key& key = {});

// Returns the text of an accepted entity with its id, which it was given if it had none.
[[nodiscard]] std::string name_id(std::string_view text, const Uuid& id);

}  // namespace looseleaf::model
