// From the conditions of a query to the span of an index that has to be read, and to the filter of what is found there.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/stored_entity.hpp"
#include "shard/index_rows.hpp"

namespace looseleaf::read {

class QueryPlan {
 public:
  // Equality on the first properties, then a range on the next. Throws Error(usage) for anything else.
  QueryPlan(const IndexDefinition& definition, const Query& query);

  // The shards that can have matching rows, of so many, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> shards(std::uint32_t count) const;

  enum class Order { of_query, any };
  // SELECT of up to `limit` index rows from after `after`. Each is followed by whether the index was ready in the same
  // snapshot, with this generation, and `is_writable`, which the server looks up once. Columns whose values the
  // conditions tell are left out: every cell costs.
  [[nodiscard]] sql::Statement select(std::uint64_t generation, std::string_view is_writable,
                                      const std::optional<shard::IndexEntry>& after, std::size_t limit,
                                      Order order = Order::of_query) const;
  // What such a SELECT has found.
  [[nodiscard]] std::vector<shard::IndexEntry> entries(const sql::Result& found) const;
  // Of what was found, if that is anything.
  [[nodiscard]] bool was_ready(const sql::Result& found) const;

  // Of the rows that the entity calls for those whose whole values meet the conditions, sorted.
  [[nodiscard]] std::vector<model::Row> matching_rows(const model::StoredEntity& entity) const;
  // By its entity's matching rows. stale: it is none of these. repeat: it is, but another one comes first in the order
  // of the query. So an entity with several is given once, without any memory of what was given.
  enum class Verdict { given, stale, repeat };
  [[nodiscard]] Verdict judge(const shard::IndexEntry& entry, const std::vector<model::Row>& matching) const;

  // Do the conditions tell the values of all properties?
  [[nodiscard]] bool is_point() const;

  // Does `a` come before `b` in the order of the query?
  [[nodiscard]] bool before(const shard::IndexEntry& a, const shard::IndexEntry& b) const;

 private:
  struct Bound {  // one condition on one property
    std::size_t property;
    Operator op;
    std::vector<model::Value> any_of;  // whole, not cut to max_length; one unless `op` is equal
  };

  void add_range(const Condition& condition, std::size_t position);
  void add_condition(sql::Statement& statement, const Bound& bound) const;
  // What rows that meet the conditions have of a property. Not of strings: the server may find some equal that are not.
  [[nodiscard]] std::optional<model::Value> known(std::size_t property) const;
  // Do all rows have the same value of this property?
  [[nodiscard]] bool is_fixed(std::size_t property) const;
  [[nodiscard]] static bool meets(const model::Value& value, const Bound& bound);
  [[nodiscard]] bool meets(const model::Row& row, const model::StoredEntity& entity) const;

  const IndexDefinition& definition_;
  const bool descending_;
  std::vector<Bound> bounds_;                       // in order of property
  std::vector<std::optional<model::Value>> known_;  // what every row has of each property, if the conditions tell
};

}  // namespace looseleaf::read
