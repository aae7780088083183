// The index rows that a query reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "read/query_plan.hpp"
#include "shard/catalog.hpp"
#include "shard/entity_rows.hpp"
#include "shard/shards.hpp"
#include "sql/connection.hpp"

namespace looseleaf::read {

// Returns the error that an index in this state cannot be queried.
[[nodiscard]] Error not_ready(const std::string& table, IndexState state);

// The matching index rows of one shard in the order of the query, as far as they were read.
class ShardRows {
 public:
  static constexpr std::size_t first_chunk = 100, largest_chunk = 1000;  // rows of all shards together

  // Starts after the row `after`. The first read asks for `chunk` rows, and each later one for twice as many.
  ShardRows(std::uint32_t shard, std::optional<shard::IndexEntry> after, std::size_t chunk)
      : shard_(shard), last_(std::move(after)), chunk_(chunk) {}

  [[nodiscard]] std::uint32_t shard() const { return shard_; }
  // Ends the rows of a shard that is down.
  void end() { ended_ = true; }

  [[nodiscard]] bool needs_more() const { return rows_.empty() && !ended_; }
  // Returns true if less than half of its share of a chunk is left, so that it is worth reading more along with other
  // shards.
  [[nodiscard]] bool is_low(std::size_t share) const { return rows_.size() < chunk(share) / 2 && !ended_; }
  [[nodiscard]] const shard::IndexEntry* head() const { return rows_.empty() ? nullptr : &rows_.front(); }
  shard::IndexEntry take();

  // Returns the last row that was read, after which the next chunk begins.
  [[nodiscard]] const std::optional<shard::IndexEntry>& last() const { return last_; }
  // Returns the number of rows to ask for next, at most `most`.
  [[nodiscard]] std::size_t chunk(std::size_t most) const { return std::min(most, chunk_); }
  // Adds the rows of the next chunk, which this SELECT has found when it was asked for so many.
  void add(std::vector<shard::IndexEntry> entries, std::size_t asked, const std::string& select);

  // Returns true if the rows come from several statements.
  [[nodiscard]] bool was_read_again() const { return reads_ > 1; }
  // Returns the number of rows read, and the first SELECT; that is empty if none was answered.
  [[nodiscard]] QueryReport::Shard report() const { return {shard_, first_select_, read_}; }

 private:
  std::uint32_t shard_;
  std::deque<shard::IndexEntry> rows_;
  std::optional<shard::IndexEntry> last_;
  std::size_t chunk_;
  std::string first_select_;
  std::uint64_t read_ = 0;
  std::size_t reads_ = 0;
  bool ended_ = false;
};

// Reads the index rows of a query. What it points to outlives it.
class RowReader {
 public:
  RowReader(shard::Shards& shards, shard::Purpose purpose, const shard::CatalogIndex& index, const QueryPlan& plan)
      : shards_(shards), purpose_(purpose), index_(index), plan_(plan) {}

  // Reads the next chunk of each of these shards of one server, of at most `most` rows each, in one statement. Throws
  // Error as queries do: bad_index if the index is no longer ready. Then no rows were added.
  void read(const std::vector<ShardRows*>& group, std::size_t most, const base::Deadline& deadline) const;

  // Returns the entity ids of the rows after `after` and before `before` on these shards of one server. All are of one
  // moment. An id comes once for each shard and, unless an entity can have several rows, for each row. Throws as
  // read().
  [[nodiscard]] shard::SomeIds read_ids(std::span<const std::uint32_t> group,
                                        const std::optional<shard::IndexEntry>& after,
                                        const std::optional<shard::IndexEntry>& before,
                                        const base::Deadline& deadline) const;
  static constexpr std::size_t most_ids = 160'000;  // the limit of read_ids(); so many take about 20 MiB

 private:
  // What was found on each shard of a group.
  struct Chunk {
    std::vector<std::string> selects;
    std::map<std::uint32_t, std::vector<shard::IndexEntry>> entries;  // by shard
  };

  [[nodiscard]] Chunk read(shard::Lease& lease, const std::vector<ShardRows*>& group, std::size_t most) const;
  [[nodiscard]] Chunk read(shard::Lease& lease, const std::vector<ShardRows*>& group, std::size_t most,
                           QueryPlan::Order order) const;
  // Returns what the statement finds on these shards, if the index is ready there.
  [[nodiscard]] sql::Result select(shard::Lease& lease, std::span<const std::uint32_t> shards,
                                   const std::function<sql::Result()>& select) const;
  [[nodiscard]] QueryPlan::Source source(shard::Lease& lease, std::uint32_t shard) const;
  // Checks the shards that are not in `known`.
  void check_states(shard::Lease& lease, std::span<const std::uint32_t> group,
                    const std::set<std::uint32_t>& known) const;
  [[nodiscard]] Error dropped() const;

  shard::Shards& shards_;
  const shard::Purpose purpose_;
  const shard::CatalogIndex& index_;
  const QueryPlan& plan_;
};

}  // namespace looseleaf::read
