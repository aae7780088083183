// The idle connections of one shard.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "server/connector.hpp"
#include "sql/connection.hpp"

namespace looseleaf::server {

// Thread-safe.
class Pool {
 public:
  // Returns a number that changes whenever the pool is emptied.
  [[nodiscard]] std::uint64_t generation() const;

  // Returns the connection that was returned last. It is null if the pool has no connection that the server still keeps
  // open.
  [[nodiscard]] std::unique_ptr<sql::Connection> take(Purpose purpose);
  // Keeps a connection that was taken or opened in this `generation`. Closes a connection of an earlier generation.
  void give_back(Purpose purpose, std::unique_ptr<sql::Connection> connection, std::uint64_t generation);

  // Closes the idle connections, and refuses the return of connections on loan. After one connection broke, the others
  // are likely dead too, or lead to the shard's server from before a failover.
  void empty();

 private:
  mutable std::mutex mutex_;                                                  // guards the members below
  std::array<std::vector<std::unique_ptr<sql::Connection>>, purposes> idle_;  // by purpose
  std::uint64_t generation_ = 0;
};

}  // namespace looseleaf::server
