// Queries by index: equality on the first properties, then a range on the next one. Results come in index order, or in
// one order over several values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace looseleaf {

enum class Operator { equal, less, less_equal, greater, greater_equal, prefix, not_equal, exists };

// One condition on a property. In Query::conditions, the value is a text that is converted to the property's type, and
// the operator is neither not_equal nor exists. Query::where says what holds there, and in the feed.
struct Condition {
  std::string property;  // a dotted path
  Operator op = Operator::equal;
  std::string value;  // empty with Operator::exists
  // The condition is on the elements of an array: Query::where only. The array is found as for Property::each.
  bool each = false;

  // Reads "name=value", "name!=v", "name<v", "name<=v", "name>v", "name>=v", "name^=v" or "name exists". The text is
  // split at the first operator. With "[]" behind the name, the condition is on the elements of an array. A name that
  // contains an operator, or ends in "[]", can be given as a JSON string: "\"a=b\"=5". Throws Error(usage). "name<>v",
  // "name==v", "name=>v" and "name=<v" are errors, too, unless the name is given as a JSON string.
  [[nodiscard]] static LOOSELEAF_EXPORT Condition parse(std::string_view text);

  bool operator==(const Condition&) const = default;
};

struct Query {
  static constexpr std::size_t most_values = 10'000;

  std::string index;
  // Several conditions with Operator::equal on one property mean any of their values.
  std::vector<Condition> conditions;
  // Filters on any properties. All must hold, except that of several with Operator::equal on one property, one must.
  //   - The value is a JSON scalar if it can be parsed as one, or else a string. For Operator::prefix, the text is the
  //     prefix, also `12`, unless it begins with a double quote: then it is read as a JSON string.
  //   - Values are compared without type conversion: 1 equals 1.0, and not "1". Only two numbers, by value, or two
  //     strings, by their bytes, have an order. A value without an order, such as true, is an error for the operators
  //     from `less` to `greater_equal`.
  //   - Operator::not_equal is true if Operator::equal is not, so also where the property is absent.
  //   - Operator::exists is true if there is any value, also null.
  //   - With `each`, one element must meet the condition, and for Operator::not_equal none may be equal.
  // If no entity that was read has a property, Options::on_warning gets a warning.
  std::vector<Condition> where;
  // A property of the index; empty: the first one. The order is by this property, by those after it in the index, and
  // by entity id. Every property before it needs a condition with Operator::equal. If some of these have several
  // values, the results of all of them come in this one order. With `order_by`, a query takes at most `most_values`
  // values, and orders across at most so many combinations of values.
  std::string order_by = {};
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
