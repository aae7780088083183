// The shards of one cluster: connections whose identity was checked, and the catalogs last seen.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "sql/connection.hpp"
#include "sql/retry.hpp"

namespace looseleaf::shard {

class Shards;

// The cluster file names more or fewer shards than the store has.
[[nodiscard]] Error other_shard_count(std::uint64_t in_store, std::uint32_t in_file);

// What a connection is for. Index rows are written while locks on another server are held: such a connection gives up
// on a server that hangs after a few seconds instead of the whole time-out. So does a brief one, of whoever can say at
// once what comes of a shard that does not answer: it is waited for, too, no longer than a connect may take.
enum class Purpose { general, index_writes, brief };

// A connection on loan; goes back to its pool on destruction, to be kept for others, unless it is broken or was made
// for this loan only.
class Lease {
 public:
  // `age`: how often connections to the shard were dropped before this one was taken.
  Lease(Shards* owner, std::uint32_t shard, Purpose purpose, std::unique_ptr<sql::Connection> connection, bool keep,
        std::uint64_t age)
      : owner_(owner), shard_(shard), purpose_(purpose), connection_(std::move(connection)), keep_(keep), age_(age) {}
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

  Shards* owner_;
  std::uint32_t shard_;
  Purpose purpose_;
  std::unique_ptr<sql::Connection> connection_;
  bool keep_;
  std::uint64_t age_;
};

// Thread-safe. Outlives its leases.
class Shards {
 public:
  Shards(Cluster cluster, Options options);
  ~Shards();

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(cluster_.shards.size()); }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // Of an operation that starts now.
  [[nodiscard]] base::Deadline deadline() const { return base::Deadline(options_.timeout); }

  // A session on a shard whose identity agrees with the cluster file. Connecting is tried again until the deadline;
  // but once that was in vain this shard is tried only once, and not more often than every few seconds, until it
  // answers again: a dead shard is waited for once, not for each batch. A wait that lasts is warned of. Throws
  // ServerError (unreachable then, which nobody retries), or Error(wrong_cluster).
  [[nodiscard]] Lease connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose = Purpose::general);
  // The same in one try. `left`: what is left of the time that the operation may take; a server that falls silent then
  // holds it up for not much longer (a second at least, as the client library counts in whole ones).
  [[nodiscard]] Lease connect_once(std::uint32_t shard, Purpose purpose = Purpose::general,
                                   std::optional<std::chrono::milliseconds> left = {});
  // For init: like connect(), but no identity is asked for, and the database may not exist yet (`use_database` false).
  [[nodiscard]] std::unique_ptr<sql::Connection> connect_unchecked(std::uint32_t shard, const base::Deadline& deadline,
                                                                   bool use_database);

  // A connection to the nth replica that the cluster file names for a shard. It is not checked for anything.
  [[nodiscard]] std::unique_ptr<sql::Connection> connect_replica(std::uint32_t shard, std::size_t n) const;

  // Connects to every shard that can be reached, so that a cluster file that mixes clusters is refused before
  // anything is written, and loads their catalogs. A shard that is down is no error here. One whose catalog was loaded
  // before may be trusted to be the same still: then its catalog is not loaded again either.
  enum class Known { check_again, trust };
  void check_identities(Known known = Known::check_again);

  // The catalog of an entity shard as last loaded; loads it if it never was.
  [[nodiscard]] std::shared_ptr<const Catalog> catalog(std::uint32_t shard, const base::Deadline& deadline);
  // Null if it never was loaded.
  [[nodiscard]] std::shared_ptr<const Catalog> cached_catalog(std::uint32_t shard);
  // Loads it anew.
  std::shared_ptr<const Catalog> reload_catalog(std::uint32_t shard, sql::Connection& connection);

  // Whether the entities that were last looked for there, to be written, were all new: the next ones may be, too.
  [[nodiscard]] bool last_ids_were_new(std::uint32_t shard);
  void note_ids(std::uint32_t shard, bool all_new);

  // Whether nothing but failures came from a shard lately.
  [[nodiscard]] bool is_failing(std::uint32_t shard) { return has_failed_for(shard, std::chrono::milliseconds(0)); }

  // Passes a warning to the caller of the library, each text once.
  void warn(Warning warning);

  // Context that says which shard an error is about.
  [[nodiscard]] Error::Context where(std::uint32_t shard) const;

 private:
  friend class Lease;
  struct Pool {
    std::array<std::vector<std::unique_ptr<sql::Connection>>, 3> idle;  // by purpose
    std::uint64_t dropped = 0;                                          // how often they were
    std::shared_ptr<const Catalog> catalog;
    bool last_ids_were_new = false;
    // Since when nothing but failures; absent while the shard answers.
    std::optional<std::chrono::steady_clock::time_point> failing_since;
    std::optional<sql::ServerError> failure;   // the last one, if it was in connecting
    std::optional<sql::ServerError> given_up;  // why, once that has lasted for the whole time-out
    bool told = false;                         // somebody waits, and it was warned of
    std::chrono::steady_clock::time_point tried;
  };

  [[nodiscard]] std::unique_ptr<sql::Connection> take_idle(std::uint32_t shard, Purpose purpose);
  // `attempt` gets the time that it may take.
  template <typename Try>
  auto until_it_answers(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose, Try&& attempt)
      -> decltype(attempt(std::chrono::milliseconds()));
  void failed(std::uint32_t shard, const sql::ServerError& error, std::chrono::steady_clock::time_point begin);
  [[nodiscard]] bool has_failed_for(std::uint32_t shard, std::chrono::milliseconds time);
  void warn_of_wait(std::uint32_t shard);
  // How long a shard that does not answer is waited for.
  [[nodiscard]] std::chrono::milliseconds patience(Purpose purpose) const;
  [[nodiscard]] std::chrono::milliseconds time_left_for(std::uint32_t shard, Purpose purpose);
  // How long a statement may take whose connection is to be kept.
  [[nodiscard]] std::chrono::milliseconds longest_statement(Purpose purpose) const;
  [[nodiscard]] std::unique_ptr<sql::Connection> open(std::uint32_t shard, Purpose purpose, bool use_database,
                                                      std::chrono::milliseconds left);
  [[nodiscard]] sql::ConnectOptions connect_options(const ShardConfig& shard) const;
  void check_identity(std::uint32_t shard, sql::Connection& connection);
  [[noreturn]] void refuse_uninitialised(std::uint32_t shard);
  [[nodiscard]] std::optional<std::string> ask_password(std::uint32_t shard);
  [[nodiscard]] std::uint64_t times_dropped(std::uint32_t shard);
  void give_back(std::uint32_t shard, Purpose purpose, std::unique_ptr<sql::Connection> connection, std::uint64_t age);
  // Notes that the shard may be dead: nobody waits for it for longer than the time-out from then on.
  void fails(std::uint32_t shard, std::chrono::steady_clock::time_point since,
             const std::optional<sql::ServerError>& failure = {});
  // Notes that the shard is not dead.
  void answers(std::uint32_t shard);
  // After a connection broke, the others to its server are likely dead too, or lead to where the shard was before a
  // failover: the idle ones are closed now, those on loan when they come back.
  void drop_others(std::uint32_t shard);

  const Cluster cluster_;
  const Options options_;
  std::mutex mutex_;  // guards everything below
  std::vector<Pool> pools_;
  std::optional<Uuid> cluster_id_;  // the cluster file's, else the first shard's
  std::mutex warning_mutex_;
  std::set<std::string> warned_;
  std::mutex password_mutex_;
  std::optional<std::string> password_;  // typed in
};

// Runs `work`, adding to any Error that leaves it which shard it is about.
template <typename Function>
auto on_shard(const Shards& shards, std::uint32_t shard, Function&& work) -> decltype(work()) {
  try {
    return work();
  } catch (Error& error) {
    for (const auto& [key, value] : shards.where(shard)) {
      error.with(key, value);
    }
    throw;
  }
}

// Runs `work` on a connection to a shard, again after transient errors until the deadline.
template <typename Function>
auto with_shard(Shards& shards, std::uint32_t shard, const base::Deadline& deadline, Function&& work,
                Purpose purpose = Purpose::general) -> decltype(work(std::declval<sql::Connection&>())) {
  return sql::with_retries(deadline, [&] {
    const Lease lease = shards.connect(shard, deadline, purpose);
    return on_shard(shards, shard, [&] { return work(*lease); });
  });
}

}  // namespace looseleaf::shard
