// Reads index rows in chunks, and checks that the index was ready when they were read.
#include "read/shard_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "base/text.hpp"
#include "shard/access.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/errors.hpp"

namespace looseleaf::read {

using shard::Step;
namespace steps = shard::steps;

namespace {

constexpr std::size_t longest_select = 16'384;  // characters, for reports

// Returns the number of the row's shard, from the last column, or nothing if its index was not ready when the row was
// read, or the server was read-only.
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

void ShardRows::add(Chunk chunk) {
  ended_ = chunk.ended;
  if (!chunk.entries.empty()) {
    last_ = chunk.entries.back();
  }
  read_ += chunk.found;
  reads_ += chunk.statements;
  std::move(chunk.entries.begin(), chunk.entries.end(), std::back_inserter(rows_));
  chunk_ = std::min(largest_chunk, chunk_ * 2);
  if (first_select_.empty()) {
    first_select_ = base::utf8_prefix(chunk.select, longest_select);
  }
}

RowReader::RowReader(shard::Shards& shards, shard::Purpose purpose, const shard::CatalogIndex& index,
                     const QueryPlan& plan)
    : shards_(shards), purpose_(purpose), index_(index), plan_(plan) {
  for (const std::uint32_t shard : plan.shards(shards.count())) {
    ShardValues values{plan.parts(shard, shards.count()), {}};
    if (plan.orders_across_values()) {
      values.divided = plan.divided(values.parts);
      std::shuffle(values.divided.begin(), values.divided.end(), std::minstd_rand(shard));
    }
    values_.emplace(shard, std::move(values));
    if (!plan.is_sharded()) {
      break;
    }
  }
}

const RowReader::ShardValues& RowReader::values_of(std::uint32_t shard) const {
  return plan_.is_sharded() ? values_.at(shard) : values_.begin()->second;
}

std::size_t RowReader::read(const std::vector<ShardRows*>& group, std::size_t most,
                            const base::Deadline& deadline) const {
  std::vector<std::uint32_t> shards;
  std::vector<Request> all;
  for (ShardRows* const rows : group) {
    shards.push_back(rows->shard());
    all.push_back(request(*rows, most, group.size()));
  }
  const bool by_windows =
      std::any_of(all.begin(), all.end(), [](const Request& one) { return one.search != Request::Search::none; });
  const bool is_point =
      group.size() == 1 && !group.front()->last() && all.front().limit >= ShardRows::first_chunk && plan_.is_point();
  Chunks chunks = shard::with_group(shards_, shards, deadline, purpose_, [&](shard::Lease& lease) {
    return is_point ? read_point(lease, all.front()) : by_windows ? read_windows(lease, all, most) : read(lease, all);
  });
  for (ShardRows* const rows : group) {
    rows->add(std::move(chunks.of_shard.at(rows->shard())));
  }
  return chunks.statements;
}

// If all rows have the same values, the server spends a tenth of the statement's time on their order. So if one chunk
// is likely to hold all of them, they are read in any order and sorted here.
RowReader::Chunks RowReader::read_point(shard::Lease& lease, Request request) const {
  request.order = QueryPlan::Order::any;
  Chunks chunks = read(lease, {&request, 1});
  if (chunks.of_shard.begin()->second.ended) {
    return chunks;
  }
  request.order = QueryPlan::Order::of_query;
  return read(lease, {&request, 1});
}

RowReader::Chunks RowReader::read(shard::Lease& lease, std::span<const Request> requests) const {
  Chunks chunks;
  std::vector<Select> selects;
  bool may_be_repeated = true;
  for (const Request& one : requests) {
    const std::uint32_t shard = one.rows->shard();
    const QueryPlan::Source from = source(lease, shard);
    for (const QueryPlan::Values& part : one.parts) {
      selects.push_back(
          {shard, plan_.select(from, part, {one.rows->last(), one.before, one.order == QueryPlan::Order::any},
                               one.limit, one.order)});
    }
    chunks.of_shard[shard].select = selects[selects.size() - one.parts.size()].statement.text();
    may_be_repeated = may_be_repeated && !one.rows->last() && !one.before;
  }
  in_statements(lease, selects, selects.size(), [&](const sql::Statement& statement, auto shards) {
    const sql::Result found = select(lease, shards, [&] {
      const Step step(steps::query_read_index_rows, shards.front());
      // A statement with a place to continue from is not prepared: its text comes only once.
      return may_be_repeated ? lease->query(statement) : lease->query(statement.text());
    });
    for (std::size_t row = 0; row < found.size(); ++row) {
      chunks.of_shard[*shard_of(found, row)].entries.push_back(plan_.entry(found, row));
    }
    ++chunks.statements;
    for (const std::uint32_t shard : shards) {
      ++chunks.of_shard[shard].statements;
    }
  });
  for (const Request& one : requests) {
    ShardRows::Chunk& chunk = chunks.of_shard.at(one.rows->shard());
    chunk.found = chunk.entries.size();
    chunk.ended = chunk.found < one.limit && !one.before;
    if (one.order == QueryPlan::Order::any || plan_.orders_across_values()) {
      std::sort(chunk.entries.begin(), chunk.entries.end(),
                [&](const auto& a, const auto& b) { return plan_.before(a, b); });
    }
    if (chunk.found > one.limit && one.order == QueryPlan::Order::of_query) {
      chunk.entries.resize(one.limit);  // of those behind, not all were read if one SELECT has reached the limit
    }
  }
  return chunks;
}

// A statement is kept small enough for the server, and for the memory of this process.
void RowReader::in_statements(
    shard::Lease& lease, std::span<const Select> selects, std::size_t most_tables,
    const std::function<void(const sql::Statement& statement, std::span<const std::uint32_t> shards)>& run) const {
  constexpr std::uint64_t most_bytes = 4 << 20, for_the_rest = 1024;
  const std::uint64_t limit = std::min(most_bytes, lease->facts().max_allowed_packet) - for_the_rest;
  while (!selects.empty()) {
    std::size_t count = 0, bytes = 0, tables = 0;
    std::vector<std::uint32_t> shards;
    for (const Select& select : selects) {
      bytes += select.statement.text().size() + std::string_view(") UNION ALL (").size();
      tables += select.tables;
      if (count > 0 && (bytes > limit || tables > most_tables)) {
        break;
      }
      if (shards.empty() || shards.back() != select.shard) {
        shards.push_back(select.shard);
      }
      ++count;
    }
    sql::Statement statement(count > 1 ? "(" : "");
    for (const Select& select : selects.first(count)) {
      statement.add(&select == selects.data() ? "" : ") UNION ALL (").add(select.statement);
    }
    run(statement.add(count > 1 ? ")" : ""), shards);
    selects = selects.subspan(count);
  }
}

RowReader::Ids RowReader::read_ids(std::span<const std::uint32_t> group, const QueryPlan::Range& range,
                                   const base::Deadline& deadline) const {
  return shard::with_group(shards_, group, deadline, purpose_, [&](shard::Lease& lease) {
    std::vector<Select> selects;
    for (const std::uint32_t shard : group) {
      for (const QueryPlan::Values& part : values_of(shard).parts) {
        selects.push_back({shard, plan_.select_ids(source(lease, shard), part, range)});
      }
    }
    Ids ids;
    in_statements(lease, selects, selects.size(), [&](const sql::Statement& statement, auto shards) {
      const std::string sql = fmt::format("{} LIMIT {}", statement.text(), most_ids + 1);
      const sql::Result found = select(lease, shards, [&] {
        const Step step(steps::query_look_again, shards.front());
        return step.left_out() ? sql::Result({}, 0) : lease->query(sql);
      });
      ids.all = ids.all && found.size() <= most_ids;
      ++ids.statements;
      for (std::size_t row = 0; row < found.size(); ++row) {
        ids.ids.push_back(shard::require_uuid(found.text(row, 0)));
      }
    });
    return ids;
  });
}

QueryPlan::Source RowReader::source(shard::Lease& lease, std::uint32_t shard) const {
  const sql::Database database = lease.on(shard);
  return {database.name(), shard, index_.generation, database->facts().is_writable};
}

// The table may be gone, or may belong to a new index with other columns. The caller asks a group one by one.
sql::Result RowReader::ask_tables(shard::Lease& lease, std::span<const std::uint32_t> shards,
                                  const std::function<sql::Result()>& select) const {
  try {
    return select();
  } catch (const sql::ServerError& error) {
    if (shards.size() == 1 && (error.error_class() == sql::ErrorClass::table_gone ||
                               (error.error_class() == sql::ErrorClass::permanent && !lease->broken()))) {
      check_states(lease, shards, {});
    }
    throw;
  }
}

// Rows are of use only if the index was ready: otherwise they may be those of another index of this name.
sql::Result RowReader::select(shard::Lease& lease, std::span<const std::uint32_t> shards,
                              const std::function<sql::Result()>& select) const {
  sql::Result found = ask_tables(lease, shards, select);
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
  return {
      ErrorCode::bad_index,
      "index was dropped during the query",
      {{"index", index_.definition.table}},
      "run the query again; if that fails, too, `looseleaf status` shows which shards have another index of this name"};
}

}  // namespace looseleaf::read
