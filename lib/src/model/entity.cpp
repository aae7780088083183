// Checks an entity's text, and gives the entity an id if it has none.
#include "model/entity.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "model/json/strict_json.hpp"
#include "model/key.hpp"

namespace looseleaf::model {
namespace {

[[noreturn]] void reject(const char* what, Position position, const std::string& detail, const std::string& hint) {
  Error::Context context = {{"line", std::to_string(position.line)}, {"column", std::to_string(position.column)}};
  if (!detail.empty()) {
    context.emplace_back("detail", detail);
  }
  throw Error(ErrorCode::bad_entity, what, std::move(context), hint);
}

void check_size(std::size_t size, Position position) {
  if (size > max_body_size) {
    reject("body too large", position, fmt::format("{} bytes", size), hint_for_size());
  }
}

// Returns the position of the value of `id`. It is only needed for an error message.
Position position_of_id(std::string_view text, Position start) {
  return position_after(text.substr(0, place_of(text, "/id").value), start);
}

ParsedEntity parse_or_reject(std::string_view body, Position start) {
  try {
    if (auto parsed = ParsedEntity::strict(body)) {
      return *std::move(parsed);
    }
  } catch (const JsonFault& fault) {
    reject(fault.what(), position_after(body.substr(0, fault.offset), start), fault.detail, hint_for(fault, body));
  }
  reject("not a JSON object", start, parse_strict(body).type_name(), hint_for_no_object());
}

std::string with_id(std::string_view text, const Uuid& id, bool empty) {
  return fmt::format("{{\"id\":\"{}\"{}{}", to_string(id), empty ? "" : ",", text.substr(1));
}

}  // namespace

std::string hint_for_no_object() {
  return R"(write an entity as an object: {"name": "value"})";
}

std::string hint_for_size() {
  return fmt::format("shorten the entity to at most {} bytes", max_body_size);
}

AcceptedEntity accept_entity(std::string_view text, Position start, const Key& key) {
  const std::string_view body = base::trimmed(text);
  const Position body_start =
      body.empty() ? start : position_after(text.substr(0, static_cast<std::size_t>(body.data() - text.data())), start);
  check_size(body.size(), body_start);
  ParsedEntity parsed = parse_or_reject(body, body_start);
  const std::optional<Uuid> of_key = key.empty() ? std::nullopt : std::optional(id_of_key(key, parsed, body_start));
  if (!parsed.has_id()) {
    const Uuid made = of_key ? *of_key : Uuid::make_v7();
    std::string with_made = with_id(body, made, parsed.is_empty());
    check_size(with_made.size(), body_start);
    parsed.add_id(made);
    return {made, std::move(with_made), std::move(parsed), !of_key};
  }
  const std::optional<Uuid> id = parsed.id();
  if (!id) {
    reject("id is not a UUID", position_of_id(body, body_start), {}, hint_for_id);
  }
  if (of_key && id != of_key) {
    reject("id is not that of the key", position_of_id(body, body_start),
           fmt::format("the key makes the id {}", to_string(*of_key)),
           "an entity with another key is another entity: keep the values of the key, or leave the id out");
  }
  return {*id, std::string(body), std::move(parsed)};
}

std::string name_id(std::string_view text, const Uuid& id) {
  const std::string_view body = base::trimmed(text);
  const ParsedEntity parsed = parse_or_reject(body, {});
  return parsed.has_id() ? std::string(text) : with_id(body, id, parsed.is_empty());
}

}  // namespace looseleaf::model
