// Queries by index: equality on the first properties, then a range on the next, in index order.
#pragma once

#include <cstdint>
#include <looseleaf/export.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace looseleaf {

enum class Operator { equal, less, less_equal, greater, greater_equal, prefix };

// One condition on a property of the index; the text of the value is read as the property's type asks.
struct Condition {
  std::string property;
  Operator op = Operator::equal;
  std::string value;

  // "name=value", "name<v", "name<=v", "name>v", "name>=v" or "name^=v", split at the first operator.
  // Throws Error(usage).
  [[nodiscard]] static LOOSELEAF_EXPORT Condition parse(std::string_view text);

  bool operator==(const Condition&) const = default;
};

struct Query {
  std::string index;
  std::vector<Condition> conditions;
  bool descending = false;
  std::uint64_t limit = 0;  // entities; 0: all
};

struct QueryReport {
  std::uint64_t entities = 0;        // given to the caller
  std::uint64_t index_rows = 0;      // read
  std::uint64_t filtered_stale = 0;  // rows whose entity no longer calls for them
};

}  // namespace looseleaf
