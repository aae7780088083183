// Reading the index rows of given entities on all shards, a few entities at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shard/catalog.hpp"
#include "shard/index_rows.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// Shards that have index rows; without a value, all.
using IndexShards = std::optional<std::set<std::uint32_t>>;

// Returns sessions for index rows that serve these shards.
[[nodiscard]] ServerLeases connect_all(Shards& shards, const base::Deadline& deadline, const IndexShards& on = {});

// Several entities together have, or call for, more rows than should be held at once, or their bodies are too large for
// that; see in_batches().
struct TooManyRows {};
// Throws TooManyRows if so many entities call for too many rows. A single entity may call for any number.
void require_few(std::size_t rows, std::size_t entities);

// Calls `work` with a few ids at a time, sorted and distinct. If these have too many rows, retries with half of the
// ids.
template <typename Work>
void in_batches(std::span<const Uuid> ids, std::size_t size, const Work& work) {
  std::vector<Uuid> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const std::span<const Uuid> all(sorted);
  for (std::size_t from = 0; from < all.size(); from += size) {
    const auto batch = all.subspan(from, std::min(size, all.size() - from));
    try {
      work(batch);
    } catch (const TooManyRows&) {
      in_batches(batch, (batch.size() + 1) / 2, work);
    }
  }
}

// Returns the sorted rows of these entities in every maintained index on these shards. It reads at most `most` rows of
// each index table. Without that limit, it throws TooManyRows if several entities have too many rows to hold at once.
[[nodiscard]] std::vector<PlacedRow> read_index_rows(Shards& shards, const ServerLeases& leases, const Catalog& catalog,
                                                     std::span<const Uuid> ids, std::size_t most = no_limit,
                                                     const IndexShards& on = {});

}  // namespace looseleaf::shard
