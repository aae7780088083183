// The idle sessions of one server.
#include "server/pool.hpp"

#include <chrono>
#include <utility>

namespace looseleaf::server {
namespace {

constexpr std::size_t max_idle = 8;  // connections for each purpose

// This is well below the session's wait_timeout of 30 s, so the server has not closed the connection.
constexpr auto max_idle_time = std::chrono::seconds(20);

}  // namespace

std::uint64_t Pool::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

Session Pool::take(Purpose purpose) {
  const std::lock_guard lock(mutex_);
  auto& idle = idle_.at(static_cast<std::size_t>(purpose));
  while (!idle.empty()) {
    Session session = std::move(idle.back());
    idle.pop_back();
    if (session.connection->idle_for() < max_idle_time) {
      return session;
    }
  }
  return {};
}

void Pool::give_back(Purpose purpose, Session session, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  auto& idle = idle_.at(static_cast<std::size_t>(purpose));
  if (idle.size() < max_idle && generation == generation_) {
    idle.push_back(std::move(session));
  }
}

void Pool::empty() {
  decltype(idle_) closed;  // outlives the lock, so that no thread waits while connections are closed
  const std::lock_guard lock(mutex_);
  std::swap(closed, idle_);
  ++generation_;
}

}  // namespace looseleaf::server
