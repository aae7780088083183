// What an index holds of the entities, and why it holds no row of the others.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/export.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <string>
#include <vector>

namespace looseleaf {

// Why an entity calls for no row in an index, or for none of some elements of an array. Only no_match, absent, null and
// empty_array are likely to be meant.
struct NoRow {
  enum class Why {
    no_match,            // it does not match the definition's `where`
    absent,              // it does not have the property
    null,                // the property is null
    empty_array,         // with `each`: there is no element
    other_type,          // the value has another type
    no_element,          // with `each`: every element has another type
    not_an_array,        // with `each`: the value is no array
    array_without_each,  // the value is an array, and the definition has no `each`
    out_of_range,        // the value is a whole number, but an `int` has 64 bits
    too_long,            // a string that is longer than `max_length`, in a unique index
    some_elements,       // with `each`: other elements have rows, but some have another type
    some_too_long,       // the same, because some are longer than `max_length`, in a unique index
  };
  Why why = Why::absent;
  std::string property = {};               // the first one that has no value; empty for no_match
  PropertyType type = PropertyType::uuid;  // of that property in the definition

  auto operator<=>(const NoRow&) const = default;
};

// Returns true if the entity has a value, but one that the definition cannot take.
[[nodiscard]] LOOSELEAF_EXPORT bool is_of_other_type(NoRow::Why why);
// Returns the reason's name, such as "array_without_each".
[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(NoRow::Why why);
// Returns a sentence such as "`tags` is an array, and the definition has no `each`".
[[nodiscard]] LOOSELEAF_EXPORT std::string describe(const NoRow& reason);

// Counts entities that are not deleted.
struct IndexingCounts {
  struct Without {
    std::uint64_t entities = 0;
    Uuid example;  // one of them
  };
  std::uint64_t with_rows = 0;
  std::uint64_t rows = 0;
  std::map<NoRow, Without> without;  // the entities that have no row
  std::map<NoRow, Without> partial;  // of those with rows, the ones that have none of some elements
  // False if more entities were read than are counted: an older version of Looseleaf, which did not count, began the
  // backfill.
  bool complete = true;

  void add_rows(std::uint64_t count) {
    ++with_rows;
    rows += count;
  }
  LOOSELEAF_EXPORT void add_without(const NoRow& reason, const Uuid& id);
  LOOSELEAF_EXPORT void add_partial(const NoRow& reason, const Uuid& id);  // beside add_rows()
  LOOSELEAF_EXPORT void add(const IndexingCounts& other);
  [[nodiscard]] LOOSELEAF_EXPORT std::uint64_t entities() const;
  // Returns true if the definition is likely to be a mistake: there are entities but no rows, or more entities have a
  // value of another type than have rows. Incomplete counts give no reason to suspect one. True also if a unique index
  // has no row of a string that is too long: several entities may have the same one.
  [[nodiscard]] LOOSELEAF_EXPORT bool is_suspicious() const;
};

// What one entity calls for in one index.
struct IndexedEntity {
  IndexDefinition definition;
  std::vector<std::string> rows;  // the values of each row as a JSON array
  NoRow reason;                   // if there are no rows
  std::vector<NoRow> left_out;    // if there are rows: why some elements of arrays have none
};

}  // namespace looseleaf
