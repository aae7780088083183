// Divides the shards among the processes that run a trigger: claims this process's shards, and gives others back.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <looseleaf/error.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "shard/shards.hpp"
#include "trigger/holdings.hpp"
#include "trigger/leases.hpp"

namespace looseleaf::trigger {

// The deadline of a statement without which a trigger can go on: a server that does not answer delays the others, and
// the end of the process, by no more than that.
[[nodiscard]] base::Deadline deadline_of_look();

// Every process looks every two seconds, on each server by a thread of its own, which processes are alive. Shard k
// belongs to number k modulo n of these n, in the order of their tokens, so that all see the same division without
// asking each other. A shard that moves is given back first, or its process is dead.
class Division {
 public:
  struct Events {
    std::function<void()> changed;  // the shards of this process have changed
    // The trigger's row of a shard was read, or, with a failure, it was not, and this process does not hold the shard.
    // A failure of a whole server is told of its first shard.
    std::function<void(std::uint32_t shard, const Error* failure)> looked;
  };

  // Looks for the first time, and starts the threads. Throws if no server answers, or if check() would throw.
  Division(shard::Shards& shards, Holdings& holdings, std::string trigger, Events events);
  // Ends the threads, and gives all shards back where the servers answer.
  ~Division();
  Division(const Division&) = delete;
  Division& operator=(const Division&) = delete;

  // Returns true once the division has failed for good: the trigger was dropped, or a shard is an older copy.
  [[nodiscard]] bool failed() const { return failed_; }
  // Rethrows that failure.
  void check();

 private:
  // What a shard's row says.
  struct Seen {
    std::uint64_t token = 0;
    Known known;
  };
  struct View {
    Processes alive;
    std::optional<std::chrono::steady_clock::time_point> renewed;  // when this process's lease was
    std::map<std::uint32_t, Seen> rows;                            // by shard
    std::map<std::uint32_t, Error> failures;                       // by shard, whose row is not known
  };

  void keep(const std::stop_token& stop, const std::vector<std::uint32_t>& here);
  // Returns true if the server answered. Leaves out the rest of the shards once it is to stop.
  bool look(const std::vector<std::uint32_t>& here, const std::stop_token& stop) noexcept;
  [[nodiscard]] View read(std::span<const std::uint32_t> here);
  // Renews the lease, and sees which processes are alive, unless that was less than two seconds ago.
  void renew(std::uint32_t first, View& view);
  void read_rows(std::span<const std::uint32_t> group, View& view);
  // Keeps a failure that may be this shard's alone.
  static void survive(std::uint32_t shard, View& view, const std::function<void()>& work);
  void decide(std::uint32_t shard, const View& view, const Known& before);
  void claim(std::uint32_t shard, std::uint64_t from);
  void adopt(std::uint32_t shard, const sql::Database& database);
  void give_back(std::uint32_t shard);
  void tell(std::span<const std::uint32_t> shards, const Error* failure);
  void keep_failure() noexcept;
  void fail() noexcept;
  void release(const std::vector<std::uint32_t>& here) noexcept;

  shard::Shards& shards_;
  Holdings& holdings_;
  const std::string trigger_;
  const Events events_;
  const std::uint64_t token_;
  const std::vector<std::vector<std::uint32_t>> servers_;
  bool started_ = false;  // the first look is over, and the threads are started after it
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any wake_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace looseleaf::trigger
