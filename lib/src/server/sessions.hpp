// Lends connections to the shards of a cluster: it pools them, limits their number, waits for servers that do not
// answer, and gives up on dead servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/warnings.hpp"
#include "server/connector.hpp"
#include "server/health.hpp"
#include "server/pool.hpp"
#include "sql/connection.hpp"
#include "sql/database.hpp"
#include "sql/retry.hpp"

namespace looseleaf::server {

// One statement names the tables of at most this many shards.
inline constexpr std::size_t shards_at_once = 32;

class Sessions;

// A session on loan. It was lent for one shard, and can serve the other shards of the same server. The destructor
// returns it to its pool, unless it is broken or was opened for this loan only. For one thread at a time.
class Lease {
 public:
  // `pool_generation` is the generation of the server's pool before the session was taken.
  Lease(Sessions* owner, std::uint32_t shard, Place place, Session session, std::string database, bool keep,
        std::uint64_t pool_generation);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  const sql::Database& operator*() const { return database_; }
  sql::Connection* operator->() const { return session_.connection.get(); }
  [[nodiscard]] std::uint32_t shard() const { return shard_; }
  // Returns the database of a shard on the same server. If the shard was not checked in this session yet, this takes a
  // round trip, and throws as Sessions::connect_once() does.
  [[nodiscard]] sql::Database on(std::uint32_t shard);
  // Checks several shards on the same server in one round trip, so that on() takes none.
  void check(std::span<const std::uint32_t> shards);
  // Closes the connection now instead of returning it to the pool.
  void discard() { session_.connection.reset(); }

 private:
  void give_back() noexcept;

  Sessions* owner_;
  std::uint32_t shard_;
  Place place_;  // before the session, so that it outlives it
  Session session_;
  sql::Database database_;  // of the shard, on this connection
  bool keep_;
  std::uint64_t pool_generation_;
};

// Thread-safe. Outlives its leases.
class Sessions {
 public:
  // Called before a session is used for these shards, with the rows of the first query. It throws to refuse a shard.
  using Check = std::function<void(std::span<const std::uint32_t> shards, const sql::NamedTexts& first_rows)>;
  // Returns the first query of a session for these shards of its server; see sql::ConnectOptions.
  using FirstQuery = std::function<std::string(std::span<const std::uint32_t> shards)>;
  // Called when a shard's server has no such database. It may throw a better error than the server's.
  using OnNoDatabase = std::function<void(std::uint32_t shard)>;

  // `cluster`, `options` and `warnings` outlive it.
  Sessions(const Cluster& cluster, const Options& options, base::Warnings& warnings, FirstQuery first_query,
           Check check, OnNoDatabase on_no_database);

  // Returns a checked connection. Waits while this process has as many on the server as the limit allows for this
  // purpose, and throws Error(unavailable) if none becomes free before the deadline. Retries until the deadline. Once a
  // whole timeout of retries has failed, it tries this shard only once per call, and at most once every few seconds,
  // until the shard answers again. Prints a warning if it waits for long. Throws ServerError, or any error that the
  // check throws. For a shard that was given up, the ServerError has the class unreachable, which no caller retries.
  [[nodiscard]] Lease connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose = Purpose::general);
  // Like connect(), but without retries, and without an attempt if the server just failed to answer another one. `left`
  // is the remaining time of the operation; absent: a whole timeout. A server that stops responding delays the
  // operation for little longer than that, but for at least a second, because the client library counts whole seconds.
  [[nodiscard]] Lease connect_once(std::uint32_t shard, Purpose purpose = Purpose::general,
                                   std::optional<std::chrono::milliseconds> left = {});
  // A server that needs longer to accept a connection holds up nobody who can do without it.
  static constexpr std::chrono::milliseconds soon{1000};
  // The same, but gives the server only that long to accept a connection, and waits no longer for a place.
  [[nodiscard]] Lease connect_soon(std::uint32_t shard, Purpose purpose = Purpose::general);
  // The same as connect_once(), with a whole timeout once it has a place, for which it waits this long at most.
  [[nodiscard]] Lease connect_if_free(std::uint32_t shard, Purpose purpose, std::chrono::milliseconds wait);
  // Like connect(), but without checks, and the session never goes to the pool. Without `use_database`, the database
  // need not exist.
  [[nodiscard]] Lease connect_unchecked(std::uint32_t shard, const base::Deadline& deadline, bool use_database);
  // The same, with one attempt of at most the connect timeout, for a caller that can do without it.
  [[nodiscard]] Lease connect_unchecked_once(std::uint32_t shard);
  // Opens a session on the server of each of these shards that has no idle one, all at the same time, and gives them
  // to the pools. An operation that needs several sessions calls this first and then takes them one by one, in the
  // order that prevents deadlocks. Gives a server one second. If it does not answer, or the limit is reached, the
  // operation finds that out when it connects.
  void open_ahead(const std::set<std::uint32_t>& shards, Purpose purpose);
  [[nodiscard]] Connector& connector() { return connector_; }
  [[nodiscard]] const Connector& connector() const { return connector_; }

  // From now on all sessions take part in a rehearsal, which outlives them. Call it before the first session is used.
  void rehearse(sql::Rehearsal& rehearsal) { rehearsal_ = &rehearsal; }

  // Returns the most sessions that are open at once for this purpose.
  [[nodiscard]] std::size_t limit_of(Purpose purpose) const { return pools_.front().limit_of(purpose); }

  // Returns true if a shard's server has failed and has not answered since.
  [[nodiscard]] bool is_failing(std::uint32_t shard) const;
  // Returns true if the shard's server has failed for a whole timeout, and has not answered since.
  [[nodiscard]] bool has_given_up(std::uint32_t shard) const;
  // Throws the last failure of a shard's server if it was waited for in vain within the last seconds: for work that may
  // be left undone.
  void refuse_silent(std::uint32_t shard) const;
  // Records a failure to connect to a shard, by an attempt that began at `since`.
  void note_failure(std::uint32_t shard, Health::Clock::time_point since, const sql::ServerError& failure);
  // The same for an attempt that was given less time than it may need.
  void note_hasty_failure(std::uint32_t shard, Health::Clock::time_point since, const sql::ServerError& failure);

 private:
  friend class Lease;

  // Whether to connect to a server that did not accept a connection within the last second.
  enum class Again { yes, unless_it_just_failed };
  // Makes one attempt to get a session. Waits for a place until the deadline, and at most for `wait`. A session that it
  // opens then has these limits, and no more than what is left until the deadline.
  [[nodiscard]] Lease attempt(std::uint32_t shard, Purpose purpose, const base::Deadline& deadline,
                              const Connector::Limits& limits, Again again,
                              std::chrono::milliseconds wait = std::chrono::milliseconds::max());
  // Opens a session for the place, and checks it. If a statement may take half of the timeout here, or the longest time
  // that one may ever take, the session is kept, and its statements may take that longest time: so one may outlast its
  // operation by as much. Otherwise the session's statements end in time, and it ends with its loan.
  [[nodiscard]] Lease open(std::uint32_t shard, Place place, std::uint64_t generation, const Connector::Limits& limits);
  // `attempt` receives the time that it may take.
  template <typename Try>
  auto until_it_answers(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose, Try&& attempt)
      -> decltype(attempt(std::chrono::milliseconds()));
  void give_up_if_in_vain(std::uint32_t shard, const sql::ServerError& error);
  void warn_of_wait(std::uint32_t shard);
  // Returns how long the process waits for a shard that does not answer.
  [[nodiscard]] std::chrono::milliseconds patience(Purpose purpose) const;
  void connection_broke(std::uint32_t shard);
  void give_back(std::uint32_t shard, Purpose purpose, Session session, std::uint64_t pool_generation);
  // Checks the identity of shards in a session that has served other shards.
  void check(Session& session, std::span<const std::uint32_t> shards);
  void check_at_once(Session& session, std::span<const std::uint32_t> shards);
  [[nodiscard]] Pool& pool_of(std::uint32_t shard) { return pools_.at(connector_.server_of(shard)); }
  [[nodiscard]] Health& health_of(std::uint32_t shard) { return health_.at(connector_.server_of(shard)); }
  [[nodiscard]] Lease open_unchecked(std::uint32_t shard, bool use_database, std::chrono::milliseconds left,
                                     const base::Deadline& deadline);
  [[nodiscard]] Place enter(std::uint32_t shard, Purpose purpose, const base::Deadline& deadline);

  const Cluster& cluster_;
  base::Warnings& warnings_;
  const bool warns_of_waits_;
  const FirstQuery first_query_;
  const Check check_;
  const OnNoDatabase on_no_database_;
  Connector connector_;
  std::deque<Pool> pools_;      // by server
  std::vector<Health> health_;  // by server
  sql::Rehearsal* rehearsal_ = nullptr;
};

// Runs `work` and adds the shard to any Error that it throws.
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
