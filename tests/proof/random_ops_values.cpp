#include "tests/proof/random_ops_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/split.hpp"

namespace looseleaf::test {
namespace {

constexpr std::array<std::string_view, 5> type_names = {"uuid", "string", "int", "double", "bool"};

// One is no identifier, and would end several kinds of quotes.
const std::vector<std::string> paths = {"a", "b`'\\\"; -- %s/*", "c.d", "e", "f.g"};

std::string repeated(const std::string& text, std::size_t times) {
  return fmt::format("{}", fmt::join(std::vector(times, text), ""));
}

const std::vector<std::string>& strings() {
  static const std::vector<std::string> all = {"",
                                               "x",
                                               "X",
                                               "x ",
                                               " x",
                                               "\xC3\xA9",
                                               "e\xCC\x81",
                                               "\xC3\xA9t\xC3\xA9",
                                               "%",
                                               "_",
                                               "x_",
                                               "\\",
                                               "\"",
                                               "'",
                                               "`",
                                               "x\ty",
                                               "x\ny",
                                               std::string("x\0y", 3),
                                               std::string("\0", 1),
                                               "\xF0\x9F\x98\x80",
                                               "\xF0\x9F\x98\x80\xF0\x9F\x98\x81",
                                               "\xED\x9F\xBF",
                                               "\xED\x9F\xBFz",
                                               "\xEE\x80\x80",
                                               "\xF4\x8F\xBF\xBF",
                                               "\xF4\x8F\xBF\xBFx",
                                               "\xEF\xBF\xBF",
                                               "true",
                                               "1",
                                               "null",
                                               "' OR '1'='1",
                                               "x'; DROP TABLE entities; -- ",
                                               "\\' OR 1=1 #",
                                               "\") OR 1 /*",
                                               "*/",
                                               "a=b<c>d^=e",
                                               "%00%27%s%n",
                                               "\x1A\x7F\x01",
                                               "\xE2\x80\xAEx\xE2\x80\xA8",
                                               repeated("long", 200),
                                               repeated("long", 200) + "er",
                                               repeated("\xF0\x9F\x98\x80", 735),
                                               repeated("\xF0\x9F\x98\x80", 736)};
  return all;
}

// Half of them are beginnings of others.
const std::string& random_string(Random& random) {
  static const std::vector<std::string> related = {"x", "xy", "xyz", "xyz1", "xyzz", "xy\xC3\xA9", "xy\xC3\xA9z"};
  return random.pick(random.one_in(2) ? related : strings());
}

const std::vector<std::string>& uuids() {
  static const std::vector<std::string> all = {
      "00000000000000000000000000000000", "00000000-0000-0000-0000-000000000001",
      "ffffffffffffffffffffffffffffffff", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
      "0123456789abcdef0123456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDEF"};
  return all;
}

const std::vector<std::string>& whole_numbers() {
  static const std::vector<std::string> all = {
      "0", "1", "2", "-1", "-2", "7", "1000000", "9223372036854775807", "-9223372036854775808"};
  return all;
}

// No int, although some look like one.
const std::vector<std::string>& real_numbers() {
  static const std::vector<std::string> all = split(
      "0.0 -0.0 1.0 1e0 1.5 -1.5 0.1 1e-3 5e-324 -5e-324 1e308 1e2 1E+2 1.7976931348623157e308 "
      "-1.7976931348623157e308 2.2250738585072014e-308 123456789.123456789 3.0000000000000004 9223372036854775808 "
      "-9223372036854775809 18446744073709551615 18446744073709551616");
  return all;
}

Json scalar_of(Random& random, PropertyType type) {
  switch (type) {
    case PropertyType::uuid:
      return Json::string(random.pick(uuids()));
    case PropertyType::string:
      return Json::string(random_string(random));
    case PropertyType::integer:
      return Json::number(random.one_in(20) ? "-0" : random.pick(whole_numbers()));
    case PropertyType::real:
      return Json::number(random.pick(random.one_in(3) ? whole_numbers() : real_numbers()));
    case PropertyType::boolean:
      break;
  }
  return Json::boolean(random.one_in(2));
}

// Mostly strings, where most can go wrong.
PropertyType random_type(Random& random) {
  return random.one_in(2) ? PropertyType::string : static_cast<PropertyType>(random.below(type_names.size()));
}

Json scalar(Random& random, PropertyType taste) {
  if (random.one_in(12)) {
    return {};
  }
  return scalar_of(random, random.one_in(4) ? random_type(random) : taste);
}

Json object(const std::string& name, Json value) {
  Json json;
  json.kind = Json::Kind::object;
  json.members.emplace_back(name, std::move(value));
  return json;
}

Json array(Random& random, const std::function<Json()>& item) {
  Json json;
  json.kind = Json::Kind::array;
  for (std::size_t count = random.below(5); count > 0; --count) {
    json.items.push_back(item());
  }
  return json;
}

std::string member_of(const std::string& path) {
  return path.substr(0, path.find('.'));
}

// What is at a member of the entity: arrays and objects where paths go through them, and sometimes where they do not.
Json value_of(Random& random, char member, PropertyType taste) {
  const auto any = [&] { return scalar(random, taste); };
  switch (random.one_in(10) ? random.pick(std::string_view("abcef")) : member) {
    case 'c':
      return object("d", random.one_in(8) ? array(random, any) : any());
    case 'e':
      return array(random, [&] { return random.one_in(20) ? array(random, any) : any(); });
    case 'f':
      if (random.one_in(4)) {
        return object("g", array(random, any));
      }
      return array(random, [&] { return random.one_in(8) ? any() : object("g", any()); });
    default:
      return any();
  }
}

// `alone`: the only one of its index, so that it may be as long as any.
Json random_property(Random& random, const Taste& taste, const std::string& name, bool may_repeat, bool alone) {
  const PropertyType type = random.one_in(5) ? random_type(random) : taste.at(name);
  Json property = object("name", Json::string(name));
  property.members.emplace_back("type", Json::string(std::string(type_names.at(static_cast<std::size_t>(type)))));
  if (type == PropertyType::string && !(alone && random.one_in(3))) {
    static const std::vector<std::string> lengths = {"1", "2", "3", "3", "100"};
    property.members.emplace_back("max_length", Json::number(random.pick(lengths)));
  }
  const bool is_array = name == "e" || name == "f.g";
  if (may_repeat && random.one_in(10) != is_array) {
    property.members.emplace_back("each", Json::boolean(true));
  }
  return property;
}

// A unique index rejects strings that it would have to cut.
void be_long(Json& definition) {
  Json& properties = std::find_if(definition.members.begin(), definition.members.end(), [](const auto& member) {
                       return member.first == "properties";
                     })->second;
  for (Json& property : properties.items) {
    for (auto& [name, value] : property.members) {
      value = name == "max_length" ? Json::number("100") : value;
    }
  }
}

Json random_where(Random& random) {
  if (random.one_in(2)) {
    return object("kind", Json::string("x"));
  }
  static const std::vector<Json> scalars = {
      {}, Json::boolean(true), Json::number("1"), Json::number("1.5"), Json::string("x"), Json::string("")};
  Json where = object(random.pick(paths), random.pick(scalars));
  if (random.one_in(2)) {
    where = object("kind", Json::string("y"));
    where.members.emplace_back(random.pick(paths), random.pick(scalars));
  }
  return where;
}

struct ToText {
  std::string operator()(const Uuid& uuid) const { return to_string(uuid); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{:.17g}", number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
};

Scalar whole_number(const std::string& digits) {
  std::int64_t number = 0;
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc();
  return fits ? Scalar(number) : BigInteger{digits};
}

std::optional<Scalar> scalar_of(const Json& json) {
  switch (json.kind) {
    case Json::Kind::null:
      return Scalar();
    case Json::Kind::boolean:
      return json.flag;
    case Json::Kind::string:
      return json.text;
    case Json::Kind::number:
      if (json.text.find_first_of(".eE") != std::string::npos) {
        return std::strtod(json.text.c_str(), nullptr);
      }
      return whole_number(json.text);
    default:
      return std::nullopt;
  }
}

// A filter's value is what its text is in JSON, and only else the text itself.
struct ToFilterText {
  std::string operator()(std::monostate /*null*/) const { return "null"; }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{:.17e}", number); }
  std::string operator()(const BigInteger& number) const { return number.digits; }
  std::string operator()(const std::string& text) const {
    const bool can_be_json =
        !text.empty() && std::string_view("-0123456789tfn\"[{ \t\r\n").find(text.front()) != std::string_view::npos;
    return can_be_json ? Json::string(text).write() : text;
  }
};

// Returns a filter for a value that an entity has, which the operator can compare. Half of them are for that value.
std::optional<Filter> random_filter(Random& random, std::optional<Scalar> value) {
  const auto op = random.one_in(2) ? Operator::equal : static_cast<Operator>(random.below(8));
  if (random.one_in(4)) {
    value = scalar_of(scalar_of(random, random_type(random)));
  }
  if (!value) {
    return std::nullopt;
  }
  const auto* const text = std::get_if<std::string>(&*value);
  if (op == Operator::prefix) {
    return text != nullptr ? std::optional(Filter{"", op, cut(*text, random.below(3))}) : std::nullopt;
  }
  const bool has_order =
      text != nullptr || (!std::holds_alternative<std::monostate>(*value) && !std::holds_alternative<bool>(*value));
  const bool needs_order = op != Operator::equal && op != Operator::not_equal && op != Operator::exists;
  return needs_order && !has_order ? std::nullopt : std::optional(Filter{"", op, *value});
}

class QueryMaker {
 public:
  QueryMaker(Random& random, const Reference& reference) : random_(random) {
    for (const auto& [id, entity] : reference.entities()) {
      entities_.push_back(&entity.json);
    }
  }

  Query make(const IndexDefinition& definition) {
    query_.index = definition.table;
    const std::size_t equal = random_.one_in(2) ? 0 : random_.below(definition.properties.size() + 1);
    for (std::size_t i = 0; i < equal; ++i) {
      for (std::size_t alternatives = 1 + random_.below(random_.one_in(6) ? 40 : 3); alternatives > 0; --alternatives) {
        add(definition.properties[i], Operator::equal);
      }
    }
    if (equal < definition.properties.size() && !random_.one_in(4)) {
      add_range(definition.properties[equal]);
    }
    std::shuffle(query_.conditions.begin(), query_.conditions.end(), std::mt19937_64(random_.number()));
    query_.order_by = random_.one_in(2) ? random_order(definition, equal) : "";
    query_.descending = random_.one_in(3);
    query_.limit = random_.one_in(3) ? 1 + random_.below(6) : 0;
    return query_;
  }

 private:
  // Mostly by the property after those that have conditions.
  std::string random_order(const IndexDefinition& definition, std::size_t equal) {
    const std::size_t last = std::min(equal, definition.properties.size() - 1);
    return definition.properties[random_.one_in(4) ? random_.below(last + 1) : last].name;
  }

  void add_range(const Property& property) {
    const std::size_t form = random_.below(property.type == PropertyType::string ? 5 : 4);
    if (form == 4) {
      return add(property, Operator::prefix);
    }
    if (form != 0) {
      add(property, random_.one_in(2) ? Operator::greater : Operator::greater_equal);
    }
    if (form < 2) {
      add(property, random_.one_in(2) ? Operator::less : Operator::less_equal);
    }
  }

  void add(const Property& property, Operator op) { query_.conditions.push_back({property.name, op, text(property)}); }

  std::string text(const Property& property) {
    const auto values =
        entities_.empty() ? std::vector<PropertyValue>() : values_of(property, *random_.pick(entities_));
    if (!values.empty() && !random_.one_in(6)) {
      const std::string text = std::visit(ToText(), random_.pick(values));
      return property.type == PropertyType::string && random_.one_in(2) ? cut(text, property.max_length) : text;
    }
    const Json json = scalar_of(random_, property.type);
    return json.kind == Json::Kind::boolean ? json.write() : json.text;
  }

  Random& random_;
  std::vector<const Json*> entities_;
  Query query_;
};

}  // namespace

Taste random_taste(Random& random) {
  Taste taste;
  for (const std::string& path : paths) {
    taste[path] = random_type(random);
  }
  return taste;
}

Json random_entity(Random& random, const Taste& taste) {
  Json json;
  json.kind = Json::Kind::object;
  for (const std::string& path : paths) {
    if (!random.one_in(6)) {
      const std::string member = member_of(path);
      json.members.emplace_back(member, value_of(random, member.front(), taste.at(path)));
    }
  }
  if (!random.one_in(3)) {
    json.members.emplace_back("kind", Json::string(random.one_in(2) ? "x" : "y"));
  }
  return json;
}

IndexDefinition random_definition(Random& random, const Taste& taste, const std::string& table) {
  Json json = object("table", Json::string(table));
  std::vector<std::string> names = paths;
  std::shuffle(names.begin(), names.end(), std::mt19937_64(random.number()));
  names.resize(random.one_in(2) ? 1 : 1 + random.below(3));
  Json properties;
  properties.kind = Json::Kind::array;
  std::vector<std::string> can_shard;
  bool each = false;
  for (const std::string& name : names) {
    properties.items.push_back(random_property(random, taste, name, !each, names.size() == 1));
    each = each || properties.items.back().member("each") != nullptr;
    const std::string& type = properties.items.back().member("type")->text;
    if (type != "double" && type != "bool") {
      can_shard.push_back(name);
    }
  }
  json.members.emplace_back("properties", std::move(properties));
  if (!can_shard.empty() && !random.one_in(3)) {
    json.members.emplace_back("shard_on", Json::string(random.pick(can_shard)));
  }
  if (random.one_in(3)) {
    json.members.emplace_back("where", random_where(random));
  }
  if (json.member("shard_on") != nullptr && random.one_in(names.size() > 1 ? 2 : 5)) {
    json.members.emplace_back("unique", Json::boolean(true));
    be_long(json);
  }
  if (!each && random.one_in(3)) {
    json.members.emplace_back("immutable", Json::boolean(true));
  }
  return IndexDefinition::parse(json.write(), "test");
}

Filters random_filters(Random& random, const Reference& reference) {
  Filters filters;
  for (std::size_t count = random.one_in(3) ? 1 + random.below(2) : 0; count > 0 && !reference.entities().empty();) {
    const auto entity =
        std::next(reference.entities().begin(), static_cast<std::ptrdiff_t>(random.below(reference.entities().size())));
    const std::string path = random.one_in(3) ? "kind" : random.pick(paths);
    const bool each = random.one_in(path == "e" || path == "f.g" ? 2 : 12);
    const auto found = found_at(path, each, entity->second.json);
    if (auto filter =
            random_filter(random, found.empty() ? std::optional<Scalar>("x") : scalar_of(*random.pick(found)))) {
      filter->path = path;
      filter->each = each;
      filters.push_back(*std::move(filter));
      --count;
    }
  }
  return filters;
}

std::vector<Condition> as_conditions(const Filters& filters) {
  std::vector<Condition> conditions;
  for (const Filter& filter : filters) {
    const bool has_value = filter.op != Operator::exists;
    conditions.push_back(
        {filter.path, filter.op, has_value ? std::visit(ToFilterText(), filter.value) : "", filter.each});
  }
  return conditions;
}

Query random_query(Random& random, const IndexDefinition& definition, const Reference& reference) {
  return QueryMaker(random, reference).make(definition);
}

}  // namespace looseleaf::test
