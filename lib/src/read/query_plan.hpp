// Turns the conditions of a query into the range of the index to read, and into a filter for the rows found there.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/parsed_entity.hpp"
#include "shard/index_rows.hpp"

namespace looseleaf::read {

class QueryPlan {
 public:
  // Accepts equality on the first properties, then a range on the next one. Throws Error(usage) for anything else.
  QueryPlan(const IndexDefinition& definition, const Query& query);

  // Returns those of `count` shards that can have matching rows, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> shards(std::uint32_t count) const;

  enum class Order { of_query, any };
  // Where a SELECT reads: a shard's database, the index's generation there, and SQL that is true unless the server is
  // read-only.
  struct Source {
    std::string database;
    std::uint32_t shard;
    std::uint64_t generation;
    std::string_view is_writable;
  };
  // Returns a SELECT of at most `limit` index rows that come after `after`. Each row also has the shard's number, or
  // NULL if the index was not ready, with this generation, in the same snapshot, or the server was read-only. Columns
  // whose values follow from the conditions are left out, because every cell takes time.
  [[nodiscard]] sql::Statement select(const Source& source, const std::optional<shard::IndexEntry>& after,
                                      std::size_t limit, Order order = Order::of_query) const;
  // Returns a SELECT of the entity ids of the rows after `after` and before `before`, each once and in no order. It has
  // the same second column.
  [[nodiscard]] sql::Statement select_ids(const Source& source, const std::optional<shard::IndexEntry>& after,
                                          const std::optional<shard::IndexEntry>& before) const;
  // Converts a row that select() has found.
  [[nodiscard]] shard::IndexEntry entry(const sql::Result& found, std::size_t row) const;

  // Returns the rows that the entity calls for and whose uncut values meet the conditions, sorted.
  [[nodiscard]] std::vector<model::Row> matching_rows(const model::ParsedEntity& entity) const;
  // Returns the first of these rows in the order of the query: the entity's place in the answer.
  [[nodiscard]] const model::Row& first(const std::vector<model::Row>& matching) const;

  // True if the conditions fix the values of all properties.
  [[nodiscard]] bool is_point() const;
  // True if an entity can change from one matching row to another.
  [[nodiscard]] bool rows_can_move() const { return !definition_.immutable && !is_point(); }
  // True if an entity's rows may be on several of these shards, one after the other.
  [[nodiscard]] bool is_sharded() const { return definition_.shard_on.has_value(); }
  // True if an entity can have several matching rows at once.
  [[nodiscard]] bool has_several_rows() const;

  // True if `a` comes before `b` in the order of the query.
  [[nodiscard]] bool before(const shard::IndexEntry& a, const shard::IndexEntry& b) const;

 private:
  struct Bound {  // one condition on one property
    std::size_t property;
    Operator op;
    std::vector<model::Value> any_of;  // not cut to max_length; one value unless `op` is equal
  };

  void add_range(const Condition& condition, std::size_t position);
  // Adds the tables of a SELECT, and the conditions for its rows.
  void add_source(sql::Statement& statement, const Source& source, const std::optional<shard::IndexEntry>& after,
                  const std::optional<shard::IndexEntry>& before) const;
  // The columns of a row's key whose values differ from row to row, in order.
  struct Key {
    std::vector<std::string> columns;
    std::vector<std::string> literals;  // of the given entry
  };
  [[nodiscard]] Key key_of(const std::optional<shard::IndexEntry>& entry) const;
  void add_condition(sql::Statement& statement, const Bound& bound) const;
  // Returns the value that all matching rows have for a property, if the conditions fix it. Never for strings: the
  // server may treat different strings as equal.
  [[nodiscard]] std::optional<model::Value> known(std::size_t property) const;
  // True if all matching rows have the same value of this property.
  [[nodiscard]] bool is_fixed(std::size_t property) const;
  [[nodiscard]] static bool meets(const model::Value& value, const Bound& bound);
  [[nodiscard]] bool meets(const model::Row& row, const model::ParsedEntity& entity) const;

  const IndexDefinition& definition_;
  const bool descending_;
  std::vector<Bound> bounds_;  // sorted by property
  std::vector<std::optional<model::Value>>
      known_;  // per property: the value that all rows have, if the conditions fix it
};

}  // namespace looseleaf::read
