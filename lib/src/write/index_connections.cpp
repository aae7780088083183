// Finds out which of the index shards of a batch can be written.
#include "write/index_connections.hpp"

#include <cstddef>
#include <span>

namespace looseleaf::write {
namespace {

void mark_down(std::span<const std::uint32_t> shards, const sql::ServerError& error, ShardsDown& down) {
  for (const std::uint32_t shard : shards) {
    down.emplace(shard, error);
  }
}

// Connects to the server of these shards. Adds those that cannot be used.
void connect(std::span<const std::uint32_t> group, shard::ServerLeases& leases, const base::Deadline& deadline,
             ShardsDown& down) {
  try {
    leases.connect_once(group, shard::Purpose::index_writes, deadline.left());
  } catch (const sql::ServerError& error) {
    if (group.size() == 1 || !leases.is_connected(group.front())) {
      mark_down(group, error, down);
      return;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {  // the error may be one shard's
      connect(group.subspan(i, 1), leases, deadline, down);
    }
  }
}

}  // namespace

ShardsDown connect_index_shards(shard::Shards& shards, const std::set<std::uint32_t>& needed,
                                shard::ServerLeases& leases, const base::Deadline& deadline, Wait wait) {
  shards.sessions().open_ahead(needed, shard::Purpose::index_writes);
  const auto groups = leases.by_server(needed);
  ShardsDown down;
  for (const auto& group : groups) {
    if (wait == Wait::no) {
      break;
    }
    try {
      static_cast<void>(shards.connect(group.front(), deadline, shard::Purpose::index_writes));
    } catch (const sql::ServerError& error) {
      mark_down(group, error, down);
    }
  }
  for (const auto& group : groups) {
    if (!down.contains(group.front())) {
      connect(group, leases, deadline, down);
    }
  }
  return down;
}

}  // namespace looseleaf::write
