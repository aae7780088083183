#include "tests/proof/random_ops_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/hex.hpp"
#include "tests/support/split.hpp"

namespace looseleaf::test {
namespace {

std::string write_string(const std::string& text) {
  return nlohmann::json(text).dump();
}

std::vector<std::string> keys_of(const std::string& path) {
  return split(path, '.');
}

// The value that keys from `first` on lead to, through objects only; null if they lead nowhere.
const Json* follow(const Json* json, const std::vector<std::string>& keys, std::size_t first = 0) {
  for (std::size_t i = first; i < keys.size() && json != nullptr; ++i) {
    json = json->member(keys[i]);
  }
  return json;
}

struct ToLiteral {
  std::string operator()(const Uuid& uuid) const { return "x'" + to_string(uuid) + "'"; }
  std::string operator()(const std::string& text) const { return "_utf8mb4 x'" + base::to_hex(text) + "'"; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{:.17e}", number); }
  std::string operator()(bool flag) const { return flag ? "1" : "0"; }
};

bool is_whole(const std::string& literal) {
  return literal.find_first_of(".eE") == std::string::npos;
}

std::optional<std::int64_t> whole_number(const Json& json) {
  std::int64_t number = 0;
  const char* const end = json.text.data() + json.text.size();
  if (json.kind != Json::Kind::number || !is_whole(json.text) ||
      std::from_chars(json.text.data(), end, number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

std::optional<PropertyValue> typed(PropertyType type, const Json* json) {
  const bool is_string = json->kind == Json::Kind::string;
  switch (type) {
    case PropertyType::uuid: {
      const auto uuid = is_string ? Uuid::parse(json->text) : std::nullopt;
      return uuid ? std::optional<PropertyValue>(*uuid) : std::nullopt;
    }
    case PropertyType::string:
      return is_string ? std::optional<PropertyValue>(json->text) : std::nullopt;
    case PropertyType::integer: {
      const auto number = whole_number(*json);
      return number ? std::optional<PropertyValue>(*number) : std::nullopt;
    }
    case PropertyType::real:
      return json->kind == Json::Kind::number ? std::optional<PropertyValue>(read_value(type, json->text))
                                              : std::nullopt;
    case PropertyType::boolean:
      return json->kind == Json::Kind::boolean ? std::optional<PropertyValue>(json->flag) : std::nullopt;
  }
  return std::nullopt;
}

std::partial_ordering reversed(std::partial_ordering order) {
  return 0 <=> order;
}

// Orders two whole numbers by their digits.
std::partial_ordering order_of_digits(const std::string& a, const std::string& b) {
  const bool a_negative = a.front() == '-', b_negative = b.front() == '-';
  if (a_negative != b_negative) {
    return a_negative ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  if (a_negative) {
    return reversed(order_of_digits(a.substr(1), b.substr(1)));
  }
  return a.size() != b.size() ? a.size() <=> b.size() : a.compare(b) <=> 0;
}

std::partial_ordering order_of_numbers(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& literal) { return literal == "-0" ? std::string("0") : literal; };
  return is_whole(a) && is_whole(b) ? order_of_digits(plain(a), plain(b))
                                    : std::strtod(a.c_str(), nullptr) <=> std::strtod(b.c_str(), nullptr);
}

// How a value is to the one that is wanted; unordered if they have no order.
struct OrderTo {
  const Json& json;

  [[nodiscard]] std::partial_ordering number(const std::string& literal) const {
    return json.kind == Json::Kind::number ? order_of_numbers(json.text, literal) : std::partial_ordering::unordered;
  }
  [[nodiscard]] static std::partial_ordering same(bool same) {
    return same ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
  }

  std::partial_ordering operator()(std::monostate /*null*/) const { return same(json.kind == Json::Kind::null); }
  std::partial_ordering operator()(bool flag) const {
    return same(json.kind == Json::Kind::boolean && json.flag == flag);
  }
  std::partial_ordering operator()(std::int64_t wanted) const { return number(std::to_string(wanted)); }
  std::partial_ordering operator()(double wanted) const { return number(fmt::format("{:.17e}", wanted)); }
  std::partial_ordering operator()(const BigInteger& wanted) const { return number(wanted.digits); }
  std::partial_ordering operator()(const std::string& wanted) const {
    return json.kind == Json::Kind::string ? json.text.compare(wanted) <=> 0 : std::partial_ordering::unordered;
  }
};

bool meets(const Json& json, Operator op, const Scalar& wanted) {
  const auto order = [&] { return std::visit(OrderTo{json}, wanted); };
  switch (op) {
    case Operator::equal:
      return order() == 0;
    case Operator::less:
      return order() < 0;
    case Operator::less_equal:
      return order() <= 0;
    case Operator::greater:
      return order() > 0;
    case Operator::greater_equal:
      return order() >= 0;
    case Operator::prefix:
      return json.kind == Json::Kind::string && json.text.starts_with(std::get<std::string>(wanted));
    case Operator::exists:
      return true;
    case Operator::not_equal:
      break;
  }
  return false;
}

bool has_value(const Json& entity, const std::pair<std::string, Scalar>& wanted) {
  const Json* const json = find_path(entity, wanted.first);
  return json != nullptr && meets(*json, Operator::equal, wanted.second);
}

bool holds(const Condition& condition, const PropertyValue& value, const PropertyValue& wanted) {
  switch (condition.op) {
    case Operator::equal:
      return value == wanted;
    case Operator::less:
      return value < wanted;
    case Operator::less_equal:
      return value <= wanted;
    case Operator::greater:
      return value > wanted;
    case Operator::greater_equal:
      return value >= wanted;
    case Operator::prefix:
      return std::get<std::string>(value).starts_with(std::get<std::string>(wanted));
    case Operator::not_equal:
    case Operator::exists:
      break;
  }
  return false;
}

// Conditions with = on one property are alternatives; all others must hold.
bool meets(const Property& property, const PropertyValue& value, const std::vector<Condition>& conditions) {
  bool alternatives = false, any = false;
  for (const Condition& condition : conditions) {
    if (condition.property != property.name) {
      continue;
    }
    const bool met = holds(condition, value, read_value(property.type, condition.value));
    if (condition.op == Operator::equal) {
      alternatives = true;
      any = any || met;
    } else if (!met) {
      return false;
    }
  }
  return any || !alternatives;
}

// A digit of the number in base 256 at a time.
std::uint32_t remainder_of(const Uuid& uuid, std::uint32_t divisor) {
  std::uint32_t remainder = 0;
  for (const std::uint8_t byte : uuid.bytes) {
    remainder = (remainder * 256 + byte) % divisor;
  }
  return remainder;
}

std::uint32_t crc32_of(const std::string& text) {
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~crc;
}

}  // namespace

bool is_indexed(const IndexDefinition& definition, const Json& entity) {
  return std::all_of(definition.where.begin(), definition.where.end(),
                     [&](const auto& condition) { return has_value(entity, condition); });
}

PropertyValue stored_value(const Property& property, PropertyValue value) {
  if (auto* text = std::get_if<std::string>(&value)) {
    *text = cut(*text, property.max_length);
  }
  return value;
}

std::set<std::vector<PropertyValue>> rows_of(const IndexDefinition& definition, const Json& entity,
                                             const std::vector<Condition>& conditions) {
  if (!is_indexed(definition, entity)) {
    return {};
  }
  std::set<std::vector<PropertyValue>> rows = {{}};
  for (const Property& property : definition.properties) {
    std::set<std::vector<PropertyValue>> longer;
    for (const PropertyValue& value : values_of(property, entity)) {
      for (std::vector<PropertyValue> row : rows) {
        const PropertyValue stored = stored_value(property, value);
        if (meets(property, value, conditions) && (!definition.unique || stored == value)) {
          row.push_back(stored);
          longer.insert(std::move(row));
        }
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

ReferenceRow place_of(const std::set<std::vector<PropertyValue>>& rows, const IndexDefinition& definition,
                      const Query& query, const Uuid& id) {
  const auto& properties = definition.properties;
  const auto first = std::find_if(properties.begin(), properties.end(), [&](const Property& property) {
    return query.order_by.empty() || property.name == query.order_by;
  });
  std::set<std::vector<PropertyValue>> places;
  for (const std::vector<PropertyValue>& row : rows) {
    places.emplace(row.begin() + (first - properties.begin()), row.end());
  }
  return {query.descending ? *places.rbegin() : *places.begin(), id};
}

std::vector<const Json*> found_at(const std::string& path, bool each, const Json& entity) {
  const std::vector<std::string> keys = keys_of(path);
  std::vector<const Json*> found;
  if (!each) {
    found = {follow(&entity, keys)};
  }
  for (std::size_t length = 1; each && length <= keys.size(); ++length) {
    const Json* const json = follow(&entity, {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(length)});
    if (json != nullptr && json->kind == Json::Kind::array) {
      for (const Json& item : json->items) {
        found.push_back(follow(&item, keys, length));
      }
      break;
    }
  }
  std::erase(found, nullptr);
  return found;
}

bool passes(const Filters& filters, const Json& entity) {
  const auto any_meets = [&](const Filter& filter, Operator op) {
    const auto found = found_at(filter.path, filter.each, entity);
    return std::any_of(found.begin(), found.end(), [&](const Json* json) { return meets(*json, op, filter.value); });
  };
  return std::all_of(filters.begin(), filters.end(), [&](const Filter& filter) {
    if (filter.op == Operator::not_equal) {
      return !any_meets(filter, Operator::equal);
    }
    return std::any_of(filters.begin(), filters.end(), [&](const Filter& other) {
      const bool alternative = filter.op == Operator::equal && other.op == Operator::equal &&
                               other.path == filter.path && other.each == filter.each;
      return (alternative || &other == &filter) && any_meets(other, filter.op);
    });
  });
}

std::uint32_t shard_of(const PropertyValue& value, std::uint32_t shards) {
  if (const auto* uuid = std::get_if<Uuid>(&value)) {
    return remainder_of(*uuid, shards);
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    const std::int64_t remainder = *number % std::int64_t{shards};
    return static_cast<std::uint32_t>(remainder < 0 ? remainder + shards : remainder);
  }
  return crc32_of(std::get<std::string>(value)) % shards;
}

const Json* find_path(const Json& entity, const std::string& path) {
  return follow(&entity, keys_of(path));
}

std::string sql_literal(const ReferenceRow& row) {
  std::string out;
  for (const PropertyValue& value : row.values) {
    out += std::visit(ToLiteral(), value) + ", ";
  }
  return "(" + out + ToLiteral()(row.entity_id) + ")";
}

std::string cut(const std::string& text, std::size_t code_points) {
  std::size_t at = 0;
  while (at < text.size()) {
    const bool begins_one = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins_one && code_points-- == 0) {
      break;
    }
    ++at;
  }
  return text.substr(0, at);
}

std::vector<PropertyValue> values_of(const Property& property, const Json& entity) {
  std::vector<PropertyValue> values;
  for (const Json* const json : found_at(property.name, property.each, entity)) {
    if (auto value = typed(property.type, json)) {
      values.push_back(*std::move(value));
    }
  }
  return values;
}

Json Json::boolean(bool flag) {
  Json json;
  json.kind = Kind::boolean;
  json.flag = flag;
  return json;
}

Json Json::number(std::string literal) {
  Json json;
  json.kind = Kind::number;
  json.text = std::move(literal);
  return json;
}

Json Json::string(std::string text) {
  Json json;
  json.kind = Kind::string;
  json.text = std::move(text);
  return json;
}

const Json* Json::member(const std::string& name) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

std::string Json::write() const {
  std::string out;
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return flag ? "true" : "false";
    case Kind::number:
      return text;
    case Kind::string:
      return write_string(text);
    case Kind::array:
      for (const Json& item : items) {
        out += (out.empty() ? "" : ",") + item.write();
      }
      return "[" + out + "]";
    case Kind::object:
      for (const auto& [name, value] : members) {
        out += (out.empty() ? "" : ",") + write_string(name) + ":" + value.write();
      }
      return "{" + out + "}";
  }
  return out;
}

PropertyValue read_value(PropertyType type, const std::string& text) {
  switch (type) {
    case PropertyType::uuid:
      return text.size() == 16 ? Uuid::from_bytes(text).value() : Uuid::parse(text).value();
    case PropertyType::string:
      return text;
    case PropertyType::integer:
      return std::int64_t{std::strtoll(text.c_str(), nullptr, 10)};
    case PropertyType::real:
      return std::strtod(text.c_str(), nullptr) + 0.0;  // -0 becomes 0
    case PropertyType::boolean:
      return text == "true" || text == "1";
  }
  return {};
}

std::optional<Reference::Stored> Reference::store(const Uuid& id, std::optional<Stored> entity) {
  const auto before = entities_.find(id);
  std::optional<Stored> old = before == entities_.end() ? std::nullopt : std::optional(before->second);
  if (entity) {
    entities_.insert_or_assign(id, *std::move(entity));
    known_.insert(id);
  } else {
    entities_.erase(id);
  }
  return old;
}

WriteStatus Reference::remove(const Uuid& id) {
  return entities_.erase(id) == 0 ? WriteStatus::not_found : WriteStatus::stored;
}

std::size_t Reference::purge() {
  return std::erase_if(known_, [this](const Uuid& id) { return !entities_.contains(id); });
}

std::optional<std::string> Reference::get(const Uuid& id) const {
  const auto found = entities_.find(id);
  return found == entities_.end() ? std::nullopt : std::optional(found->second.text);
}

std::vector<Uuid> Reference::query(const Query& query, const Filters& filters) const {
  const IndexDefinition& definition = indexes_.at(query.index).definition;
  std::vector<ReferenceRow> first_rows;  // as far as the order goes by them
  for (const auto& [id, entity] : entities_) {
    const auto rows = rows_of(definition, entity.json, query.conditions);
    if (!rows.empty() && passes(filters, entity.json)) {
      first_rows.push_back(place_of(rows, definition, query, id));
    }
  }
  std::sort(first_rows.begin(), first_rows.end());
  if (query.descending) {
    std::reverse(first_rows.begin(), first_rows.end());
  }
  if (query.limit != 0 && query.limit < first_rows.size()) {
    first_rows.resize(query.limit);
  }
  std::vector<Uuid> ids;
  for (const ReferenceRow& row : first_rows) {
    ids.push_back(row.entity_id);
  }
  return ids;
}

ReferenceTable Reference::table(const IndexDefinition& definition) const {
  ReferenceTable table(shards_);
  for (const auto& [id, entity] : entities_) {
    for (const auto& values : rows_of(definition, entity.json)) {
      const ReferenceRow row = {values, id};
      table[shard_of(definition.shard_on ? values.at(*definition.shard_on) : id, shards_)].insert(row);
    }
  }
  return table;
}

}  // namespace looseleaf::test
