// Connections to the shards of a cluster, on loan: pooled, waited for, and given up on shards that are dead.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/warnings.hpp"
#include "server/connector.hpp"
#include "server/health.hpp"
#include "server/pool.hpp"
#include "sql/connection.hpp"
#include "sql/retry.hpp"

namespace looseleaf::server {

class Sessions;

// A connection on loan. On destruction it goes back to its pool, unless it is broken or was made for this loan only.
class Lease {
 public:
  // `pool_generation` is that of the shard's pool before the connection was taken.
  Lease(Sessions* owner, std::uint32_t shard, Purpose purpose, std::unique_ptr<sql::Connection> connection, bool keep,
        std::uint64_t pool_generation)
      : owner_(owner),
        shard_(shard),
        purpose_(purpose),
        connection_(std::move(connection)),
        keep_(keep),
        pool_generation_(pool_generation) {}
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  sql::Connection& operator*() const { return *connection_; }
  sql::Connection* operator->() const { return connection_.get(); }
  [[nodiscard]] std::uint32_t shard() const { return shard_; }
  // Closes the connection now instead of giving it back.
  void discard() { connection_.reset(); }

 private:
  void give_back() noexcept;

  Sessions* owner_;
  std::uint32_t shard_;
  Purpose purpose_;
  std::unique_ptr<sql::Connection> connection_;
  bool keep_;
  std::uint64_t pool_generation_;
};

// Thread-safe. Outlives its leases.
class Sessions {
 public:
  // Called with each new connection before it is lent for the first time, and throws to refuse it.
  using Check = std::function<void(std::uint32_t shard, sql::Connection& connection)>;
  // Called when a shard's server has no such database; may throw a better error than the server's.
  using OnNoDatabase = std::function<void(std::uint32_t shard)>;

  // `cluster`, `options` and `warnings` outlive it.
  Sessions(const Cluster& cluster, const Options& options, base::Warnings& warnings, Check check,
           OnNoDatabase on_no_database);

  // A checked connection. Retries until the deadline; but once that was in vain, this shard is tried only once, and not
  // more often than every few seconds, until it answers again. Warns if it waits for long. Throws ServerError (of the
  // class unreachable then, which nobody retries), or what the check throws.
  [[nodiscard]] Lease connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose = Purpose::general);
  // The same without retries. `left` is what is left of the time that the operation may take: a server that falls
  // silent holds it up for not much longer (at least a second, because the client library counts whole ones).
  [[nodiscard]] Lease connect_once(std::uint32_t shard, Purpose purpose = Purpose::general,
                                   std::optional<std::chrono::milliseconds> left = {});
  // Like connect(), but nothing is checked, nothing is pooled, and without `use_database` the database may not exist.
  [[nodiscard]] std::unique_ptr<sql::Connection> connect_unchecked(std::uint32_t shard, const base::Deadline& deadline,
                                                                   bool use_database);
  [[nodiscard]] Connector& connector() { return connector_; }

  // Whether a shard has only failed lately.
  [[nodiscard]] bool is_failing(std::uint32_t shard) const;
  // Notes a failure to connect to a shard, by an attempt that began at `since`.
  void note_failure(std::uint32_t shard, Health::Clock::time_point since, const sql::ServerError& failure);

 private:
  friend class Lease;
  struct Shard {
    Pool pool;
    Health health;
  };

  // `attempt` gets the time that it may take.
  template <typename Try>
  auto until_it_answers(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose, Try&& attempt)
      -> decltype(attempt(std::chrono::milliseconds()));
  void give_up_if_in_vain(std::uint32_t shard, const sql::ServerError& error);
  void warn_of_wait(std::uint32_t shard);
  // How long a shard that does not answer is waited for.
  [[nodiscard]] std::chrono::milliseconds patience(Purpose purpose) const;
  void connection_broke(std::uint32_t shard);
  void give_back(std::uint32_t shard, Purpose purpose, std::unique_ptr<sql::Connection> connection,
                 std::uint64_t pool_generation);

  const Cluster& cluster_;
  const Options& options_;
  base::Warnings& warnings_;
  const Check check_;
  const OnNoDatabase on_no_database_;
  Connector connector_;
  std::vector<Shard> shards_;
};

// Runs `work`, adding to any Error that leaves it which shard it is about.
template <typename Function>
auto on_shard(const Cluster& cluster, std::uint32_t shard, Function&& work) -> decltype(work()) {
  try {
    return work();
  } catch (Error& error) {
    for (const auto& [key, value] : shard_context(cluster, shard)) {
      error.with(key, value);
    }
    throw;
  }
}

}  // namespace looseleaf::server
