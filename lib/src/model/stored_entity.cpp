// Reads members with simdjson, or with nlohmann if simdjson does not accept the text.
#include "model/stored_entity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "model/json/fast_parser.hpp"
#include "model/json/strict_json.hpp"
#include "model/row_rules.hpp"

namespace looseleaf::model {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A JSON value of simdjson. See row_rules.hpp.
class ElementNode {
 public:
  explicit ElementNode(const element& value) : value_(value) {}

  [[nodiscard]] bool is_null() const { return value_.is_null(); }
  [[nodiscard]] bool is_object() const { return value_.is_object(); }
  [[nodiscard]] bool is_array() const { return value_.is_array(); }

  // Returns the last member with this key, like nlohmann.
  [[nodiscard]] std::optional<ElementNode> find(std::string_view key) const {
    std::optional<ElementNode> found;
    const simdjson::dom::object members = value_.get_object().value_unsafe();
    for (auto member = members.begin(); member != members.end(); ++member) {
      if (member.key_equals(key)) {
        found.emplace(member.value());
      }
    }
    return found;
  }

  template <typename Function>
  void for_each(const Function& function) const {
    simdjson::dom::array elements;
    if (value_.get_array().get(elements) == simdjson::SUCCESS) {
      for (const element value : elements) {
        function(ElementNode(value));
      }
    }
  }

  [[nodiscard]] std::optional<std::string_view> string() const {
    return value_.is_string() ? std::optional(value_.get_string().value_unsafe()) : std::nullopt;
  }
  [[nodiscard]] std::optional<bool> boolean() const {
    return value_.is_bool() ? std::optional(value_.get_bool().value_unsafe()) : std::nullopt;
  }
  // Integers that do not fit a signed 64-bit integer have a type of their own in simdjson.
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    return value_.type() == element_type::INT64 ? std::optional(value_.get_int64().value_unsafe()) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> fraction() const {
    return value_.type() == element_type::DOUBLE ? number() : std::nullopt;
  }
  [[nodiscard]] std::optional<double> number() const {
    return value_.is_number() ? std::optional(value_.get_double().value_unsafe()) : std::nullopt;
  }

 private:
  element value_;
};

bool has_distinct_keys(const simdjson::dom::object& object) {
  constexpr std::size_t few = 16;  // so few that comparing all pairs is fast
  std::array<std::string_view, few> first;
  std::size_t seen = 0;
  for (const auto& member : object) {
    if (seen == few) {
      std::vector<std::string_view> keys;
      for (const auto& [key, value] : object) {
        keys.push_back(key);
      }
      std::sort(keys.begin(), keys.end());
      return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
    }
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(seen);
    if (std::find(first.begin(), end, member.key) != end) {
      return false;
    }
    first[seen++] = member.key;
  }
  return true;
}

// True if the value meets the rules of parse_strict() beyond JSON. `depth` objects and arrays are open around it.
bool is_strict(const element& value, std::size_t depth) {
  const auto inside_too = [&](const element& inner) { return is_strict(inner, depth + 1); };
  switch (value.type()) {
    case element_type::OBJECT: {
      const simdjson::dom::object members = value.get_object().value_unsafe();
      return depth < max_depth && has_distinct_keys(members) &&
             std::all_of(members.begin(), members.end(), [&](const auto& member) { return inside_too(member.value); });
    }
    case element_type::ARRAY: {
      const simdjson::dom::array elements = value.get_array().value_unsafe();
      return depth < max_depth && std::all_of(elements.begin(), elements.end(), inside_too);
    }
    case element_type::DOUBLE:
      return std::isfinite(value.get_double().value_unsafe());
    default:
      return true;
  }
}

}  // namespace

class StoredEntity::Parsed {
 public:
  explicit Parsed(nlohmann::json json) : json_(std::move(json)) {}

  // Returns null if simdjson does not accept the text or the text is not an object.
  static std::unique_ptr<Parsed> fast(std::string_view text) {
    auto parsed = std::make_unique<Parsed>(nlohmann::json());
    parsed->parser_.emplace(FastParser::pool());
    parsed->root_ = (*parsed->parser_)->parse(text);
    return parsed->root_ && parsed->root_->is_object() ? std::move(parsed) : nullptr;
  }

  // Valid only for an object that fast() has made.
  [[nodiscard]] bool is_strict() const { return model::is_strict(*root_, 0); }

  [[nodiscard]] std::optional<Uuid> id() const {
    if (!root_) {
      return id_of(json_);
    }
    const auto id = ElementNode(*root_).find("id");
    const auto text = id ? id->string() : std::nullopt;
    return text ? Uuid::parse(*text) : std::nullopt;
  }

  [[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition) const {
    return root_ ? rules::expected_rows(definition, ElementNode(*root_)) : model::expected_rows(definition, json_);
  }

  [[nodiscard]] std::vector<Value> property_values(const Property& property) const {
    return root_ ? rules::property_values(property, ElementNode(*root_)) : model::property_values(property, json_);
  }

  [[nodiscard]] bool has_value(std::string_view path, const Scalar& value) const {
    return root_ ? rules::has_value(ElementNode(*root_), path, value) : model::has_value(json_, path, value);
  }

 private:
  std::optional<base::Pool<FastParser>::Loan> parser_;
  std::optional<element> root_;  // owned by the parser; absent if it did not accept the text
  nlohmann::json json_;          // set if root_ is absent
};

StoredEntity::StoredEntity(std::string_view text) : parsed_(Parsed::fast(text)) {
  if (!parsed_) {
    parsed_ = std::make_unique<Parsed>(parse_stored(text));
  }
}
StoredEntity StoredEntity::of_parsed(nlohmann::json json) {
  return StoredEntity(std::make_unique<Parsed>(std::move(json)));
}
StoredEntity::StoredEntity(std::unique_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
StoredEntity::StoredEntity(StoredEntity&&) noexcept = default;
StoredEntity& StoredEntity::operator=(StoredEntity&&) noexcept = default;
StoredEntity::~StoredEntity() = default;

std::optional<StoredEntity> StoredEntity::if_strict(std::string_view text) {
  std::unique_ptr<Parsed> parsed = Parsed::fast(text);
  return parsed && parsed->is_strict() ? std::optional(StoredEntity(std::move(parsed))) : std::nullopt;
}

std::optional<Uuid> StoredEntity::id() const {
  return parsed_->id();
}

std::vector<Row> StoredEntity::expected_rows(const IndexDefinition& definition) const {
  return parsed_->expected_rows(definition);
}

std::vector<Value> StoredEntity::property_values(const Property& property) const {
  return parsed_->property_values(property);
}

bool StoredEntity::has_value(std::string_view path, const Scalar& value) const {
  return parsed_->has_value(path, value);
}

}  // namespace looseleaf::model
