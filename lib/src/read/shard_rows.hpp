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
  // Returns true if at most half of its share of a chunk is left, so that it is worth reading more along with other
  // shards.
  [[nodiscard]] bool is_low(std::size_t share) const { return rows_.size() <= chunk(share) / 2 && !ended_; }
  [[nodiscard]] const shard::IndexEntry* head() const { return rows_.empty() ? nullptr : &rows_.front(); }
  shard::IndexEntry take();

  // Returns the last row that was read, after which the next chunk begins.
  [[nodiscard]] const std::optional<shard::IndexEntry>& last() const { return last_; }
  // Returns the number of rows to ask for next, at most `most`.
  [[nodiscard]] std::size_t chunk(std::size_t most) const { return std::min(most, chunk_); }
  // The rows that follow last(), as they were found by so many statements.
  struct Chunk {
    std::vector<shard::IndexEntry> entries;
    std::string select;  // the first SELECT
    std::size_t statements = 0;
    std::size_t found = 0;  // rows, of which `entries` has the first ones
    bool ended = false;     // no rows follow
  };
  void add(Chunk chunk);

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
  RowReader(shard::Shards& shards, shard::Purpose purpose, const shard::CatalogIndex& index, const QueryPlan& plan);

  // Reads the next chunk of each of these shards of one server, of about `most` rows each. Normally all of them are
  // read by one statement. Returns the number of statements. Throws Error as queries do: bad_index if the index is no
  // longer ready. Then no rows were added.
  std::size_t read(const std::vector<ShardRows*>& group, std::size_t most, const base::Deadline& deadline) const;

  // The ids found by so many statements. All that one statement has found are of one moment.
  struct Ids : shard::SomeIds {
    std::size_t statements = 0;
  };
  // Returns the entity ids of the rows in the range on these shards of one server. An id comes once for each SELECT
  // and, unless an entity can have several rows, for each row. Throws as read().
  [[nodiscard]] Ids read_ids(std::span<const std::uint32_t> group, const QueryPlan::Range& range,
                             const base::Deadline& deadline) const;
  static constexpr std::size_t most_ids = 160'000;  // the limit of a statement of read_ids(); they take about 20 MiB

 private:
  // What so many statements have found.
  struct Chunks {
    std::map<std::uint32_t, ShardRows::Chunk> of_shard;
    std::size_t statements = 0;
  };
  // The values that a shard has rows of.
  struct ShardValues {
    std::vector<QueryPlan::Values> parts;
    std::vector<QueryPlan::Values> divided;  // if the query orders across values: these parts divided, in random order
  };
  // What to read of a shard.
  struct Request {
    ShardRows* rows;
    std::size_t asked;                         // the number of rows that are needed
    std::size_t limit;                         // of the SELECT
    std::span<const QueryPlan::Values> parts;  // a SELECT for each
    QueryPlan::Order order = QueryPlan::Order::of_query;
    std::optional<shard::IndexEntry> before = {};  // the end of the window: only rows before it are read
    enum class Search { none, sample, all };       // by the first rows of which values the window is found
    Search search = Search::none;
  };
  struct Select {
    std::uint32_t shard;
    sql::Statement statement;
    std::size_t tables = 1;
  };

  [[nodiscard]] const ShardValues& values_of(std::uint32_t shard) const;
  // `shards` are read by one statement, with this one.
  [[nodiscard]] Request request(ShardRows& rows, std::size_t most, std::size_t shards) const;
  // These read rows: as the requests say; by windows (read_windows.cpp); of a point, which may need no order.
  [[nodiscard]] Chunks read(shard::Lease& lease, std::span<const Request> requests) const;
  [[nodiscard]] Chunks read_windows(shard::Lease& lease, std::vector<Request> requests, std::size_t most) const;
  [[nodiscard]] Chunks read_point(shard::Lease& lease, Request request) const;
  // Returns true if the rows of the window are complete. Otherwise changes the request: another window is to be found,
  // or the server sorts the rows.
  static bool check_window(Request& request, const ShardRows::Chunk& chunk);
  void find_windows(shard::Lease& lease, std::span<Request> requests) const;
  // Runs these SELECTs, as many in one statement as it can take. `run` gets each statement and its shards.
  void in_statements(
      shard::Lease& lease, std::span<const Select> selects, std::size_t most_tables,
      const std::function<void(const sql::Statement& statement, std::span<const std::uint32_t> shards)>& run) const;
  // Returns what a statement finds in the index tables of these shards. If it fails because one shard has another index
  // by now, says so.
  [[nodiscard]] sql::Result ask_tables(shard::Lease& lease, std::span<const std::uint32_t> shards,
                                       const std::function<sql::Result()>& select) const;
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
  std::map<std::uint32_t, ShardValues> values_;  // by shard, or one for all if the index is not sharded
};

}  // namespace looseleaf::read
