// An entity's JSON text, parsed strictly: the only place that decides what may be stored.
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

inline constexpr std::size_t max_body_size = 16 * 1024 * 1024 - 5;  // bytes of JSON text

// What to do about a text that is another JSON value, or too large.
[[nodiscard]] std::string hint_for_no_object();
[[nodiscard]] std::string hint_for_size();

struct ParsedEntity {
  Uuid id;
  std::string text;  // as it will be stored: trimmed, with the id in it
  Json json;         // an object
};

// Parses an entity as given to put. An absent `id` is made (UUIDv7) and inserted as the first member. Throws
// Error(bad_entity) with line and column in the context, counted from `start`, for anything docs/format.md
// refuses: no object, syntax, duplicate keys, invalid UTF-8, lone surrogates, depth, size, an id that is no UUID.
[[nodiscard]] ParsedEntity parse_entity(std::string_view text, Position start = {});

// The same of an entity of which only some members are needed then, in less time.
struct TakenEntity {
  Uuid id;
  std::string text;
  StoredEntity members;
};
[[nodiscard]] TakenEntity take_entity(std::string_view text, Position start = {});

// Parses a stored body's text (checked when it was put). Throws Error(corrupt).
[[nodiscard]] Json parse_stored(std::string_view text);

// The `id` member of a stored entity, if it is a UUID.
[[nodiscard]] std::optional<Uuid> id_of(const nlohmann::json& entity);

// The text on one line: without insignificant white space if it contains a line break, else as it is.
[[nodiscard]] std::string on_one_line(std::string_view text);

}  // namespace looseleaf::model
