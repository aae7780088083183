// Queries by index: equality on the first properties, then a range on the next one. Results come in index order.
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

// One condition on a property of the index. The value is a text that is converted to the property's type.
struct Condition {
  std::string property;
  Operator op = Operator::equal;
  std::string value;

  // Reads "name=value", "name<v", "name<=v", "name>v", "name>=v" or "name^=v". The text is split at the first operator.
  // A name that contains one can be given as a JSON string: "\"a=b\"=5". Throws Error(usage). "name!=v", "name<>v",
  // "name==v", "name=>v" and "name=<v" are errors, too, unless the name is given as a JSON string. With
  // Operators::equality the condition is one of Query::where, and so must be "name=value".
  enum class Operators { all, equality };
  [[nodiscard]] static LOOSELEAF_EXPORT Condition parse(std::string_view text, Operators allowed = Operators::all);

  bool operator==(const Condition&) const = default;
};

struct Query {
  std::string index;
  std::vector<Condition> conditions;
  // Filters on properties that are not in the index. The operator must be Operator::equal. The value is a JSON scalar
  // if it can be parsed as one, or else a string; it is compared without type conversion: 1 equals 1.0, and not "1". If
  // a property occurs several times, an entity may have any of these values.
  std::vector<Condition> where;
  bool descending = false;
  std::uint64_t limit = 0;  // the most entities to return; 0 returns all
  std::string after;        // a QueryReport's `next`: continue where that page ended
  bool partial = false;     // return the results of the other shards if a shard is down
  // If set, an entity whose stored body cannot be read is left out of the results, and this is called with the reason,
  // which has the id. Without it, the query fails at such an entity.
  std::function<void(const Error&)> on_unreadable = {};
  // Called from time to time, even while no entity is found. If it returns true, the query ends with
  // Error(interrupted).
  std::function<bool()> stop = {};
};

struct QueryReport {
  std::uint64_t entities = 0;          // entities given to the caller
  std::uint64_t index_rows = 0;        // index rows read
  std::uint64_t entities_read = 0;     // entities read for these rows
  std::uint64_t filtered_stale = 0;    // index rows skipped because their entity no longer calls for them
  std::uint64_t filtered_where = 0;    // entities skipped because they do not match `where`
  std::uint64_t filtered_repeats = 0;  // index rows skipped because their entity was given for an earlier row
  std::uint64_t unreadable = 0;        // entities passed to Query::on_unreadable; they may match or not
  std::string next;                    // pass it as Query::after to get the next page; empty if there is none

  struct Shard {
    std::uint32_t shard = 0;
    std::string sql;               // the SELECT of its rows in the first statement
    std::uint64_t index_rows = 0;  // index rows read on the shard
  };
  std::vector<Shard> shards;                                 // the shards that were queried
  std::vector<std::pair<std::uint32_t, Error>> unavailable;  // with `partial`: the missing shards
};

}  // namespace looseleaf
