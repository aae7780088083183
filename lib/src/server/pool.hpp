// The idle sessions of one server.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "server/connector.hpp"
#include "sql/connection.hpp"

namespace looseleaf::server {

// A connection, and the shards of its server whose identity was checked on it.
struct Session {
  std::unique_ptr<sql::Connection> connection;
  std::set<std::uint32_t> checked = {};
};

// Thread-safe.
class Pool {
 public:
  // Returns a number that changes whenever the pool is emptied.
  [[nodiscard]] std::uint64_t generation() const;

  // Returns the session that was returned last. Its connection is null if the pool has none that the server still keeps
  // open.
  [[nodiscard]] Session take(Purpose purpose);
  // Keeps a session that was taken or opened in this `generation`. Closes one of an earlier generation.
  void give_back(Purpose purpose, Session session, std::uint64_t generation);

  // Closes the idle connections, and refuses the return of connections on loan. After one connection broke, the others
  // are likely dead too, or lead to the server from before a failover.
  void empty();

 private:
  mutable std::mutex mutex_;                         // guards the members below
  std::array<std::vector<Session>, purposes> idle_;  // by purpose
  std::uint64_t generation_ = 0;
};

}  // namespace looseleaf::server
