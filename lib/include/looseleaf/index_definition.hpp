// An index definition: the declaration of one index table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <looseleaf/export.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace looseleaf {

enum class PropertyType { uuid, string, integer, real, boolean };

// Returns the name used in definition files: "uuid", "string", "int", "double" or "bool".
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(PropertyType type);

struct Property {
  std::string name;  // a dotted path; also the column's name
  PropertyType type = PropertyType::string;
  std::uint32_t max_length = 735;  // in code points; for strings only
  bool each = false;               // the index has one row per distinct value of the array at the path

  bool operator==(const Property&) const = default;
};

// A whole number that does not fit std::int64_t, by its digits: "18446744073709551616".
struct BigInteger {
  std::string digits;

  bool operator==(const BigInteger&) const = default;
};

// A scalar of a `where` condition: null, bool, int, double, string or a larger whole number.
using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string, BigInteger>;

struct IndexDefinition {
  std::string table;
  std::vector<Property> properties;                   // in key order
  std::optional<std::size_t> shard_on;                // the position in `properties`; absent for a local index
  std::vector<std::pair<std::string, Scalar>> where;  // dotted paths and the values they must have, sorted
  bool immutable = false;
  bool unique = false;  // no two entities have a row with the same values

  // Reads and checks a definition. `source` names the file in messages. Throws Error(bad_definition) with file, line
  // and column in the context and a hint.
  [[nodiscard]] static LOOSELEAF_EXPORT IndexDefinition parse(std::string_view text, const std::string& source);
  [[nodiscard]] static LOOSELEAF_EXPORT IndexDefinition load(const std::string& path);

  // Returns the definition as one line of JSON, with keys in a fixed order and without defaults, so that equal
  // definitions have equal texts. parse() reads it back. Throws Error(bad_definition), as fingerprint() does, if
  // `shard_on` is no position in `properties`.
  [[nodiscard]] LOOSELEAF_EXPORT std::string canonical_json() const;
  // Returns a hash of canonical_json() as 16 hexadecimal digits. Equal definitions have equal fingerprints.
  [[nodiscard]] LOOSELEAF_EXPORT std::string fingerprint() const;

  bool operator==(const IndexDefinition&) const = default;
};

}  // namespace looseleaf
