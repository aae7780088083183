// One entity's text: what is accepted is JSON as nlohmann reads it and survives every way the program takes with it;
// what is refused is refused for a documented reason, with its place.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "model/immutability.hpp"
#include "model/json/strict_json.hpp"
#include "model/parsed_entity.hpp"
#include "shard/index_rows.hpp"
#include "tests/fuzz/oracle.hpp"
#include "tests/fuzz/samples.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;
using nlohmann::json;

// The strict parser minds what nlohmann does not: keys that are there twice, and nesting that is too deep.
bool should_be_accepted(std::string_view text) {
  bool good = !text.starts_with("\xEF\xBB\xBF") && text.find('\0') == std::string_view::npos;
  std::vector<std::set<std::string>> keys;  // of what is open
  const auto look = [&](int /*depth*/, json::parse_event_t event, const json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      keys.emplace_back();
      good = good && keys.size() <= model::max_depth;
    } else if (event == Event::object_end || event == Event::array_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      good = keys.back().insert(parsed.get<std::string>()).second && good;
    }
    return true;
  };
  return !json::parse(text, look, false).is_discarded() && good;
}

void check_place(std::string_view text, const std::string& pointer, const json& root) {
  const model::JsonPlace place = model::place_of(text, pointer);
  const json& value = root.at(json::json_pointer(pointer));
  require(place.value < text.size(), "a value is in its text");
  const char first = text[place.value];
  const std::string_view expected = value.is_object()    ? "{"
                                    : value.is_array()   ? "["
                                    : value.is_string()  ? "\""
                                    : value.is_boolean() ? "tf"
                                    : value.is_null()    ? "n"
                                                         : "-0123456789";
  require(expected.find(first) != std::string_view::npos, "the place of a value is where it begins");
  require(
      pointer.empty() || root.at(json::json_pointer(pointer).parent_pointer()).is_array() || text.at(place.key) == '"',
      "the place of a key is its quotation mark");
}

void check_strict(std::string_view text) {
  const bool expected = should_be_accepted(text);
  try {
    const json parsed = model::parse_strict(text);
    require(expected, "what nlohmann or a documented limit refuses is refused");
    require(parsed == json::parse(text), "a text means what nlohmann reads in it");
    check_place(text, "", parsed);
    constexpr int most = 8;
    const json flat = parsed.flatten();
    int checked = 0;
    for (auto member = flat.begin(); parsed.is_structured() && member != flat.end() && checked < most; ++member) {
      check_place(text, member.key(), parsed);
      ++checked;
    }
  } catch (const model::JsonFault& fault) {
    require(!expected, "only documented limits are refused beyond what nlohmann refuses");
    require(fault.offset <= text.size(), "a fault is in its text");
  }
}

bool fits(const Property& property, const model::Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return value.index() == static_cast<std::size_t>(property.type) &&
         (text == nullptr || (base::is_utf8(*text) && base::utf8_length(*text) <= property.max_length));
}

void check_rows(const IndexDefinition& definition, const json& entity, const model::ParsedEntity& stored) {
  const std::vector<model::Row> rows = model::expected_rows(definition, entity);
  require(stored.expected_rows(definition) == rows, "the stored text calls for the same rows");
  require(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end(),
          "rows are sorted and distinct");
  for (const model::Row& row : rows) {
    require(row.size() == definition.properties.size(), "a row has a value of each property");
    for (std::size_t i = 0; i < row.size(); ++i) {
      require(fits(definition.properties[i], row[i]), "a value fits its column");
      const std::string literal = shard::value_literal(row[i]);
      require(literal.find_first_not_of("x'_utf8mb40123456789abcdef+-. ") == std::string::npos,
              "a value is digits in SQL");
    }
    require(json::accept(model::to_json(row)), "a row is shown as JSON");
  }
  require(model::change_allowed(definition, stored, stored), "an entity may be put again as it is");
}

void check_entity(const model::AcceptedEntity& entity, std::string_view given) {
  json stored = json::parse(given);
  const bool id_was_made = !stored.contains("id");
  if (id_was_made) {
    stored["id"] = to_string(entity.id);
  }
  require(json::parse(entity.text) == stored, "the stored text means the same, with its id");
  require(Uuid::parse(stored["id"].get<std::string>()) == entity.id, "the stored text has the id");
  require(entity.text.starts_with("{\"id\":\"") || !id_was_made, "an id that was made is the first member");
  require(given.find(entity.text) != std::string_view::npos || id_was_made, "nothing but an id is added");
  const model::AcceptedEntity again = model::accept_entity(entity.text);
  require(again.text == entity.text && again.id == entity.id, "a stored text is stored unchanged when it is put again");
  const model::ParsedEntity read(entity.text);
  require(read.id() == entity.id && entity.parsed.id() == entity.id, "the id is found");
  for (const IndexDefinition& definition : fuzz::sample_definitions()) {
    check_rows(definition, stored, read);
    check_rows(definition, stored, entity.parsed);
  }
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Whether the strict parser accepts the text as an entity, whose id need not be one.
bool is_strict_object(const std::string& text) {
  try {
    return model::parse_strict(text).is_object();
  } catch (const model::JsonFault&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_strict(text);
  try {
    const model::AcceptedEntity entity = model::accept_entity(text);
    require(is_strict_object(trimmed(text)), "put accepts only what the strict parser does");
    check_entity(entity, trimmed(text));
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_entity, "an entity is refused as a bad entity");
    fuzz::require_place(error, text);
    require(!is_strict_object(trimmed(text)) || json::parse(text).contains("id"),
            "an object is refused only for its id");
  }
  return 0;
}
