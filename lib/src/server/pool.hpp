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
  // Changes whenever the pool is emptied.
  [[nodiscard]] std::uint64_t generation() const;

  // The connection that was given back last; null if none is left that its server still keeps open.
  [[nodiscard]] std::unique_ptr<sql::Connection> take(Purpose purpose);
  // Keeps a connection that was taken or opened in this `generation`. One of an earlier generation is closed.
  void give_back(Purpose purpose, std::unique_ptr<sql::Connection> connection, std::uint64_t generation);

  // Closes what is idle, and lets nothing back that is on loan: after one connection broke, the others are likely dead
  // too, or lead to where the shard was before a failover.
  void empty();

 private:
  mutable std::mutex mutex_;                                                  // guards what follows
  std::array<std::vector<std::unique_ptr<sql::Connection>>, purposes> idle_;  // by purpose
  std::uint64_t generation_ = 0;
};

}  // namespace looseleaf::server
