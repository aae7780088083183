// Parses with simdjson, or with nlohmann if simdjson does not accept the text.
#include "model/parsed_entity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "base/pool.hpp"
#include "model/expected_rows.hpp"
#include "model/json/fast_parser.hpp"
#include "model/json/strict_json.hpp"
#include "model/row_rules.hpp"

namespace looseleaf::model {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// A JSON value of simdjson, or the id of an entity whose text has none. See row_rules.hpp.
class ElementNode {
 public:
  // `made_id` is a further member of this value, which is an object; empty: there is none.
  explicit ElementNode(const element& value, std::string_view made_id = {}) : value_(value), made_id_(made_id) {}

  [[nodiscard]] bool is_null() const { return value_ && value_->is_null(); }
  [[nodiscard]] bool is_object() const { return value_ && value_->is_object(); }
  [[nodiscard]] bool is_array() const { return value_ && value_->is_array(); }

  // Returns the last member with this key, like nlohmann.
  [[nodiscard]] std::optional<ElementNode> find(std::string_view key) const {
    std::optional<ElementNode> found;
    const simdjson::dom::object members = value_->get_object().value_unsafe();
    for (auto member = members.begin(); member != members.end(); ++member) {
      if (member.key_equals(key)) {
        found.emplace(member.value());
      }
    }
    if (key == "id" && !made_id_.empty()) {
      found = ElementNode(made_id_);
    }
    return found;
  }

  template <typename Function>
  void for_each(const Function& function) const {
    simdjson::dom::array elements;
    if (value_ && value_->get_array().get(elements) == simdjson::SUCCESS) {
      for (const element value : elements) {
        function(ElementNode(value));
      }
    }
  }

  [[nodiscard]] std::optional<std::string_view> string() const {
    if (!value_) {
      return made_id_;
    }
    return value_->is_string() ? std::optional(value_->get_string().value_unsafe()) : std::nullopt;
  }
  [[nodiscard]] std::optional<bool> boolean() const {
    return value_ && value_->is_bool() ? std::optional(value_->get_bool().value_unsafe()) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    return is(element_type::INT64) ? std::optional(value_->get_int64().value_unsafe()) : std::nullopt;
  }
  // simdjson reads no larger integers than those that fit an unsigned 64-bit integer.
  [[nodiscard]] std::optional<std::string> big_integer() const {
    return is(element_type::UINT64) ? std::optional(std::to_string(value_->get_uint64().value_unsafe())) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> fraction() const { return is(element_type::DOUBLE) ? number() : std::nullopt; }
  [[nodiscard]] std::optional<double> number() const {
    return value_ && value_->is_number() ? std::optional(value_->get_double().value_unsafe()) : std::nullopt;
  }

 private:
  explicit ElementNode(std::string_view made_id) : made_id_(made_id) {}

  [[nodiscard]] bool is(element_type type) const { return value_ && value_->type() == type; }

  std::optional<element> value_;  // absent: the id that was made
  std::string_view made_id_;
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

// True if the value meets the rules of parse_strict() beyond JSON. Only parse_strict() can tell which rule it breaks.
// `depth` objects and arrays are open around it.
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

// simdjson's tree or, where simdjson does not accept the text, nlohmann's.
struct ParsedEntity::Tree {
  explicit Tree(nlohmann::json value) : json(std::move(value)) {}

  // Returns null if simdjson does not accept the text or the text is not an object.
  static std::unique_ptr<Tree> fast(std::string_view text) {
    auto tree = std::make_unique<Tree>(nlohmann::json());
    tree->parser.emplace(base::shared_pool<FastParser>());
    tree->root = (*tree->parser)->parse(text);
    return tree->root && tree->root->is_object() ? std::move(tree) : nullptr;
  }

  // Returns the node of `root`.
  [[nodiscard]] ElementNode node() const { return ElementNode(*root, made_id); }

  std::optional<base::Pool<FastParser>::Loan> parser;
  std::optional<element> root;  // owned by the parser; absent if it did not accept the text
  std::string made_id;          // the id that was added to `root`; empty: none
  nlohmann::json json;          // set if `root` is absent
};

ParsedEntity::ParsedEntity(std::string_view stored) : tree_(Tree::fast(stored)) {
  if (tree_) {
    return;
  }
  nlohmann::json json;
  try {
    json = parse_stored(stored);
  } catch (const JsonFault&) {  // then it is no object
  }
  if (!json.is_object()) {
    throw Error(ErrorCode::corrupt, "a stored body is not a JSON object", {},
                "run `looseleaf verify` to find every body that cannot be read");
  }
  tree_ = std::make_unique<Tree>(std::move(json));
}

ParsedEntity::ParsedEntity(std::string_view stored, const Uuid& id) : ParsedEntity(stored) {
  if (this->id() != id) {
    throw Error(ErrorCode::corrupt, "a stored body has another entity's id", {},
                "run `looseleaf verify` to find every body that cannot be read");
  }
}

std::optional<ParsedEntity> ParsedEntity::strict(std::string_view text) {
  std::unique_ptr<Tree> tree = Tree::fast(text);
  if (!tree || !is_strict(*tree->root, 0)) {
    nlohmann::json json = parse_strict(text, BigIntegers::with_all_digits);
    if (!json.is_object()) {
      return std::nullopt;
    }
    tree = std::make_unique<Tree>(std::move(json));
  }
  return ParsedEntity(std::move(tree));
}

ParsedEntity::ParsedEntity(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
ParsedEntity::ParsedEntity(ParsedEntity&&) noexcept = default;
ParsedEntity& ParsedEntity::operator=(ParsedEntity&&) noexcept = default;
ParsedEntity::~ParsedEntity() = default;

bool ParsedEntity::is_empty() const {
  return tree_->root ? tree_->root->get_object().value_unsafe().size() == 0 && tree_->made_id.empty()
                     : tree_->json.empty();
}

bool ParsedEntity::has_id() const {
  return tree_->root ? tree_->node().find("id").has_value() : tree_->json.contains("id");
}

std::optional<Uuid> ParsedEntity::id() const {
  if (tree_->root) {
    const auto id = tree_->node().find("id");
    const auto text = id ? id->string() : std::nullopt;
    return text ? Uuid::parse(*text) : std::nullopt;
  }
  const auto id = tree_->json.find("id");
  return id != tree_->json.end() && id->is_string() ? Uuid::parse(id->get_ref<const std::string&>()) : std::nullopt;
}

void ParsedEntity::add_id(const Uuid& id) {
  if (tree_->root) {
    tree_->made_id = to_string(id);
  } else {
    tree_->json["id"] = to_string(id);
  }
}

std::vector<Row> ParsedEntity::expected_rows(const IndexDefinition& definition) const {
  return tree_->root ? rules::expected_rows(definition, tree_->node()) : model::expected_rows(definition, tree_->json);
}

NoRow ParsedEntity::reason_for_no_row(const IndexDefinition& definition) const {
  return tree_->root ? rules::reason_for_no_row(definition, tree_->node())
                     : model::reason_for_no_row(definition, tree_->json);
}

std::vector<NoRow> ParsedEntity::elements_left_out(const IndexDefinition& definition) const {
  return tree_->root ? rules::elements_left_out(definition, tree_->node())
                     : model::elements_left_out(definition, tree_->json);
}

std::vector<Value> ParsedEntity::property_values(const Property& property) const {
  return tree_->root ? rules::property_values(property, tree_->node()) : model::property_values(property, tree_->json);
}

Examined ParsedEntity::examine(const Criterion& criterion) const {
  return tree_->root ? rules::examine(tree_->node(), criterion) : model::examine(tree_->json, criterion);
}

bool ParsedEntity::matches_where(const IndexDefinition& definition) const {
  return tree_->root ? rules::matches_where(definition, tree_->node()) : model::matches_where(definition, tree_->json);
}

}  // namespace looseleaf::model
