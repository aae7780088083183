// Ensures that no server forgets data that was read from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// Writes a row and deletes it, in the caller's transaction, if the SQL condition holds while it writes. Returns whether
// it held. If that transaction commits, its server is the primary then, because a demoted server, and one in a minority
// of a group, refuse writes; and whatever the session could see before is on the server's disk.
[[nodiscard]] bool write_if(const sql::Database& database, const std::string& condition);
// The same without a condition. Throws a retryable ServerError if the server is read-only, also to a user who may write
// nevertheless.
void write_something(const sql::Database& database);

// Returns when everything that this session could see before the call is on the server's disk. Neither seeing nor
// locking a row proves that: a server shows a commit and releases its locks before it writes the log. If the server
// dies in between, the commit never happened. Do not call this in a transaction. `shard` is the database's shard; it
// names the step.
void make_durable(const sql::Database& database, std::uint32_t shard);

// For a caller that reads from all shards for a long time, over any connections, and then relies on the result. It
// holds a session on each server: as long as that session lives, its server has not died.
class CrashDetector {
 public:
  // Throws the same errors as Shards::connect.
  explicit CrashDetector(Shards& shards);

  // Keeps the sessions alive. Call this at least every 30 s.
  void keep_alive();
  // Makes everything durable that was visible before the call. Returns false if a server may have died since this
  // object was made and may have forgotten data that was read. The caller must then read it again.
  [[nodiscard]] bool make_durable();

 private:
  // A conflict says nothing of a session that lives, so the work is tried again, for as long as the others live.
  bool on_each(const std::function<void(const sql::Database&, std::uint32_t shard)>& work);

  std::vector<Lease> sessions_;  // one for each server
  bool lost_ = false;
  std::chrono::steady_clock::time_point kept_alive_ = std::chrono::steady_clock::now();
};

}  // namespace looseleaf::shard
