// Reads index rows in an order that goes across many values, where the index has an order for each value. Sorting all
// matches would take time in proportion to their number. So the rows are read by windows: up to a place before which
// there are most likely enough of them, but not many more. The place comes from the first rows of some of the values,
// drawn at random. Nothing else depends on it. If too few rows come, the next window follows. If so many come that the
// sample was a bad one, the first rows of all values show the place. docs/performance.md has measurements.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "read/shard_rows.hpp"

namespace looseleaf::read {

namespace {

constexpr std::size_t few_rows = 256;        // so many are read at once by a SELECT for each value
constexpr std::size_t rows_of_select = 40;   // a further SELECT takes as long as so many rows
constexpr std::size_t tables_at_once = 256;  // of one statement
constexpr std::size_t most_rows = 20'000;    // of a shard in one window
constexpr std::size_t kept_chunks = 8;       // of the rows of a window, so many chunks are kept

// Of `size` of all values, the first rows are read. The window ends behind the first `rank` of these rows.
struct Sample {
  std::size_t size, rank;
};

// Returns the sample for a window of at least `asked` rows. About `expected` of these rows are in the sample. Their
// number scatters by the root of that. The rank lies so far above it that a window seldom has too few rows.
Sample sample_of(std::size_t all, std::size_t asked) {
  const double values = static_cast<double>(all), rows = static_cast<double>(asked);
  const auto size =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(rows * values / rows_of_select)), 1, all);
  const double expected = rows * static_cast<double>(size) / values;
  return {size, std::min(asked, static_cast<std::size_t>(expected + 2 * std::sqrt(expected) + 2))};
}

}  // namespace

RowReader::Request RowReader::request(ShardRows& rows, std::size_t most, std::size_t shards) const {
  const ShardValues& values = values_of(rows.shard());
  const std::size_t asked = rows.chunk(most), all = values.divided.size();
  Request request{.rows = &rows, .asked = asked, .limit = asked, .parts = values.parts};
  if (all > 1 && all * asked <= few_rows && all * shards <= tables_at_once) {
    request.parts = values.divided;
  } else if (all > 1) {
    request.search = Request::Search::sample;
  }
  return request;
}

RowReader::Chunks RowReader::read_windows(shard::Lease& lease, std::vector<Request> requests, std::size_t most) const {
  while (true) {
    find_windows(lease, requests);
    Chunks chunks = read(lease, requests);
    bool complete = true;
    for (Request& one : requests) {
      complete = check_window(one, chunks.of_shard.at(one.rows->shard())) && complete;
    }
    if (!complete) {
      continue;
    }
    for (const Request& one : requests) {
      ShardRows::Chunk& chunk = chunks.of_shard.at(one.rows->shard());
      if (const std::size_t kept = std::max(one.asked, kept_chunks * most); chunk.entries.size() > kept) {
        chunk.entries.resize(kept);
        chunk.ended = false;
      }
    }
    return chunks;
  }
}

bool RowReader::check_window(Request& request, const ShardRows::Chunk& chunk) {
  if (request.before && chunk.entries.empty()) {  // they were deleted meanwhile
    request.before.reset();
    request.search = Request::Search::none;
  } else if (request.search == Request::Search::none || chunk.found < request.limit) {
    return true;
  } else {
    request.search = request.search == Request::Search::sample ? Request::Search::all : Request::Search::none;
  }
  request.limit = request.asked;
  request.order = QueryPlan::Order::of_query;
  return false;
}

void RowReader::find_windows(shard::Lease& lease, std::span<Request> requests) const {
  std::vector<Select> selects;
  std::map<std::uint32_t, Request*> on_shard;
  for (Request& one : requests) {
    if (one.search == Request::Search::none || one.order == QueryPlan::Order::any) {
      continue;  // it has no window, or has found it
    }
    const std::uint32_t shard = one.rows->shard();
    const std::span<const QueryPlan::Values> all = values_of(shard).divided;
    const bool sampled = one.search == Request::Search::sample;
    const auto [size, rank] = sampled ? sample_of(all.size(), one.asked) : Sample{all.size(), one.asked};
    const std::size_t needed = rank + 1, at_once = std::min(size, tables_at_once);
    const std::size_t each = sampled ? std::min(needed, 2 * needed / at_once + 2) : needed;
    for (std::size_t from = 0; from < size; from += at_once) {
      const auto some = all.subspan(from, std::min(at_once, size - from));
      selects.push_back(
          {shard, plan_.select_place(source(lease, shard), some, one.rows->last(), each, rank), some.size()});
    }
    on_shard.emplace(shard, &one);
    one.order = QueryPlan::Order::any;
    // MariaDB estimates a row or more for each value. If the limit is below the estimate, it looks for ranges twice.
    one.limit = std::min(most_rows, 4 * rank * all.size() / size + 2 * all.size() + few_rows);
  }
  in_statements(lease, selects, tables_at_once, [&](const sql::Statement& statement, auto shards) {
    const sql::Result found = ask_tables(lease, shards, [&] { return lease->query(statement); });
    for (std::size_t row = 0; row < found.size(); ++row) {
      auto& before = on_shard.at(static_cast<std::uint32_t>(found.unsigned_integer(row, found.columns() - 1)))->before;
      shard::IndexEntry place = plan_.place(found, row);
      if (!before || plan_.before(place, *before)) {
        before = std::move(place);
      }
    }
  });
}

}  // namespace looseleaf::read
