// Opens connections with the settings from the cluster file, the option files and the caller.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/warnings.hpp"
#include "config/connection_settings.hpp"
#include "server/passwords.hpp"
#include "sql/connection.hpp"

namespace looseleaf::server {

// The purpose of a connection. A connection with the purpose index_writes writes index rows while locks on another
// server are held. If a server hangs, it therefore gives up after a few seconds instead of the whole timeout. So does a
// connection with the purpose fail_fast, because its user can answer without a shard that does not reply. In addition,
// it waits for a dead shard no longer than the connect timeout. A session with the purpose pinned is kept for as long
// as a job runs.
enum class Purpose { general, index_writes, fail_fast, pinned };
inline constexpr std::size_t purposes = 4;

// Returns context that identifies the shard in an error: shard, server, database.
[[nodiscard]] Error::Context shard_context(const Cluster& cluster, std::uint32_t shard);
// Returns the error with this shard's place in its context instead of that of another shard, which failed with it.
[[nodiscard]] Error error_of_shard(const Cluster& cluster, std::uint32_t shard, const Error& error);
// Returns the shard that the error's context names.
[[nodiscard]] std::optional<std::uint32_t> shard_named_by(const Error& error);

// Thread-safe. `cluster`, `options` and `warnings` outlive it.
class Connector {
 public:
  // Reads the option files, so that errors in them are reported now and not as errors of one shard.
  Connector(const Cluster& cluster, const Options& options, base::Warnings& warnings);

  // How long an attempt to connect may take, and how long each statement on the connection, at most.
  struct Limits {
    std::chrono::milliseconds connect, statement;
  };
  // Returns a new, unchecked connection. `use_database` is false if the shard's database may not exist yet. For
  // `first_query` see sql::ConnectOptions. If the server refuses the login, reads the files again, and tries once more
  // if they say something else now. Asks the caller for a password, once, if the server requires one and none is
  // configured.
  [[nodiscard]] std::unique_ptr<sql::Connection> open(std::uint32_t shard, Purpose purpose, bool use_database,
                                                      const Limits& limits, const std::string& first_query = {});
  // Returns a connection to the nth replica that the cluster file names for a shard.
  [[nodiscard]] std::unique_ptr<sql::Connection> open_replica(std::uint32_t shard, std::size_t n);

  // From now on, both ask for the same passwords only once. Call it before the first session is used.
  void share_passwords(const Connector& other) { passwords_ = other.passwords_; }

  // Numbers the cluster's servers from 0. Shards with the same address, user and TLS settings are on the same server.
  [[nodiscard]] std::uint32_t server_of(std::uint32_t shard) const { return server_of_.at(shard); }
  [[nodiscard]] std::uint32_t servers() const { return servers_; }
  // Groups these shards by server, in ascending order of servers. Within a group they keep their order.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> by_server(std::span<const std::uint32_t> shards) const;

  // Returns the time for one operation with all its retries.
  [[nodiscard]] std::chrono::milliseconds timeout() const { return options_.timeout.value_or(cluster_.timeout); }
  [[nodiscard]] std::chrono::milliseconds connect_timeout() const {
    return std::min(options_.connect_timeout, timeout());
  }
  // Returns the most connections that this process may have to one server.
  [[nodiscard]] std::size_t max_connections() const;
  // Returns the statement timeout for a connection that is kept for later uses.
  [[nodiscard]] std::chrono::milliseconds longest_statement(Purpose purpose) const;

 private:
  // Returns what the caller types as the password; absent if it cannot be asked.
  [[nodiscard]] std::optional<std::string> ask_password(std::uint32_t shard);
  // `connect` is made of `config`, which is the shard's, perhaps with the address of a replica.
  [[nodiscard]] std::unique_ptr<sql::Connection> log_in(sql::ConnectOptions connect, const ShardConfig& config,
                                                        std::uint32_t shard);
  [[nodiscard]] std::unique_ptr<sql::Connection> try_login(const sql::ConnectOptions& connect, std::uint32_t shard);
  using Settings = std::shared_ptr<const config::ConnectionSettings>;
  // Reads the files again after a refused login. If they cannot be read, returns null, and the error says so if access
  // was denied.
  [[nodiscard]] Settings read_again(std::uint32_t shard, sql::ServerError& refused);
  // Returns what the shard's server has accepted last, or what was read first.
  [[nodiscard]] Settings settings(std::uint32_t shard);

  const Cluster& cluster_;
  const Options& options_;
  base::Warnings& warnings_;
  std::mutex settings_mutex_;             // guards settings_
  std::vector<Settings> settings_;        // by server: while a password is changed, one has the new one before another
  std::vector<std::uint32_t> server_of_;  // by shard
  std::uint32_t servers_ = 0;
  std::shared_ptr<Passwords> passwords_ = std::make_shared<Passwords>();
};

}  // namespace looseleaf::server
