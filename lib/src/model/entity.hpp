// Parses an entity's JSON text strictly. Only this code decides which entities may be stored.
#pragma once

#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "model/json/strict_json.hpp"
#include "model/stored_entity.hpp"

namespace looseleaf::model {

inline constexpr std::size_t max_body_size = 16 * 1024 * 1024 - 5;  // in bytes of JSON text

// Hints for a text that is not an object, or too large.
[[nodiscard]] std::string hint_for_no_object();
[[nodiscard]] std::string hint_for_size();

struct ParsedEntity {
  Uuid id;
  std::string text;     // the text as it will be stored: trimmed and with its id
  nlohmann::json json;  // an object
};

// Parses an entity as given to put. If it has no `id`, makes one (UUIDv7) and inserts it as the first member. Throws
// Error(bad_entity) with line and column in the context, counted from `start`, for everything that docs/format.md does
// not allow: not an object, syntax errors, duplicate keys, invalid UTF-8, lone surrogates, depth, size, an id that is
// not a UUID.
[[nodiscard]] ParsedEntity parse_entity(std::string_view text, Position start = {});

// The result of a faster parse, for callers that need only some members of the entity.
struct TakenEntity {
  Uuid id;
  std::string text;
  StoredEntity members;
};
[[nodiscard]] TakenEntity take_entity(std::string_view text, Position start = {});

// Parses a stored body's text, which was checked when it was put. Throws Error(corrupt).
[[nodiscard]] nlohmann::json parse_stored(std::string_view text);

// Returns the `id` of a stored entity, if it is a UUID.
[[nodiscard]] std::optional<Uuid> id_of(const nlohmann::json& entity);

// Returns the text on one line: if it contains a line break, without insignificant white space; otherwise unchanged.
[[nodiscard]] std::string on_one_line(std::string_view text);

}  // namespace looseleaf::model
