// Ids that are made of an entity's own values: entities with equal values have the same id, and so are the same entity.
#pragma once

#include <looseleaf/export.hpp>
#include <looseleaf/uuid.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf {

// The properties that make an id. The id is a UUIDv5 (RFC 9562), in a name space of its own, of the JSON array of the
// pairs [name, value], sorted by the names' bytes, as RFC 8785 writes it. The values are strings, or whole numbers of
// 64 bits without fraction and exponent. See docs/format.md.
class LOOSELEAF_EXPORT Key {
 public:
  // No key: entities keep their ids.
  Key() = default;
  // `properties` are dotted paths. Throws Error(usage) if there are none, or if one is empty, is `id`, or comes twice.
  explicit Key(std::vector<std::string> properties);

  [[nodiscard]] bool empty() const { return properties_.empty(); }
  // Sorted.
  [[nodiscard]] const std::vector<std::string>& properties() const { return properties_; }

  bool operator==(const Key&) const = default;

 private:
  std::vector<std::string> properties_;
};

// A key with its values: the name of one entity.
struct KeyWithValues {
  Key key;
  Uuid id;                  // that the values make
  bool has_number = false;  // among the values; a string of the same digits makes another id

  // Reads "name=value,name=value". A value is a JSON scalar if it can be parsed as one, or else a string. A name or a
  // value that contains a comma is written as a JSON string. Throws Error(usage).
  [[nodiscard]] static LOOSELEAF_EXPORT KeyWithValues parse(std::string_view text);
};

}  // namespace looseleaf
