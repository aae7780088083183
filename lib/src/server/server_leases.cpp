// One session on each of several servers.
#include "server/server_leases.hpp"

#include <algorithm>
#include <utility>

#include "sql/retry.hpp"

namespace looseleaf::server {

ServerLeases::ServerLeases(Sessions& sessions) : sessions_(sessions), leases_(sessions.connector().servers()) {}

void ServerLeases::connect_all(const std::set<std::uint32_t>& shards, const base::Deadline& deadline, Purpose purpose) {
  sessions_.open_ahead(shards, purpose);
  sql::Backoff backoff;
  while (const auto failed = try_all(shards, deadline, purpose)) {
    release_all();
    static_cast<void>(sessions_.connect(*failed, deadline, purpose));
    backoff.wait(deadline);
  }
}

void ServerLeases::connect_all_once(const std::set<std::uint32_t>& shards, const base::Deadline& deadline,
                                    Purpose purpose) {
  constexpr std::chrono::milliseconds longest_if_failing(1000);
  sessions_.open_ahead(shards, purpose);
  for (const auto& group : by_server(shards)) {
    const std::uint32_t first = group.front();
    sessions_.refuse_silent(first);
    const auto since = Health::Clock::now();
    const bool hasty = sessions_.is_failing(first);
    try {
      connect_once(group, purpose, hasty ? std::min(deadline.left(), longest_if_failing) : deadline.left());
    } catch (const sql::ServerError& error) {
      if (!is_connected(first) && error.retryable()) {
        hasty ? sessions_.note_hasty_failure(first, since, error) : sessions_.note_failure(first, since, error);
      }
      throw;
    }
  }
}

std::optional<std::uint32_t> ServerLeases::try_all(const std::set<std::uint32_t>& shards,
                                                   const base::Deadline& deadline, Purpose purpose) {
  for (const auto& group : by_server(shards)) {
    try {
      connect_once(group, purpose, deadline.left());
    } catch (const sql::ServerError& error) {
      if (!error.retryable() || deadline.passed()) {
        throw;
      }
      return group.front();
    }
  }
  return std::nullopt;
}

void ServerLeases::release_all() {
  for (auto& lease : leases_) {
    lease.reset();
  }
}

void ServerLeases::connect_once(std::span<const std::uint32_t> shards, Purpose purpose,
                                std::chrono::milliseconds left) {
  auto& lease = leases_.at(server_of(shards.front()));
  if (!lease) {
    lease.emplace(sessions_.connect_once(shards.front(), purpose, left));
  }
  lease->check(shards);
}

void ServerLeases::replace_broken(const base::Deadline& deadline, Purpose purpose) {
  const auto is_broken = [](const std::optional<Lease>& lease) { return lease && (*lease)->broken(); };
  if (std::none_of(leases_.begin(), leases_.end(), is_broken)) {
    return;
  }
  // All, because one alone would be taken after those of greater servers.
  std::set<std::uint32_t> shards;
  for (const auto& lease : leases_) {
    if (lease) {
      shards.insert(lease->shard());
    }
  }
  release_all();
  connect_all(shards, deadline, purpose);
}

std::vector<std::vector<std::uint32_t>> ServerLeases::by_server(const std::set<std::uint32_t>& shards) const {
  const std::vector<std::uint32_t> sorted(shards.begin(), shards.end());
  return sessions_.connector().by_server(sorted);
}

sql::Database ServerLeases::on(std::uint32_t shard) const {
  return leases_.at(server_of(shard)).value().on(shard);
}

}  // namespace looseleaf::server
