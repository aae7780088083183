// Reads index rows in chunks, and checks that the index was ready when they were read.
#include "read/shard_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "shard/fence.hpp"
#include "shard/steps.hpp"
#include "sql/errors.hpp"

namespace looseleaf::read {

using shard::Step;
namespace steps = shard::steps;

Error not_ready(const std::string& table, IndexState state) {
  if (state == IndexState::building) {
    return {ErrorCode::bad_index,
            "index is still building",
            {{"index", table}},
            fmt::format("run `looseleaf backfill {}`, or wait until it is done", table)};
  }
  return {ErrorCode::bad_index,
          "index is being dropped",
          {{"index", table}},
          fmt::format("run `looseleaf drop-index {}` to finish that", table)};
}

shard::IndexEntry ShardRows::take() {
  shard::IndexEntry entry = std::move(rows_.front());
  rows_.pop_front();
  return entry;
}

void ShardRows::read(const base::Deadline& deadline) {
  auto entries = shard::with_shard(
      shards_, shard_, deadline, [&](const sql::Database& database) { return read(database); }, purpose_);
  ended_ = entries.size() < chunk_;
  if (!entries.empty()) {
    last_ = entries.back();
  }
  read_ += entries.size();
  std::move(entries.begin(), entries.end(), std::back_inserter(rows_));
  chunk_ = std::min(largest_chunk, chunk_ * 2);
}

// If all rows have the same values, the server spends a tenth of the statement's time on their order. So if one chunk
// is likely to hold all of them, they are read in any order and sorted here.
std::vector<shard::IndexEntry> ShardRows::read(const sql::Database& database) {
  if (last_ || chunk_ < first_chunk || !plan_.is_point()) {
    return read(database, QueryPlan::Order::of_query);
  }
  auto entries = read(database, QueryPlan::Order::any);
  if (entries.size() == chunk_) {
    return read(database, QueryPlan::Order::of_query);
  }
  std::sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return plan_.before(a, b); });
  return entries;
}

std::vector<shard::IndexEntry> ShardRows::read(const sql::Database& database, QueryPlan::Order order) {
  const sql::Statement statement =
      plan_.select(database.name(), index_.generation, database->is_writable(), last_, chunk_, order);
  auto entries = select_checked(database, statement);
  if (first_statement_.empty()) {
    first_statement_ = statement.text();
  }
  return entries;
}

std::vector<shard::IndexEntry> ShardRows::select_checked(const sql::Database& database,
                                                         const sql::Statement& statement) const {
  try {
    const sql::Result found = select(database, statement);
    const bool was_ready = !found.empty() && plan_.was_ready(found);
    if (!was_ready) {
      check_state(database);
    }
    if (!was_ready && !found.empty()) {  // the index became ready meanwhile: read again
      throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                             "index became ready during the query", {{"index", index_.definition.table}}, "retry");
    }
    return plan_.entries(found);
  } catch (const sql::ServerError& error) {
    // The table may be gone, or may belong to a new index with other columns.
    if (error.error_class() == sql::ErrorClass::table_gone ||
        (error.error_class() == sql::ErrorClass::permanent && !database->broken())) {
      check_state(database);
    }
    throw;
  }
}

sql::Result ShardRows::select(const sql::Database& database, const sql::Statement& statement) const {
  const Step step(steps::query_read_index_rows, shard_);
  // A statement with a place to continue from is not prepared: its text comes only once.
  return last_ ? database->query(statement.text()) : database->query(statement);
}

// Checks the index when no row tells its state. This comes after the rows were read: if the index is ready now, it was
// ready then, because a drop changes the state on every shard before the first writer stops maintaining the index. And
// if the server is writable now, no other server had replaced it then.
void ShardRows::check_state(const sql::Database& database) const {
  const Step step(steps::query_check_index, shard_);
  const sql::Result found = database->query(
      sql::Statement(fmt::format("SELECT generation, state, @@global.read_only FROM {} WHERE table_name = ",
                                 database.table("looseleaf_index")))
          .add_text(index_.definition.table));
  if (found.empty()) {
    shard::validate_locks(database);
    throw dropped();
  }
  shard::require_writable(database, found.text(0, 2));
  if (found.unsigned_integer(0, 0) != index_.generation) {
    throw dropped();
  }
  const IndexState state = shard::parse_index_state(found.text(0, 1));
  if (state != IndexState::ready) {
    throw not_ready(index_.definition.table, state);
  }
}

Error ShardRows::dropped() const {
  return {ErrorCode::bad_index,
          "index was dropped during the query",
          {{"index", index_.definition.table}},
          "run `looseleaf status` to list the indexes"};
}

}  // namespace looseleaf::read
