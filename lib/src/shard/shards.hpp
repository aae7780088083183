// The shards of one cluster: connections whose identity was checked, and the cached catalogs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/warnings.hpp"
#include "server/server_leases.hpp"
#include "server/sessions.hpp"
#include "shard/catalog_cache.hpp"
#include "shard/identity.hpp"
#include "shard/writable.hpp"
#include "sql/database.hpp"
#include "sql/retry.hpp"

namespace looseleaf::shard {

using server::Lease;
using server::Purpose;
using server::ServerLeases;
using server::shards_at_once;

// The shared state of all operations on a cluster. Thread-safe. Outlives its leases.
class Shards {
 public:
  Shards(Cluster cluster, Options options);
  // Returns the same cluster with sessions of its own. It gives its warnings to `original`, which outlives it, and asks
  // for no password a second time.
  [[nodiscard]] static std::unique_ptr<Shards> beside(Shards& original);
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(cluster_.shards.size()); }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // Throws Error(usage) if there is no shard of this number.
  void require_shard(std::uint32_t shard) const;
  // Returns the deadline of an operation that starts now. One that can answer without a shard waits no longer for it
  // than for a server that accepts no connection and then hangs.
  [[nodiscard]] base::Deadline deadline(Purpose purpose = Purpose::general) const {
    const server::Connector& connector = sessions_.connector();
    return base::Deadline(purpose == Purpose::fail_fast ? std::min(connector.timeout(), 2 * connector.connect_timeout())
                                                        : connector.timeout());
  }
  // Returns context that identifies the shard in an error.
  [[nodiscard]] Error::Context where(std::uint32_t shard) const { return server::shard_context(cluster_, shard); }

  [[nodiscard]] server::Sessions& sessions() { return sessions_; }
  [[nodiscard]] const server::Sessions& sessions() const { return sessions_; }
  [[nodiscard]] CatalogCache& catalogs() { return catalogs_; }
  [[nodiscard]] base::Warnings& warnings() { return warnings_; }

  // Lets this process write to shards that are frozen with this token. See access.hpp.
  void use_access_token(std::uint64_t token) { access_token_ = token; }
  [[nodiscard]] std::uint64_t access_token() const { return access_token_; }

  // Whether a read has found that the store may move: see move_announcement.hpp.
  [[nodiscard]] bool is_move_announced() const { return is_move_announced_; }
  void note_announced_move() { is_move_announced_ = true; }

  // See server::Sessions.
  [[nodiscard]] Lease connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose = Purpose::general) {
    return sessions_.connect(shard, deadline, purpose);
  }

  // Returns the cluster's id. If no shard was asked yet, connects to all of them, and fails if none can be reached.
  [[nodiscard]] Uuid cluster_id();

  // Connects to every reachable shard and loads its catalog, so that a cluster file that mixes clusters is rejected
  // before the first write. A shard that is down is not an error here.
  void check_identities() { check_identities(Known::check_again); }
  // The same for shards whose catalog was never loaded, before the first put, which will need sessions for index rows,
  // too. Later puts find it done. A server that refuses it is no error here either, unless nobody else answers: the put
  // may not need it. For the same reason it is left out if it does not accept a connection within a second. Whoever
  // connects to it later checks it then.
  void prepare_put();
  // Opens a session on each server at once, if there are so few servers that an operation is likely to need most of
  // them.
  void open_ahead(Purpose purpose);

  // Returns the cached catalog of an entity shard; loads it if it was never loaded.
  [[nodiscard]] std::shared_ptr<const Catalog> catalog(std::uint32_t shard, const base::Deadline& deadline);

 private:
  enum class Known { check_again, trust };
  void check_identities(Known known);
  [[nodiscard]] std::string head_query_of(std::span<const std::uint32_t> shards) const;
  // Checks the identities of shards by the rows of head_query_of(), and offers their catalogs to the cache.
  void accept_heads(std::span<const std::uint32_t> shards, const sql::NamedTexts& rows);
  // Returns the shards whose catalog is not cached.
  [[nodiscard]] std::vector<std::uint32_t> uncached(std::span<const std::uint32_t> shards) const;

  const Cluster cluster_;
  const Options options_;
  base::Warnings warnings_;
  Identity identity_;
  CatalogCache catalogs_;
  server::Sessions sessions_;
  std::atomic<std::uint64_t> access_token_ = 0;
  std::atomic<bool> is_move_announced_ = false;
  std::atomic<bool> is_prepared_ = false;  // for puts
};

// Runs `work` and adds the shard to any Error that it throws.
template <typename Function>
auto on_shard(const Shards& shards, std::uint32_t shard, Function&& work) -> decltype(work()) {
  return server::on_shard(shards.cluster(), shard, std::forward<Function>(work));
}

[[nodiscard]] std::vector<std::uint32_t> all_shards(const Shards& shards);
// Returns the shards of each server, in ascending order.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> shards_by_server(const Shards& shards);

// Runs `work` for these shards, on all servers at once and on each server for as many shards at once as sessions are
// allowed, and returns when all have ended. Then rethrows the exception of the first of these shards that failed.
void for_shards(Shards& shards, std::span<const std::uint32_t> some,
                const std::function<void(std::uint32_t shard)>& work);
void for_each_shard(Shards& shards, const std::function<void(std::uint32_t shard)>& work);
// Returns true if the error of a statement for several shards of a server may be one shard's.
[[nodiscard]] bool may_be_one_shards(const Error& error);
// Like for_shards(), but runs `work` for groups of at most `largest` shards of a server. If `work` fails for a group,
// and may_be_one_shards(), it is repeated for each shard of the group alone.
void for_groups(Shards& shards, std::span<const std::uint32_t> some,
                const std::function<void(std::span<const std::uint32_t> group)>& work,
                std::size_t largest = shards_at_once);

// Connects to every shard, and fails at once if one is down: an immediate error helps the user more than a wait. The
// error then says `what`.
void require_every_shard(Shards& shards, const std::string& what);

// Runs `work` on a connection to a shard and retries it after transient errors until the deadline. It is for work that
// ends in a write, or whose result may be outdated.
template <typename Function>
auto with_shard(Shards& shards, std::uint32_t shard, const base::Deadline& deadline, Function&& work,
                Purpose purpose = Purpose::general) -> decltype(work(std::declval<const sql::Database&>())) {
  return sql::with_retries(deadline, [&] {
    const Lease lease = shards.connect(shard, deadline, purpose);
    return on_shard(shards, shard, [&] { return work(*lease); });
  });
}

// The same for several shards of one server. Errors name the first shard.
template <typename Function>
auto with_group(Shards& shards, std::span<const std::uint32_t> group, const base::Deadline& deadline, Purpose purpose,
                Function&& work) -> decltype(work(std::declval<Lease&>())) {
  return sql::with_retries(deadline, [&] {
    Lease lease = shards.connect(group.front(), deadline, purpose);
    lease.check(group);
    return on_shard(shards, group.front(), [&] { return work(lease); });
  });
}

// The same for reads. What `read` returns counts: the server was still writable after it. It may be repeated, so it
// must change nothing.
template <typename Function>
auto read_shard(Shards& shards, std::uint32_t shard, const base::Deadline& deadline, Function&& read)
    -> decltype(read(std::declval<const sql::Database&>())) {
  return with_shard(shards, shard, deadline, [&](const sql::Database& database) {
    auto result = read(database);
    require_still_writable(database);
    return result;
  });
}

template <typename Function>
auto read_group(Shards& shards, std::span<const std::uint32_t> group, const base::Deadline& deadline, Purpose purpose,
                Function&& read) -> decltype(read(std::declval<Lease&>())) {
  return with_group(shards, group, deadline, purpose, [&](Lease& lease) {
    auto result = read(lease);
    require_still_writable(*lease);
    return result;
  });
}

}  // namespace looseleaf::shard
