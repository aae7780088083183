// An entity's body of which only those members are taken that are asked for: for what deals with many entities.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/json/json.hpp"
#include "model/value.hpp"

namespace looseleaf::model {

// Every one holds a parser of its own, of a MiB.
class StoredEntity {
 public:
  // A body that is stored, so that it was checked when it was put; this sees that it is a JSON object. Throws
  // Error(corrupt) for what parse_stored() refuses, and takes everything else. Keeps nothing of the text.
  explicit StoredEntity(std::string_view text);
  // A body that was parsed already, an object.
  explicit StoredEntity(Json json);
  // A text that is yet to be checked. Absent unless it is a JSON object that parse_strict() takes, and for some that it
  // takes: then ask there.
  [[nodiscard]] static std::optional<StoredEntity> if_strict(std::string_view text);
  StoredEntity(StoredEntity&&) noexcept;
  StoredEntity& operator=(StoredEntity&&) noexcept;
  ~StoredEntity();

  // As id_of() and the functions of expected_rows.hpp for what parse_stored() gives for the text.
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
