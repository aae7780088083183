// The sessions of one server.
#include "server/pool.hpp"

#include <algorithm>
#include <chrono>

namespace looseleaf::server {
namespace {

constexpr std::size_t pinned_for_a_job = 2;  // a lock, and the crash detector of a backfill

// This is well below the session's wait_timeout of 30 s, so the server has not closed the connection.
constexpr auto max_idle_time = std::chrono::seconds(20);

}  // namespace

Place& Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    leave();
    pool_ = std::exchange(other.pool_, nullptr);
    purpose_ = other.purpose_;
  }
  return *this;
}

void Place::leave() noexcept {
  if (pool_ != nullptr) {
    std::exchange(pool_, nullptr)->leave(purpose_);
  }
}

Pool::Pool(std::size_t limit) {
  const std::size_t pinned = std::max(pinned_for_a_job, limit / 4);
  const std::size_t rest = limit - pinned;
  shares_.at(static_cast<std::size_t>(Part::index_rows)).limit = rest / 2;
  shares_.at(static_cast<std::size_t>(Part::others)).limit = rest - rest / 2;
  shares_.at(static_cast<std::size_t>(Part::pinned)).limit = pinned;
}

Pool::Part Pool::part_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::index_writes:
      return Part::index_rows;
    case Purpose::pinned:
      return Part::pinned;
    case Purpose::general:
    case Purpose::fail_fast:
      break;
  }
  return Part::others;
}

std::optional<Place> Pool::enter(Purpose purpose, const base::Deadline& deadline) {
  std::unique_lock lock(mutex_);
  Share& share = share_of(purpose);
  const std::uint64_t ticket = tickets_++;
  share.waiting.push_back(ticket);
  const bool entered = left_.wait_for(lock, deadline.left(),
                                      [&] { return share.used < share.limit && share.waiting.front() == ticket; });
  std::erase(share.waiting, ticket);
  left_.notify_all();  // the next one in the queue may enter too, or is the first now
  if (!entered) {
    return std::nullopt;
  }
  ++share.used;
  return std::optional<Place>(std::in_place, *this, purpose);
}

void Pool::leave(Purpose purpose) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --share_of(purpose).used;
  }
  left_.notify_all();
}

std::size_t Pool::waiting(Purpose purpose) const {
  const std::lock_guard lock(mutex_);
  return share_of(purpose).waiting.size();
}

std::uint64_t Pool::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

bool Pool::has_idle(Purpose purpose) const {
  const std::lock_guard lock(mutex_);
  return !idle_.at(static_cast<std::size_t>(purpose)).empty();
}

Session Pool::pop(Purpose purpose) {
  auto& idle = idle_.at(static_cast<std::size_t>(purpose));
  if (idle.empty()) {
    return {};
  }
  Session session = std::move(idle.back());
  idle.pop_back();
  --share_of(purpose).idle;
  return session;
}

std::vector<Session> Pool::take_surplus(Purpose purpose) {
  std::vector<Session> surplus;
  const Share& share = share_of(purpose);
  for (std::size_t i = 0; i < purposes; ++i) {
    const auto sibling = static_cast<Purpose>(i);
    while (part_of(sibling) == part_of(purpose) && share.used + share.idle > share.limit && !idle_.at(i).empty()) {
      surplus.push_back(pop(sibling));
    }
  }
  return surplus;
}

Session Pool::take(const Place& place) {
  std::vector<Session> closed, surplus;  // outlive the lock, so that no thread waits while connections are closed
  const std::lock_guard lock(mutex_);
  for (Session session = pop(place.purpose()); session.connection; session = pop(place.purpose())) {
    if (session.connection->idle_for() < max_idle_time) {
      return session;
    }
    closed.push_back(std::move(session));
  }
  surplus = take_surplus(place.purpose());
  return {};
}

void Pool::make_room(const Place& place) {
  std::vector<Session> surplus;  // outlives the lock, as above
  const std::lock_guard lock(mutex_);
  surplus = take_surplus(place.purpose());
}

bool Pool::give_back(Purpose purpose, Session session, std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) {
    return false;
  }
  idle_.at(static_cast<std::size_t>(purpose)).push_back(std::move(session));
  ++share_of(purpose).idle;
  return true;
}

void Pool::empty() {
  decltype(idle_) closed;  // outlives the lock, so that no thread waits while connections are closed
  const std::lock_guard lock(mutex_);
  std::swap(closed, idle_);
  for (Share& share : shares_) {
    share.idle = 0;
  }
  ++generation_;
}

}  // namespace looseleaf::server
