// One session on each of several servers.
#include "server/server_leases.hpp"

namespace looseleaf::server {

ServerLeases::ServerLeases(Sessions& sessions) : sessions_(sessions), leases_(sessions.connector().servers()) {}

void ServerLeases::connect(std::uint32_t shard, const base::Deadline& deadline, Purpose purpose) {
  auto& lease = leases_.at(server_of(shard));
  if (!lease) {
    lease.emplace(sessions_.connect(shard, deadline, purpose));
  }
  static_cast<void>(lease->on(shard));
}

void ServerLeases::connect_once(std::uint32_t shard, Purpose purpose) {
  auto& lease = leases_.at(server_of(shard));
  if (!lease) {
    lease.emplace(sessions_.connect_once(shard, purpose));
  }
  static_cast<void>(lease->on(shard));
}

void ServerLeases::replace_broken(const base::Deadline& deadline, Purpose purpose) {
  for (auto& lease : leases_) {
    if (lease && (*lease)->broken()) {
      const std::uint32_t shard = lease->shard();
      lease.reset();
      lease.emplace(sessions_.connect(shard, deadline, purpose));
    }
  }
}

sql::Database ServerLeases::on(std::uint32_t shard) const {
  return leases_.at(server_of(shard)).value().on(shard);
}

}  // namespace looseleaf::server
