// Runs a query on an index. It reads index rows from one shard, or merges those of all shards in one order. Then it
// reads the entities, which decide whether a row counts. At the end it finds what moved while it read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <looseleaf/entity.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "model/filter.hpp"
#include "read/decided_entities.hpp"
#include "read/entity_matches.hpp"
#include "read/get.hpp"
#include "read/query_plan.hpp"
#include "read/shard_rows.hpp"
#include "shard/catalog.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::read {

// The purpose of the sessions that a query needs.
[[nodiscard]] shard::Purpose purpose_of(const Query& query);

// One query on an index that was ready. An entity that matches throughout is given exactly once, also if its rows move
// from one place to another meanwhile; docs/protocol.md says how. This holds as long as the query need not remember
// more than 131,072 ids.
class QueryExecution {
 public:
  // What is passed outlives the query. Throws Error(usage) for conditions that the index cannot use.
  QueryExecution(shard::Shards& shards, const shard::CatalogIndex& index, const Query& query, Unavailable& unavailable,
                 const std::function<bool(const Entity&)>& on_entity);

  // To be called once. Throws Error; see Datastore::query.
  QueryReport run();

 private:
  void stop_if_asked() const;
  void warn_of_mistakes() const;

  // Merges the shards' rows into the next batch. An empty batch means that no rows are left.
  std::vector<shard::IndexEntry> next_batch();
  // Adds the rows that were read, in the order of the query, until a shard's rows must be read before the next one is
  // known. Returns false if no rows are left.
  bool merge(std::vector<shard::IndexEntry>& batch);
  void take(ShardRows& from, std::vector<shard::IndexEntry>& batch);
  void read_more();
  // Runs `work` for groups of these shards. With Query::partial, shards that are down, or turn out to be, are recorded,
  // and `on_down` is called for each.
  void for_groups(std::span<const std::uint32_t> some,
                  const std::function<void(std::span<const std::uint32_t> group)>& work,
                  const std::function<void(std::uint32_t shard)>& on_down);

  // These return false when the caller wants no more entities, or the page is full.
  bool give(const std::vector<shard::IndexEntry>& entries);
  bool give_or_leave_out(const shard::IndexEntry& entry, const GetResult& result, const BatchMatches& matches,
                         std::size_t at);
  bool give(const shard::IndexEntry& entry, const GetResult& result, const Match& match);
  // Reports an entity that cannot be read to the caller. Throws the error if the query must fail because of it.
  bool leave_out(const Uuid& id, Error error);
  bool give(const shard::IndexEntry& place, const Entity& entity);
  // Gives an entity that was found otherwise than by the row at its place, when the rows up to `position` have been
  // taken, or all rows if `position` is null. If the place lies ahead, the entity waits for it.
  bool give_elsewhere(shard::IndexEntry place, const Entity& entity, const shard::IndexEntry* position);
  // Gives the entities that wait for a place before `position`.
  bool give_moved(const shard::IndexEntry* position);
  // Reads those of these entities that are not decided, and calls `on_match` with the place of each that matches, until
  // it returns false.
  bool read_late(const std::vector<Uuid>& ids,
                 const std::function<bool(shard::IndexEntry place, const Entity&)>& on_match);

  // Returns the entity's place in the answer; absent if it does not match. Throws Error if it cannot be read.
  [[nodiscard]] std::optional<model::Row> place_of(const GetResult& result) const;

  // Asks a shard that is up. Throws Error(moved).
  void require_not_moved();
  // Returns true if an entity may have been missed because its row moved from a place that had not been read to one
  // that had: not all that was read of a shard, or of all shards if rows move between them, is of one moment.
  [[nodiscard]] bool may_have_missed() const;
  // Gives what was missed before `end`, or everywhere.
  bool look_again(const std::optional<shard::IndexEntry>& end);
  // Returns the ids of the undecided entities that changed since the query began. `margin` is how long an answer is
  // likely to take at most.
  std::vector<Uuid> find_changed(std::chrono::steady_clock::duration margin);

  void add_undecided(const std::vector<Uuid>& from, std::vector<Uuid>& to) const;
  // Warns if a limit left out some of what is looked at again.
  void warn_of_limit(const shard::SomeIds& found, std::size_t limit, std::string_view things);

  // Returns true if the row can be skipped, because its entity has been decided.
  bool skips(const shard::IndexEntry& entry);

  struct Before {
    const QueryPlan& plan;
    bool operator()(const shard::IndexEntry& a, const shard::IndexEntry& b) const { return plan.before(a, b); }
  };

  shard::Shards& shards_;
  const shard::CatalogIndex& index_;
  const Query& query_;
  const QueryPlan plan_;
  const model::Filter filter_;
  Unavailable& unavailable_;
  const std::function<bool(const Entity&)>& on_entity_;
  const RowReader reader_;
  const bool several_rows_;  // an entity may have several rows
  const std::optional<shard::IndexEntry> after_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::deque<ShardRows> streams_;
  std::size_t batch_size_;
  std::atomic<std::size_t> statements_ = 0;  // that read index rows
  DecidedEntities decided_;
  std::set<shard::IndexEntry, Before> moved_;  // places ahead at which undecided entities are given
  bool looked_again_ = false;
  std::optional<shard::IndexEntry> last_taken_, last_given_;
  QueryReport report_;
};

}  // namespace looseleaf::read
