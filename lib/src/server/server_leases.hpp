// One session on each of several servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "server/sessions.hpp"

namespace looseleaf::server {

// The sessions of an operation that works on many shards: one for each server, which serves all its shards. Different
// servers may be used by different threads. `sessions` outlives it.
class ServerLeases {
 public:
  explicit ServerLeases(Sessions& sessions);

  // Connects to the servers of these shards, in ascending order, and checks the shards. While it waits for a server
  // that does not answer, it holds no session. Throws as Sessions::connect() does.
  void connect_all(const std::set<std::uint32_t>& shards, const base::Deadline& deadline, Purpose purpose);
  // The same with one attempt for each server, for work that may be left undone. A server that hangs is tried once
  // in a few seconds, for at most a second.
  void connect_all_once(const std::set<std::uint32_t>& shards, const base::Deadline& deadline, Purpose purpose);
  // Connects to the server of these shards unless that was done before, and checks the shards, without retries; see
  // Sessions::connect_once(). Connect to servers in ascending order; see Pool.
  void connect_once(std::span<const std::uint32_t> shards, Purpose purpose, std::chrono::milliseconds left);
  // Returns true if the shard's server is connected.
  [[nodiscard]] bool is_connected(std::uint32_t shard) const { return leases_.at(server_of(shard)).has_value(); }
  // If a session is broken, replaces all of them.
  void replace_broken(const base::Deadline& deadline, Purpose purpose);

  // Groups shards, sorted, by server, in ascending order of servers.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> by_server(const std::set<std::uint32_t>& shards) const;
  // Returns the shard's database. The shard's server must be connected.
  [[nodiscard]] sql::Database on(std::uint32_t shard) const;
  [[nodiscard]] std::uint32_t server_of(std::uint32_t shard) const { return sessions_.connector().server_of(shard); }

 private:
  // Makes one attempt. Returns the shard whose server did not answer.
  [[nodiscard]] std::optional<std::uint32_t> try_all(const std::set<std::uint32_t>& shards,
                                                     const base::Deadline& deadline, Purpose purpose);
  void release_all();

  Sessions& sessions_;
  mutable std::vector<std::optional<Lease>> leases_;  // by server
};

}  // namespace looseleaf::server
