// Knowing that what was read will not be forgotten.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "shard/shards.hpp"
#include "sql/connection.hpp"

namespace looseleaf::shard {

// Returns when everything that this session could see before the call is on the server's disk. That does not follow
// from having seen it, nor from having locked it: a server shows a commit, and lets go of its locks, before its log is
// written, and if the server dies in between, there was no such commit. Not for use in a transaction. `shard`
// is the connection's; the step is named after it.
void make_durable(sql::Connection& connection, std::uint32_t shard);

// For whoever reads for a long time from all shards, by whatever connections, and relies on it then. It holds a session
// on each shard: while that lives, its server has not died.
class CrashDetector {
 public:
  // Throws as Shards::connect.
  explicit CrashDetector(Shards& shards);

  // To be called every half minute at least: keeps the sessions alive.
  void keep_alive();
  // Makes durable what could be seen before. False if a server may have died since this object was made, and forgotten
  // what was read: then it has to be read again.
  [[nodiscard]] bool make_durable();

 private:
  bool on_each(const std::function<void(sql::Connection&, std::uint32_t shard)>& work);

  std::vector<Lease> sessions_;  // of each shard
  bool lost_ = false;
  std::chrono::steady_clock::time_point kept_alive_ = std::chrono::steady_clock::now();
};

}  // namespace looseleaf::shard
