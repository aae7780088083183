// Reads and checks index definitions, and writes their canonical form.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <looseleaf/error.hpp>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/json/json_document.hpp"
#include "model/row_rules.hpp"
#include "model/scalar.hpp"

namespace looseleaf {
namespace {

using model::JsonDocument;
using model::JsonObject;

constexpr std::size_t max_name_length = 64;  // of tables and columns, in characters
constexpr std::size_t max_properties = 8;
constexpr std::uint32_t max_string_length =
    735;  // at 4 bytes each, they leave room in a key for the entity_id and several small columns
constexpr std::size_t max_key_bytes = 3072;  // InnoDB's limit
constexpr std::size_t entity_id_bytes = 16;

constexpr std::array<std::pair<std::string_view, PropertyType>, 5> type_names = {{
    {"uuid", PropertyType::uuid},
    {"string", PropertyType::string},
    {"int", PropertyType::integer},
    {"double", PropertyType::real},
    {"bool", PropertyType::boolean},
}};

std::string parse_table(const JsonObject& root) {
  const std::optional<std::string> table = root.string("table");
  if (!table) {
    root.fail("definition has no table", "name the index table: \"table\": \"index_user_id\"");
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_valid = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (table->empty() || table->size() > max_name_length || !is_letter(table->front()) ||
      !std::all_of(table->begin(), table->end(), is_valid)) {
    root.fail_at_value("table", "invalid table name", "use a letter, then up to 63 letters, digits and underscores");
  }
  const std::string folded = base::ascii_lower(*table);
  if (folded == "entities" || folded.rfind("looseleaf_", 0) == 0) {
    root.fail_at_value("table", "reserved table name",
                       "choose a name other than entities that does not start with looseleaf_");
  }
  return *table;
}

// True for keys joined by dots. Each key has at least one character and no control character.
bool is_path(std::string_view path) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return !model::rules::has_empty_key(path) && std::none_of(path.begin(), path.end(), is_control);
}

// Reads a property's name. Rejects four-byte sequences, which begin with 0xF0 or more: MySQL identifiers cannot have
// these characters.
std::string parse_property_name(const JsonObject& object) {
  const std::optional<std::string> name = object.string("name");
  if (!name) {
    object.fail("property has no name", "name it by its path in the entity: {\"name\": \"user_id\", ...}");
  }
  if (!is_path(*name)) {
    object.fail_at_value("name", "invalid property path", "join keys with single dots, without control characters");
  }
  if (base::utf8_length(*name) > max_name_length) {
    object.fail_at_value("name", "property path is too long for a column name",
                         fmt::format("shorten it by {} characters", base::utf8_length(*name) - max_name_length));
  }
  if (base::beyond_bmp(*name) || name->back() == ' ') {
    object.fail_at_value("name", "property path cannot be a column name",
                         "use no characters beyond U+FFFF and no space at the end");
  }
  if (base::ascii_lower(*name) == "entity_id") {
    object.fail_at_value("name", "property is called entity_id",
                         "index the property under another name; every index table has a column entity_id");
  }
  return *name;
}

// For types that databases have and JSON has not.
std::string hint_for_other_type(const std::string& name) {
  if (name == "decimal" || name == "numeric" || name == "float" || name == "number") {
    return "; for a decimal a double, or an int of its smallest unit";
  }
  if (name == "date" || name == "time" || name == "datetime" || name == "timestamp") {
    return "; for a time an int, or a string like 2026-11-27T08:00:00Z, whose order is that of time";
  }
  return {};
}

PropertyType parse_type(const JsonObject& object) {
  const std::optional<std::string> name = object.string("type");
  if (!name) {
    object.fail("property has no type", "give it one: uuid, string, int, double or bool");
  }
  for (const auto& [known, type] : type_names) {
    if (known == *name) {
      return type;
    }
  }
  object.fail_at_value("type", "unknown property type",
                       "use uuid, string, int, double or bool" + hint_for_other_type(*name));
}

Property parse_property(const JsonObject& object) {
  object.allow_only({"name", "type", "max_length", "each"});
  Property property;
  property.name = parse_property_name(object);
  property.type = parse_type(object);
  if (const std::optional<std::int64_t> length = object.integer("max_length")) {
    if (property.type != PropertyType::string) {
      object.fail_at_key("max_length", "max_length is set on a property that is not a string", "take it out");
    }
    if (*length < 1 || *length > max_string_length) {
      object.fail_at_value("max_length", "max_length is out of range",
                           fmt::format("use a number from 1 to {}", max_string_length));
    }
    property.max_length = static_cast<std::uint32_t>(*length);
  }
  property.each = object.boolean("each").value_or(false);
  return property;
}

std::size_t key_bytes(const Property& property) {
  switch (property.type) {
    case PropertyType::uuid:
      return 16;
    case PropertyType::string:
      return std::size_t{4} * property.max_length;
    case PropertyType::integer:
    case PropertyType::real:
      return 8;
    case PropertyType::boolean:
      return 1;
  }
  return 0;
}

void check_key_size(const std::vector<Property>& properties, const JsonObject& root) {
  std::size_t bytes = entity_id_bytes;
  std::size_t strings = 0;
  for (const Property& property : properties) {
    bytes += key_bytes(property);
    strings += property.type == PropertyType::string ? 1U : 0U;
  }
  if (bytes > max_key_bytes) {
    const std::size_t characters = (bytes - max_key_bytes + 3) / 4;
    root.fail_at_value(
        "properties", "key columns are too long together",
        fmt::format("the key needs {} bytes (limit {}); shorten its {} by {} {}{}", fmt::group_digits(bytes),
                    fmt::group_digits(max_key_bytes), strings > 1 ? "strings" : "string", fmt::group_digits(characters),
                    characters == 1 ? "character" : "characters", strings > 1 ? " in total" : ""));
  }
}

void check_distinct(const std::vector<Property>& properties, const Property& added, const JsonObject& object) {
  for (const Property& property : properties) {
    if (base::ascii_lower(property.name) == base::ascii_lower(added.name)) {
      object.fail_at_value("name", "property is named twice",
                           "delete one of them; column names that differ only in case are equal");
    }
    if (property.each && added.each) {
      object.fail_at_key("each", "more than one property has each", "create a separate index for the other array");
    }
  }
}

std::vector<Property> parse_properties(const JsonDocument& document, const JsonObject& root) {
  const nlohmann::json* list = root.array("properties");
  if (list == nullptr) {
    root.fail("definition has no properties",
              "list what to index: \"properties\": [{\"name\": \"user_id\", \"type\": \"uuid\"}]");
  }
  if (list->empty() || list->size() > max_properties) {
    root.fail_at_value("properties", "number of properties is out of range",
                       fmt::format("list 1 to {} properties", max_properties));
  }
  std::vector<Property> properties;
  for (const nlohmann::json& entry : *list) {
    const JsonObject object(document, model::pointer_to(root.pointer_to("properties"), properties.size()), entry,
                            "write a property as an object: {\"name\": \"user_id\", \"type\": \"uuid\"}");
    Property property = parse_property(object);
    check_distinct(properties, property, object);
    properties.push_back(std::move(property));
  }
  check_key_size(properties, root);
  return properties;
}

std::optional<std::size_t> parse_shard_on(const std::vector<Property>& properties, const JsonObject& root) {
  const std::optional<std::string> name = root.string("shard_on");
  if (!name) {
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const Property& property : properties) {
    if (property.name == *name) {
      if (property.type == PropertyType::real || property.type == PropertyType::boolean) {
        root.fail_at_value("shard_on", "`shard_on` must name a uuid, string or int property",
                           "name another property, or omit shard_on");
      }
      return names.size();
    }
    names.push_back(property.name);
  }
  const std::optional<std::string_view> meant = base::nearest(*name, names);
  root.fail_at_value("shard_on", "`shard_on` names no property of the index",
                     meant ? fmt::format("did you mean \"{}\"?", *meant)
                           : fmt::format("name one of the properties: {}", fmt::join(names, ", ")));
}

std::vector<std::pair<std::string, Scalar>> parse_where(const JsonDocument& document, const JsonObject& root) {
  std::vector<std::pair<std::string, Scalar>> conditions;
  const nlohmann::json* object = root.object("where");
  if (object == nullptr) {
    return conditions;
  }
  const JsonObject where(document, root.pointer_to("where"), *object);
  for (const auto& member : object->items()) {
    if (!is_path(member.key())) {
      where.fail_at_key(member.key(), "invalid property path",
                        "join keys with single dots, without control characters");
    }
    std::optional<Scalar> value = model::to_scalar(member.value());
    if (!value) {
      where.fail_at_value(member.key(), "value is not a scalar", "use null, true, false, a number or a string");
    }
    conditions.emplace_back(member.key(), *std::move(value));
  }
  return conditions;
}

void check_immutable(const IndexDefinition& definition, const JsonObject& root) {
  const bool has_each =
      std::any_of(definition.properties.begin(), definition.properties.end(), [](const auto& p) { return p.each; });
  if (definition.immutable && has_each) {
    root.fail_at_key("immutable", "immutable cannot be combined with each",
                     "delete one of the two; an immutable index has one row per entity");
  }
}

// Equal values must meet in one table.
void check_unique(const IndexDefinition& definition, const JsonObject& root) {
  if (definition.unique && !definition.shard_on) {
    root.fail_at_key("unique", "unique needs shard_on",
                     fmt::format("name the property that decides on which shard equal values meet, such as "
                                 "\"shard_on\": \"{}\"",
                                 definition.properties.front().name));
  }
}

std::string to_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json to_json(const Property& property) {
  nlohmann::ordered_json json = {{"name", property.name}, {"type", to_string(property.type)}};
  if (property.type == PropertyType::string && property.max_length != max_string_length) {
    json["max_length"] = property.max_length;
  }
  if (property.each) {
    json["each"] = true;
  }
  return json;
}

}  // namespace

std::string to_string(PropertyType type) {
  for (const auto& [name, known] : type_names) {
    if (known == type) {
      return std::string(name);
    }
  }
  return {};
}

IndexDefinition IndexDefinition::parse(std::string_view text, const std::string& source) {
  const JsonDocument document(ErrorCode::bad_definition, text, source);
  const JsonObject root(document);
  root.allow_only({"$schema", "table", "properties", "shard_on", "where", "immutable", "unique"});
  static_cast<void>(root.string("$schema"));  // only its type is checked
  IndexDefinition definition;
  definition.table = parse_table(root);
  definition.properties = parse_properties(document, root);
  definition.shard_on = parse_shard_on(definition.properties, root);
  definition.where = parse_where(document, root);
  definition.immutable = root.boolean("immutable").value_or(false);
  check_immutable(definition, root);
  definition.unique = root.boolean("unique").value_or(false);
  check_unique(definition, root);
  return definition;
}

IndexDefinition IndexDefinition::load(const std::string& path) {
  return parse(model::read_file(ErrorCode::bad_definition, path, "name definition files that exist and may be read"),
               path);
}

// Written member by member, because a JSON library has no numbers of any size.
std::string IndexDefinition::canonical_json() const {
  auto list = nlohmann::ordered_json::array();
  for (const Property& property : properties) {
    list.push_back(to_json(property));
  }
  std::string text = fmt::format(R"({{"table":{},"properties":{})", to_text(table), to_text(list));
  if (shard_on) {
    if (*shard_on >= properties.size()) {
      throw Error(ErrorCode::bad_definition, "`shard_on` names no property of the index", {{"file", table}},
                  "give the position of one of its properties");
    }
    text += R"(,"shard_on":)" + to_text(properties[*shard_on].name);
  }
  const char* separator = R"(,"where":{)";
  for (const auto& [path, value] : where) {
    text += fmt::format("{}{}:{}", separator, to_text(path), model::to_json(value));
    separator = ",";
  }
  text += where.empty() ? "" : "}";
  text += immutable ? R"(,"immutable":true)" : "";
  text += unique ? R"(,"unique":true)" : "";
  return text + "}";
}

std::string IndexDefinition::fingerprint() const {
  return fmt::format("{:016x}", base::fnv1a(canonical_json()));
}

}  // namespace looseleaf
