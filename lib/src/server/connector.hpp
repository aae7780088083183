// Opens connections as the cluster file, the option files and the caller say.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/warnings.hpp"
#include "sql/connection.hpp"

namespace looseleaf::server {

// What a connection is for. Index rows are written while locks on another server are held: such a connection gives up
// on a server that hangs after a few seconds instead of the whole timeout. So does one that is to fail fast, because
// its user has an answer for a shard that does not reply: it also waits for a dead shard no longer than a connect may
// take.
enum class Purpose { general, index_writes, fail_fast };
inline constexpr std::size_t purposes = 3;

// Context that says which shard an error is about: shard, server, database.
[[nodiscard]] Error::Context shard_context(const Cluster& cluster, std::uint32_t shard);

// Thread-safe. `cluster`, `options` and `warnings` outlive it.
class Connector {
 public:
  // Reads the option files once, so that what is wrong with them is told now, and not as of one shard.
  Connector(const Cluster& cluster, const Options& options, base::Warnings& warnings);

  // A new connection, on which nothing was checked. It takes at most `left` to connect, and so does a statement on it.
  // `use_database` is false if the shard's database may not exist yet. Asks the caller for a password if the server
  // wants one and none is configured.
  [[nodiscard]] std::unique_ptr<sql::Connection> open(std::uint32_t shard, Purpose purpose, bool use_database,
                                                      std::chrono::milliseconds left);
  // A connection to the nth replica that the cluster file names for a shard.
  [[nodiscard]] std::unique_ptr<sql::Connection> open_replica(std::uint32_t shard, std::size_t n) const;

  [[nodiscard]] std::chrono::milliseconds connect_timeout() const { return options_.connect_timeout; }
  // How long a statement may take on a connection that is kept for later uses.
  [[nodiscard]] std::chrono::milliseconds longest_statement(Purpose purpose) const;

 private:
  [[nodiscard]] sql::ConnectOptions connect_options(const ShardConfig& shard) const;
  [[nodiscard]] std::optional<std::string> ask_password(std::uint32_t shard);

  const Cluster& cluster_;
  const Options& options_;
  base::Warnings& warnings_;
  std::mutex password_mutex_;
  std::optional<std::string> password_;  // as the user typed it
};

}  // namespace looseleaf::server
