// Reads single members of an entity's body, for code that processes many entities.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "model/value.hpp"

namespace looseleaf::model {

// Each object has its own parser, which takes 1 MiB.
class StoredEntity {
 public:
  // Takes a stored body, which was checked when it was put. Checks only that it is a JSON object; throws Error(corrupt)
  // where parse_stored() would. Keeps no reference to the text.
  explicit StoredEntity(std::string_view text);
  // Takes a parsed body, which must be an object.
  [[nodiscard]] static StoredEntity of_parsed(nlohmann::json json);
  // Takes a text that has not been checked. Absent if parse_strict() would not accept it as an object, and also for
  // some texts that it would accept: call parse_strict() then.
  [[nodiscard]] static std::optional<StoredEntity> if_strict(std::string_view text);
  StoredEntity(StoredEntity&&) noexcept;
  StoredEntity& operator=(StoredEntity&&) noexcept;
  ~StoredEntity();

  // These return what id_of() and the functions of expected_rows.hpp return for the result of parse_stored().
  [[nodiscard]] std::optional<Uuid> id() const;
  [[nodiscard]] std::vector<Row> expected_rows(const IndexDefinition& definition) const;
  [[nodiscard]] std::vector<Value> property_values(const Property& property) const;
  [[nodiscard]] bool has_value(std::string_view path, const Scalar& value) const;

 private:
  class Parsed;
  explicit StoredEntity(std::unique_ptr<Parsed> parsed);

  std::unique_ptr<Parsed> parsed_;
};

}  // namespace looseleaf::model
