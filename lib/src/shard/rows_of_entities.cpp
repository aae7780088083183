// Reads the index tables of the shards of each server over one session, and the servers side by side.
#include "shard/rows_of_entities.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>

#include "base/parallel.hpp"
#include "shard/writable.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t most_rows = 10'000;  // of one index on one shard, if held for several entities at once

std::set<std::uint32_t> these_or_all(const Shards& shards, const IndexShards& on) {
  const auto all = all_shards(shards);
  return on ? *on : std::set(all.begin(), all.end());
}

}  // namespace

ServerLeases connect_all(Shards& shards, const base::Deadline& deadline, const IndexShards& on) {
  ServerLeases leases(shards.sessions());
  leases.connect_all(these_or_all(shards, on), deadline, Purpose::index_writes);
  return leases;
}

void require_few(std::size_t rows, std::size_t entities) {
  constexpr std::size_t most_of_several = 100'000;
  if (rows > most_of_several && entities > 1) {
    throw TooManyRows();
  }
}

std::vector<PlacedRow> read_index_rows(Shards& shards, const ServerLeases& leases, const Catalog& catalog,
                                       std::span<const Uuid> ids, std::size_t most, const IndexShards& on) {
  const bool all_of_several = most == no_limit && ids.size() > 1;  // these may be too many rows to hold
  std::vector<std::vector<PlacedRow>> found(shards.count());
  const auto read = [&](std::uint32_t shard) {
    for (std::size_t index = 0; index < catalog.indexes.size(); ++index) {
      if (catalog.indexes[index].maintained()) {
        auto entries = read_entries(leases.on(shard), catalog.indexes[index].definition, ids,
                                    all_of_several ? most_rows + 1 : most);
        if (all_of_several && entries.size() > most_rows) {
          throw TooManyRows();
        }
        for (auto& entry : entries) {
          found[shard].push_back({shard, index, std::move(entry)});
        }
      }
    }
  };
  std::vector<std::function<void()>> tasks;
  for (auto& group : leases.by_server(these_or_all(shards, on))) {
    tasks.emplace_back([&, group = std::move(group)] {
      for (const std::uint32_t shard : group) {
        on_shard(shards, shard, [&] { read(shard); });
      }
      on_shard(shards, group.front(), [&] { require_still_writable(leases.on(group.front())); });
    });
  }
  base::run_all(tasks);
  std::vector<PlacedRow> rows;
  for (auto& part : found) {
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace looseleaf::shard
