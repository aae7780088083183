// From the conditions of a query to the span of an index that has to be read, and to the filter of what is found there.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/stored_entity.hpp"
#include "store/index_rows.hpp"

namespace looseleaf::ops {

class QueryPlan {
 public:
  // Equality on the first properties, then a range on the next. Throws Error(usage) for anything else.
  QueryPlan(const IndexDefinition& definition, const Query& query);

  // The shards that can have matching rows, of so many, in ascending order.
  [[nodiscard]] std::vector<std::uint32_t> shards(std::uint32_t count) const;

  // SELECT of up to `limit` index rows in the order of the query, from after `after`. Each is followed by the index's
  // generation and state in the same snapshot, which the server looks up once, and by whether the server is read-only.
  [[nodiscard]] std::string select(const std::optional<store::IndexEntry>& after, std::size_t limit) const;

  // stale: the entity does not call for this row, or its whole values do not meet the conditions. repeat: it does, but
  // another matching row of it comes first in the order of the query. So an entity with several is given once, without
  // any memory of what was given.
  enum class Verdict { given, stale, repeat };
  [[nodiscard]] Verdict judge(const store::IndexEntry& entry, const model::StoredEntity& entity) const;

  // Does `a` come before `b` in the order of the query?
  [[nodiscard]] bool before(const store::IndexEntry& a, const store::IndexEntry& b) const;

 private:
  struct Bound {  // one condition on one property
    std::size_t property;
    Operator op;
    std::vector<model::Value> any_of;  // whole, not cut to max_length; one unless `op` is equal
  };

  void add_range(const Condition& condition, std::size_t position);
  [[nodiscard]] std::vector<std::string> sql_conditions() const;
  [[nodiscard]] std::string to_sql(const Bound& bound) const;
  // Do all rows have the same value of this property?
  [[nodiscard]] bool is_fixed(std::size_t property) const;
  [[nodiscard]] static bool meets(const model::Value& value, const Bound& bound);
  [[nodiscard]] bool meets(const model::Row& row, const model::StoredEntity& entity) const;

  const IndexDefinition& definition_;
  const bool descending_;
  std::vector<Bound> bounds_;  // in order of property
};

}  // namespace looseleaf::ops
