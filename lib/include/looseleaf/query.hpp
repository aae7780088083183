// Queries by index: equality on the first properties, then a range on the next, in index order.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
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
  // On properties of the entity that the index does not have, with Operator::equal: the value is a JSON scalar if it
  // reads as one, else a string, and compared without coercion. Several for one property: any of them.
  std::vector<Condition> where;
  bool descending = false;
  std::uint64_t limit = 0;  // entities; 0: all
  std::string after;        // a QueryReport's `next`: go on where that page ended
  bool partial = false;     // answer although a shard cannot be asked
  // Asked now and then, also while nothing is found: true ends the query with Error(interrupted).
  std::function<bool()> stop = {};
};

struct QueryReport {
  std::uint64_t entities = 0;          // given to the caller
  std::uint64_t index_rows = 0;        // read
  std::uint64_t entities_read = 0;     // for these rows
  std::uint64_t filtered_stale = 0;    // rows whose entity no longer calls for them
  std::uint64_t filtered_where = 0;    // entities that `where` left out
  std::uint64_t filtered_repeats = 0;  // rows of an entity that was given at an earlier one
  std::string next;                    // where the next page begins; empty if there is no more

  struct Shard {
    std::uint32_t shard = 0;
    std::string sql;               // its first statement
    std::uint64_t index_rows = 0;  // read there
  };
  std::vector<Shard> shards;                                 // whose index tables were asked
  std::vector<std::pair<std::uint32_t, Error>> unavailable;  // with `partial`: what is missing is on these shards
};

}  // namespace looseleaf
