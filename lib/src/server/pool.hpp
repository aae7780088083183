// The sessions of one server: the idle ones, and how many more may be opened.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "server/connector.hpp"
#include "sql/connection.hpp"

namespace looseleaf::server {

// A connection, and the shards of its server whose identity was checked on it.
struct Session {
  std::unique_ptr<sql::Connection> connection;
  std::set<std::uint32_t> checked = {};
};

class Pool;

// The right to have one session on a server. The destructor gives it back, so close the session before or return it to
// the pool.
class Place {
 public:
  Place(Pool& pool, Purpose purpose) : pool_(&pool), purpose_(purpose) {}
  Place(Place&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), purpose_(other.purpose_) {}
  Place& operator=(Place&& other) noexcept;
  ~Place() { leave(); }

  [[nodiscard]] Purpose purpose() const { return purpose_; }

 private:
  void leave() noexcept;

  Pool* pool_;
  Purpose purpose_;
};

// Thread-safe. The limit is divided: a quarter, but at least two, is for the purpose pinned; half of the rest is for
// index rows, and half for everything else. An operation that needs several sessions takes those for index rows first,
// and those of several servers in ascending order. Therefore operations that wait for each other's sessions never form
// a cycle.
class Pool {
 public:
  // `limit` is at least min_connections.
  explicit Pool(std::size_t limit);

  // Waits until another session may be used, in the order of the calls. Returns nothing if the deadline passes before.
  [[nodiscard]] std::optional<Place> enter(Purpose purpose, const base::Deadline& deadline);

  // Returns a number that changes whenever the pool is emptied.
  [[nodiscard]] std::uint64_t generation() const;

  [[nodiscard]] bool has_idle(Purpose purpose) const;
  // Returns the session that was returned last. Its connection is null if the pool has none that the server still keeps
  // open. The caller may then open one for the place.
  [[nodiscard]] Session take(const Place& place);
  // Closes idle sessions, so that one can be opened for the place without exceeding the limit. take() does it too.
  void make_room(const Place& place);
  // Keeps a session that was taken or opened in this `generation`. Closes one of an earlier generation, and returns
  // false.
  bool give_back(Purpose purpose, Session session, std::uint64_t generation);

  // Closes the idle connections, and refuses the return of connections on loan. After one connection broke, the others
  // are likely dead too, or lead to the server from before a failover.
  void empty();

  // Returns how many threads wait for a session for this purpose, or for those that share its part of the limit.
  [[nodiscard]] std::size_t waiting(Purpose purpose) const;

  // Returns the number of sessions for this purpose, and those that share its part of the limit.
  [[nodiscard]] std::size_t limit_of(Purpose purpose) const { return share_of(purpose).limit; }

 private:
  friend class Place;

  // A part of the limit.
  struct Share {
    std::size_t limit = 0;
    std::size_t used = 0;               // places
    std::size_t idle = 0;               // sessions in the pool; used + idle <= limit
    std::deque<std::uint64_t> waiting;  // tickets
  };
  enum class Part : std::uint8_t { index_rows, others, pinned };

  [[nodiscard]] static Part part_of(Purpose purpose);
  [[nodiscard]] Share& share_of(Purpose purpose) { return shares_.at(static_cast<std::size_t>(part_of(purpose))); }
  [[nodiscard]] const Share& share_of(Purpose purpose) const {
    return shares_.at(static_cast<std::size_t>(part_of(purpose)));
  }
  void leave(Purpose purpose) noexcept;
  // Call these two with the lock held. The first removes the session that was returned last from the pool, and the
  // second the idle sessions that are too many.
  [[nodiscard]] Session pop(Purpose purpose);
  [[nodiscard]] std::vector<Session> take_surplus(Purpose purpose);

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable left_;
  std::array<Share, 3> shares_;                      // by part
  std::array<std::vector<Session>, purposes> idle_;  // by purpose
  std::uint64_t generation_ = 0, tickets_ = 0;
};

}  // namespace looseleaf::server
