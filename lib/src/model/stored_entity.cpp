// Members by simdjson; of the texts that it does not take, by nlohmann.
#include "model/stored_entity.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "model/entity.hpp"
#include "model/expected_rows.hpp"
#include "model/fast_parser.hpp"
#include "model/row_rules.hpp"

namespace looseleaf::model {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A value that simdjson holds. See row_rules.hpp.
class ElementNode {
 public:
  explicit ElementNode(const element& value) : value_(value) {}

  [[nodiscard]] bool is_null() const { return value_.is_null(); }
  [[nodiscard]] bool is_object() const { return value_.is_object(); }
  [[nodiscard]] bool is_array() const { return value_.is_array(); }

  // The last one of that key, as nlohmann reads it.
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
  // What does not fit into 64 bits with a sign has a type of its own.
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

}  // namespace

class StoredEntity::Parsed {
 public:
  explicit Parsed(std::string_view text) {
    parser_.emplace(FastParser::pool());
    root_ = (*parser_)->parse(text);
    if (!root_ || !root_->is_object()) {
      root_.reset();
      parser_.reset();
      json_ = parse_stored(text);
    }
  }

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

 private:
  std::optional<base::Pool<FastParser>::Loan> parser_;
  std::optional<element> root_;  // in the parser; absent: it did not take the text
  Json json_;                    // then
};

StoredEntity::StoredEntity(std::string_view text) : parsed_(std::make_unique<Parsed>(text)) {}
StoredEntity::StoredEntity(StoredEntity&&) noexcept = default;
StoredEntity& StoredEntity::operator=(StoredEntity&&) noexcept = default;
StoredEntity::~StoredEntity() = default;

std::optional<Uuid> StoredEntity::id() const {
  return parsed_->id();
}

std::vector<Row> StoredEntity::expected_rows(const IndexDefinition& definition) const {
  return parsed_->expected_rows(definition);
}

}  // namespace looseleaf::model
