// Compares index rows with the entities that they lead to.
#pragma once

#include <cstddef>
#include <looseleaf/entity.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/filter.hpp"
#include "read/query_plan.hpp"
#include "shard/index_rows.hpp"

namespace looseleaf::read {

// Finds an entity's place in the answer of a query.
class EntityMatcher {
 public:
  // Throws Error if the text cannot be parsed, or has another id. The plan outlives the matcher.
  EntityMatcher(const QueryPlan& plan, const model::Filter& filter, const Uuid& id, const std::string& text);

  // Returns the row at which the query gives the entity: the first of its matching rows, in the order of the query. So
  // an entity with several rows is given once without a memory of what was given. Null if the entity does not match.
  [[nodiscard]] const model::Row* place() const;
  [[nodiscard]] bool calls_for(const model::Row& row) const;
  // True if the entity does not match Query::where.

 private:
  const QueryPlan& plan_;
  std::vector<model::Row> matching_;
  bool filtered_ = false;
};

// What an index row means for a query.
struct Match {
  // wanted: the query gives the row's entity here. stale: the entity does not call for the row. repeat: the query gives
  // the entity for another row. filtered: the entity does not match Query::where.
  enum class Kind { wanted, stale, repeat, filtered };
  Kind kind;
  std::optional<model::Row> elsewhere = {};  // another row, at which the query gives the entity
};

// The matches of the entries of a batch whose entities have been decoded. The threads that read the entities add them.
class BatchMatches {
 public:
  // What is passed outlives the matches.
  BatchMatches(const std::vector<shard::IndexEntry>& entries, const QueryPlan& plan, const model::Filter& filter);

  // Sets the matches of the entity's entries by its current text. They replace matches by an older text.
  void add(const Uuid& id, const std::string& text);
  // True if the entity was read for an earlier entry, and this entry is known to be stale from that.
  [[nodiscard]] bool is_known_to_be_stale(std::size_t entry) const;
  // True if this is the first entry of its entity.
  [[nodiscard]] bool is_first(std::size_t entry) const;
  // Throws the result's error, or Error if the text cannot be parsed.
  [[nodiscard]] Match of(std::size_t entry, const GetResult& result) const;

 private:
  [[nodiscard]] Match match(const EntityMatcher& matcher, const model::Row& row) const;
  [[nodiscard]] std::span<const std::pair<Uuid, std::size_t>> entries_of(const Uuid& id) const;

  const std::vector<shard::IndexEntry>& entries_;
  const QueryPlan& plan_;
  const model::Filter& filter_;
  std::vector<std::pair<Uuid, std::size_t>> by_id_;  // the position of each entry, sorted by entity
  std::vector<std::optional<Match>> matches_;
};

}  // namespace looseleaf::read
