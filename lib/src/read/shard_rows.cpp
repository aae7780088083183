// Reads index rows in chunks, and checks that the index was ready when they were read.
#include "read/shard_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "shard/access.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/errors.hpp"

namespace looseleaf::read {

using shard::Step;
namespace steps = shard::steps;

namespace {

// Returns the number of the row's shard, from the last column, or nothing if its index was not ready when the row was
// read, or the shard had moved to another cluster.
std::optional<std::uint32_t> shard_of(const sql::Result& found, std::size_t row) {
  const std::size_t column = found.columns() - 1;
  return found.cell(row, column) ? std::optional(static_cast<std::uint32_t>(found.unsigned_integer(row, column)))
                                 : std::nullopt;
}

}  // namespace

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

void ShardRows::add(std::vector<shard::IndexEntry> entries, std::size_t asked, const std::string& select) {
  ended_ = entries.size() < asked;
  if (!entries.empty()) {
    last_ = entries.back();
  }
  read_ += entries.size();
  ++reads_;
  std::move(entries.begin(), entries.end(), std::back_inserter(rows_));
  chunk_ = std::min(largest_chunk, chunk_ * 2);
  if (first_select_.empty()) {
    first_select_ = select;
  }
}

void RowReader::read(const std::vector<ShardRows*>& group, std::size_t most, const base::Deadline& deadline) const {
  std::vector<std::uint32_t> numbers;
  for (const ShardRows* rows : group) {
    numbers.push_back(rows->shard());
  }
  Chunk chunk = shard::with_group(shards_, numbers, deadline, purpose_,
                                  [&](shard::Lease& lease) { return read(lease, group, most); });
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->add(std::move(chunk.entries[numbers[i]]), group[i]->chunk(most), chunk.selects[i]);
  }
}

// If all rows have the same values, the server spends a tenth of the statement's time on their order. So if one chunk
// is likely to hold all of them, they are read in any order and sorted here.
RowReader::Chunk RowReader::read(shard::Lease& lease, const std::vector<ShardRows*>& group, std::size_t most) const {
  const ShardRows& first = *group.front();
  if (group.size() > 1 || first.last() || first.chunk(most) < ShardRows::first_chunk || !plan_.is_point()) {
    return read(lease, group, most, QueryPlan::Order::of_query);
  }
  Chunk chunk = read(lease, group, most, QueryPlan::Order::any);
  auto& entries = chunk.entries[first.shard()];
  if (entries.size() == first.chunk(most)) {
    return read(lease, group, most, QueryPlan::Order::of_query);
  }
  std::sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return plan_.before(a, b); });
  return chunk;
}

RowReader::Chunk RowReader::read(shard::Lease& lease, const std::vector<ShardRows*>& group, std::size_t most,
                                 QueryPlan::Order order) const {
  Chunk chunk;
  std::vector<std::uint32_t> shards;
  sql::Statement statement(group.size() > 1 ? "(" : "");
  bool is_first_chunk = true;
  for (const ShardRows* rows : group) {
    const sql::Statement select = plan_.select(source(lease, rows->shard()), rows->last(), rows->chunk(most), order);
    statement.add(shards.empty() ? "" : ") UNION ALL (").add(select);
    shards.push_back(rows->shard());
    chunk.selects.push_back(select.text());
    is_first_chunk = is_first_chunk && !rows->last();
  }
  statement.add(group.size() > 1 ? ")" : "");
  const sql::Result found = select(lease, shards, [&] {
    const Step step(steps::query_read_index_rows, shards.front());
    // A statement with a place to continue from is not prepared: its text comes only once.
    return is_first_chunk ? lease->query(statement) : lease->query(statement.text());
  });
  for (std::size_t row = 0; row < found.size(); ++row) {
    chunk.entries[*shard_of(found, row)].push_back(plan_.entry(found, row));
  }
  return chunk;
}

shard::SomeIds RowReader::read_ids(std::span<const std::uint32_t> group, const std::optional<shard::IndexEntry>& after,
                                   const std::optional<shard::IndexEntry>& before,
                                   const base::Deadline& deadline) const {
  return shard::with_group(shards_, group, deadline, purpose_, [&](shard::Lease& lease) {
    sql::Statement statement("(");
    for (const std::uint32_t shard : group) {
      statement.add(shard == group.front() ? "" : ") UNION ALL (")
          .add(plan_.select_ids(source(lease, shard), after, before));
    }
    statement.add(fmt::format(") LIMIT {}", most_ids + 1));
    const sql::Result found = select(lease, group, [&] {
      const Step step(steps::query_look_again, group.front());
      return step.left_out() ? sql::Result({}, 0) : lease->query(statement.text());
    });
    shard::SomeIds some{.ids = {}, .all = found.size() <= most_ids};
    some.ids.reserve(found.size());
    for (std::size_t row = 0; row < found.size(); ++row) {
      some.ids.push_back(shard::require_uuid(found.text(row, 0)));
    }
    return some;
  });
}

QueryPlan::Source RowReader::source(shard::Lease& lease, std::uint32_t shard) const {
  const sql::Database database = lease.on(shard);
  return {database.name(), shard, index_.generation, database->is_writable()};
}

// Rows are of use only if the index was ready: otherwise they may be those of another index of this name.
sql::Result RowReader::select(shard::Lease& lease, std::span<const std::uint32_t> shards,
                              const std::function<sql::Result()>& select) const {
  try {
    sql::Result found = select();
    std::set<std::uint32_t> with_rows;
    bool were_ready = true;
    for (std::size_t row = 0; row < found.size() && were_ready; ++row) {
      const auto shard = shard_of(found, row);
      were_ready = shard.has_value();
      with_rows.insert(shard.value_or(0));
    }
    check_states(lease, shards, were_ready ? with_rows : std::set<std::uint32_t>());
    if (were_ready) {
      return found;
    }
  } catch (const sql::ServerError& error) {
    // The table may be gone, or may belong to a new index with other columns. The caller asks a group one by one.
    if (shards.size() == 1 && (error.error_class() == sql::ErrorClass::table_gone ||
                               (error.error_class() == sql::ErrorClass::permanent && !lease->broken()))) {
      check_states(lease, shards, {});
    }
    throw;
  }
  // The index became ready meanwhile: read again.
  throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable, "index became ready during the query",
                         {{"index", index_.definition.table}}, "retry");
}

// Checks the index on shards where no row tells its state. This comes after the rows were read: if the index is ready
// now, it was ready then, because a drop changes the state on every shard before the first writer stops maintaining the
// index. And if the server is writable now, no other server had replaced it then. Likewise, a shard that has not moved
// now had not moved then.
void RowReader::check_states(shard::Lease& lease, std::span<const std::uint32_t> group,
                             const std::set<std::uint32_t>& known) const {
  std::vector<std::uint32_t> shards;
  std::copy_if(group.begin(), group.end(), std::back_inserter(shards),
               [&](std::uint32_t shard) { return !known.contains(shard); });
  if (shards.empty()) {
    return;
  }
  const Step step(steps::query_check_index, shards.front());
  if (step.left_out()) {
    return;
  }
  sql::Statement statement("");
  for (const std::uint32_t shard : shards) {
    const sql::Database database = lease.on(shard);
    statement
        .add(fmt::format("{}SELECT c.generation, c.state, @@global.read_only, f.access FROM {} c JOIN {} f "
                         "WHERE f.only_row = 1 AND c.table_name = ",
                         shard == shards.front() ? "" : " UNION ALL ", database.table("looseleaf_index"),
                         database.table("looseleaf_shard")))
        .add_text(index_.definition.table);
  }
  const sql::Result found = lease->query(statement);
  for (std::size_t row = 0; row < found.size(); ++row) {
    shard::require_writable(*lease, found.text(row, 2));
    if (shard::parse_access_state(found.text(row, 3)) == AccessState::moved) {
      shard::require_not_moved(lease, shards);
    }
    if (found.unsigned_integer(row, 0) != index_.generation) {
      throw dropped();
    }
    const IndexState state = shard::parse_index_state(found.text(row, 1));
    if (state != IndexState::ready) {
      throw not_ready(index_.definition.table, state);
    }
  }
  if (found.size() < shards.size()) {
    shard::require_still_writable(*lease);
    throw dropped();
  }
}

Error RowReader::dropped() const {
  return {ErrorCode::bad_index,
          "index was dropped during the query",
          {{"index", index_.definition.table}},
          "run `looseleaf status` to list the indexes"};
}

}  // namespace looseleaf::read
