// Turns the conditions of a query into the range of the index to read, and into a filter for the rows found there.
#pragma once

#include <compare>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/options.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/parsed_entity.hpp"
#include "shard/index_rows.hpp"

namespace looseleaf::read {

// Returns the position of the first property of the order. Throws Error(usage) if the index has no such property.
[[nodiscard]] std::size_t order_position(const IndexDefinition& definition, const Query& query);

class QueryPlan {
 public:
  // Accepts equality on the first properties, then a range on the next one, and an order by one of these. Throws
  // Error(usage) for anything else.
  QueryPlan(const IndexDefinition& definition, const Query& query);

  // Returns those of `count` shards that can have matching rows, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> shards(std::uint32_t count) const;

  // The values that one SELECT asks for: for each condition with Operator::equal that has several, some of them, as
  // stored; empty for other conditions.
  using Values = std::vector<std::vector<model::Value>>;
  // Returns the values of which a shard of `count` can have rows, in parts that a SELECT can take.
  [[nodiscard]] std::vector<Values> parts(std::uint32_t shard, std::uint32_t count) const;
  // Divides a part further, so that the SELECT of each piece finds its rows in the order of the query.
  [[nodiscard]] std::vector<Values> divided(const std::vector<Values>& parts) const;
  // True if the rows of one part are in the order of the index, which is not that of the query.
  [[nodiscard]] bool orders_across_values() const;

  enum class Order { of_query, any };
  // Where a SELECT reads: a shard's database, the index's generation there, and SQL that is true unless the server is
  // read-only.
  struct Source {
    std::string database;
    std::uint32_t shard;
    std::uint64_t generation;
    std::string_view is_writable;
  };
  // The rows after `after` and before `before`, which outlive it. With `ties`, also those that have the same value of
  // the first property whose values differ: for each value of other properties, that is one range of the index, instead
  // of two.
  struct Range {
    const std::optional<shard::IndexEntry>& after;
    const std::optional<shard::IndexEntry>& before;
    bool ties = false;
  };
  // Returns a SELECT of at most `limit` index rows in the range. Each row also has the shard's number, or
  // NULL if the index was not ready, with this generation, in the same snapshot, or the server was read-only. Columns
  // whose values follow from the conditions are left out, because every cell takes time.
  [[nodiscard]] sql::Statement select(const Source& source, const Values& values, const Range& range, std::size_t limit,
                                      Order order) const;
  // Returns a SELECT of the entity ids of the rows in the range, each once and in no order. It has the same second
  // column.
  [[nodiscard]] sql::Statement select_ids(const Source& source, const Values& values, const Range& range) const;
  // Converts a row that select() has found.
  [[nodiscard]] shard::IndexEntry entry(const sql::Result& found, std::size_t row) const;

  // Returns a SELECT of the place of one row after `after`: before it are exactly `rank` of the rows that the SELECT
  // looks at, which are at most `each` of every one of these divided() parts. So at least `rank` rows lie before it. It
  // finds nothing if it looks at fewer rows. It does not ask for the state of the index.
  [[nodiscard]] sql::Statement select_place(const Source& source, std::span<const Values> divided,
                                            const std::optional<shard::IndexEntry>& after, std::size_t each,
                                            std::size_t rank) const;
  // Converts a row that select_place() has found to a place: only before() may look at it.
  [[nodiscard]] shard::IndexEntry place(const sql::Result& found, std::size_t row) const;

  // Returns the rows that the entity calls for and whose uncut values meet the conditions, sorted.
  [[nodiscard]] std::vector<model::Row> matching_rows(const model::ParsedEntity& entity) const;
  // Returns the first of these rows in the order of the query: the entity's place in the answer.
  [[nodiscard]] const model::Row& first(const std::vector<model::Row>& matching) const;

  // Returns a warning if the conditions exclude each other.
  [[nodiscard]] std::optional<Warning> contradiction() const;

  // True if the conditions fix the values of all properties.
  [[nodiscard]] bool is_point() const;
  // True if an entity can change from one matching row to another.
  [[nodiscard]] bool rows_can_move() const { return !definition_.immutable && !is_point(); }
  // True if an entity's rows may be on several of these shards, one after the other.
  [[nodiscard]] bool is_sharded() const { return definition_.shard_on.has_value(); }
  // True if an entity can have several matching rows at once.
  [[nodiscard]] bool has_several_rows() const;

  // True if `a` comes before `b` in the order of the query. If neither comes before the other, both are rows of one
  // entity.
  [[nodiscard]] bool before(const shard::IndexEntry& a, const shard::IndexEntry& b) const;

 private:
  struct Bound {  // one condition on one property
    std::size_t property;
    Operator op;
    std::vector<model::Value> any_of;  // sorted, not cut to max_length; one value unless `op` is equal
  };

  // Returns the number of properties that have an equality.
  std::size_t add_equalities(const Query& query);
  void add_range(const Condition& condition, std::size_t position);
  void set_order(const Query& query, std::size_t equal);
  // Adds the last column of a SELECT, its tables, of which `rows` has the index rows, and its conditions.
  void add_source(sql::Statement& statement, const Source& source, const sql::Statement& rows,
                  const sql::Statement& conditions) const;
  // True if the index has the rows of these values in another order than that of the query.
  [[nodiscard]] bool needs_sorting(const Values& values) const;
  // Adds the conditions for index rows, each followed by " AND ".
  void add_conditions(sql::Statement& statement, const Values& values, const Range& range) const;
  // The columns of a row's key whose values differ from row to row, in order.
  struct Key {
    std::vector<std::string> columns;
    std::vector<std::string> literals;  // of the given entry
  };
  [[nodiscard]] Key key_of(const std::optional<shard::IndexEntry>& entry) const;
  // Returns the columns by which the rows of one statement are ordered.
  [[nodiscard]] std::vector<std::string> order_of_rows(const Values& values) const;
  // Returns " ORDER BY" with these columns.
  [[nodiscard]] std::string ordered_by(const std::vector<std::string>& columns) const;
  void add_condition(sql::Statement& statement, const Bound& bound, const std::vector<model::Value>& values) const;
  // Returns the value that all matching rows have for a property, if the conditions fix it. Never for strings: the
  // server may treat different strings as equal.
  [[nodiscard]] std::optional<model::Value> known(std::size_t property) const;
  // True if all matching rows have the same value of this property.
  [[nodiscard]] bool is_fixed(std::size_t property) const;
  // Compares rows by the properties of the order.
  [[nodiscard]] std::partial_ordering compare(const model::Row& a, const model::Row& b) const;
  // True if the uncut value of a property meets all conditions on it.
  [[nodiscard]] bool meets(std::size_t property, const model::Value& value) const;
  // Returns the entity's values of a property that meet the conditions, as stored, sorted.
  [[nodiscard]] std::vector<model::Value> meeting_values(std::size_t property, const model::ParsedEntity& entity) const;

  const IndexDefinition& definition_;
  const bool descending_;
  std::size_t order_from_ = 0;  // the first property of the order
  std::vector<Bound> bounds_;   // sorted by property
  std::vector<std::optional<model::Value>>
      known_;  // per property: the value that all rows have, if the conditions fix it
};

}  // namespace looseleaf::read
