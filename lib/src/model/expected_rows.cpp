// Computes the index rows that an entity calls for.
#include "model/expected_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "model/json/strict_json.hpp"
#include "model/row_rules.hpp"

namespace looseleaf::model {
namespace {

using nlohmann::json;

// A JSON value of nlohmann::json. See row_rules.hpp.
class JsonNode {
 public:
  explicit JsonNode(const json& value) : value_(&value) {}

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] bool is_object() const { return value_->is_object(); }
  [[nodiscard]] bool is_array() const { return value_->is_array(); }

  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const {
    const auto member = value_->find(key);
    return member != value_->end() ? std::optional(JsonNode(*member)) : std::nullopt;
  }

  template <typename Function>
  void for_each(const Function& function) const {
    for (const json& element : *value_) {
      function(JsonNode(element));
    }
  }

  [[nodiscard]] std::optional<std::string_view> string() const {
    return value_->is_string() ? std::optional<std::string_view>(value_->get_ref<const std::string&>()) : std::nullopt;
  }
  [[nodiscard]] std::optional<bool> boolean() const {
    return value_->is_boolean() ? std::optional(value_->get<bool>()) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    return value_->is_number_integer() && !big_integer() ? std::optional(value_->get<std::int64_t>()) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> big_integer() const { return model::big_integer(*value_); }
  [[nodiscard]] std::optional<double> fraction() const { return value_->is_number_float() ? number() : std::nullopt; }
  [[nodiscard]] std::optional<double> number() const {
    if (value_->is_number()) {
      return value_->get<double>();
    }
    const auto digits = big_integer();
    return digits ? std::optional(nearest_double(*digits)) : std::nullopt;
  }

 private:
  const json* value_;
};

}  // namespace

std::vector<Row> expected_rows(const IndexDefinition& definition, const json& entity) {
  return rules::expected_rows(definition, JsonNode(entity));
}

NoRow reason_for_no_row(const IndexDefinition& definition, const json& entity) {
  return rules::reason_for_no_row(definition, JsonNode(entity));
}

std::vector<NoRow> elements_left_out(const IndexDefinition& definition, const json& entity) {
  return rules::elements_left_out(definition, JsonNode(entity));
}

std::vector<Value> property_values(const Property& property, const json& entity) {
  return rules::property_values(property, JsonNode(entity));
}

Examined examine(const json& entity, const Criterion& criterion) {
  return rules::examine(JsonNode(entity), criterion);
}

bool matches_where(const IndexDefinition& definition, const json& entity) {
  return rules::matches_where(definition, JsonNode(entity));
}

}  // namespace looseleaf::model
