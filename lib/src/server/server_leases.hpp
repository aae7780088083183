// One session on each of several servers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "server/sessions.hpp"

namespace looseleaf::server {

// The sessions of an operation that works on many shards: one for each server, which serves all its shards. Different
// servers may be used by different threads. `sessions` outlives it.
class ServerLeases {
 public:
  explicit ServerLeases(Sessions& sessions);

  // Connects to the shard's server unless that was done before, and checks the shard. Throws as Sessions::connect()
  // does.
  void connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose);
  // The same without retries; see Sessions::connect_once().
  void connect_once(std::uint32_t shard, Purpose purpose);
  // Connects again to servers whose session is broken.
  void replace_broken(const base::Deadline& deadline, Purpose purpose);

  // Returns the shard's database. The shard's server must be connected.
  [[nodiscard]] sql::Database on(std::uint32_t shard) const;
  [[nodiscard]] std::uint32_t server_of(std::uint32_t shard) const { return sessions_.connector().server_of(shard); }

 private:
  Sessions& sessions_;
  mutable std::vector<std::optional<Lease>> leases_;  // by server
};

}  // namespace looseleaf::server
