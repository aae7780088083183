// The index rows that a query reads from one shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "read/query_plan.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::read {

// Returns the error that an index in this state cannot be queried.
[[nodiscard]] Error not_ready(const std::string& table, IndexState state);

// The matching index rows of one shard in the order of the query, read in chunks. Throws Error as queries do: bad_index
// if the index is no longer ready.
class ShardRows {
 public:
  static constexpr std::size_t first_chunk = 100, largest_chunk = 1000;  // rows in memory at once

  // Starts after the row `after`. The first read asks for `chunk` rows.
  ShardRows(shard::Shards& shards, std::uint32_t shard, shard::Purpose purpose, const shard::CatalogIndex& index,
            const QueryPlan& plan, std::optional<shard::IndexEntry> after, std::size_t chunk)
      : shards_(shards),
        shard_(shard),
        purpose_(purpose),
        index_(index),
        plan_(plan),
        last_(std::move(after)),
        chunk_(chunk) {}

  [[nodiscard]] std::uint32_t shard() const { return shard_; }
  // Ends the rows of a shard that is down.
  void end() { ended_ = true; }

  [[nodiscard]] bool needs_more() const { return rows_.empty() && !ended_; }
  [[nodiscard]] const shard::IndexEntry* head() const { return rows_.empty() ? nullptr : &rows_.front(); }

  // Returns the number of rows read, and the first statement; the statement is empty if none was answered.
  [[nodiscard]] QueryReport::Shard report() const { return {shard_, first_statement_, read_}; }

  shard::IndexEntry take();
  void read(const base::Deadline& deadline);

 private:
  std::vector<shard::IndexEntry> read(const sql::Database& database);
  std::vector<shard::IndexEntry> read(const sql::Database& database, QueryPlan::Order order);
  [[nodiscard]] std::vector<shard::IndexEntry> select_checked(const sql::Database& database,
                                                              const sql::Statement& statement) const;
  [[nodiscard]] sql::Result select(const sql::Database& database, const sql::Statement& statement) const;
  void check_state(const sql::Database& database) const;
  [[nodiscard]] Error dropped() const;

  shard::Shards& shards_;
  const std::uint32_t shard_;
  const shard::Purpose purpose_;
  const shard::CatalogIndex& index_;
  const QueryPlan& plan_;
  std::deque<shard::IndexEntry> rows_;
  std::optional<shard::IndexEntry> last_;
  std::size_t chunk_;
  std::string first_statement_;
  std::uint64_t read_ = 0;
  bool ended_ = false;
};

}  // namespace looseleaf::read
