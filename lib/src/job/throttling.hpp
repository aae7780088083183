// Throttles long jobs while the servers are busy or their replicas are late.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/jobs.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "shard/shards.hpp"

namespace looseleaf::job {

constexpr std::size_t smallest_chunk = 50, largest_chunk = 1000;  // entities
// Returns the number of entities to process at once after a chunk that took so long: a chunk should take about half a
// second, so that a job can stop soon, and slow servers answer in time.
[[nodiscard]] std::size_t next_chunk(std::size_t chunk, std::chrono::steady_clock::duration took);

// Thread-safe: all threads of one job share one object.
class Throttling {
 public:
  // Called about every 100 ms while a job waits, with the reason, which is empty if only max_rate causes the wait. It
  // may throw to stop the job.
  using WhileWaiting = std::function<void(const std::string& reason)>;

  // Throws Error(usage) if max_lag is set and the cluster file names no replica.
  static void check(const Cluster& cluster, const Throttle& limits);
  // Returns the limits for the part of a job that works on another store: replicas limit it only if that store's
  // cluster file names any.
  [[nodiscard]] static Throttle in_other_store(const Cluster& other, Throttle limits);
  // Throws what check() does.
  Throttling(shard::Shards& shards, const Throttle& limits);

  // Returns when the job may process `entities` more. A delay of up to half a second is compensated: the following
  // calls wait less until the job has reached the rate again.
  void wait(std::uint64_t entities, const WhileWaiting& while_waiting);

  // Returns true if the rate is limited.
  [[nodiscard]] bool paces() const { return limits_.max_rate != 0; }
  // Returns the number of entities to process at once, so that a limited rate leaves room for other work.
  [[nodiscard]] std::size_t limit_chunk(std::size_t chunk) const;
  // Hold the result while processing a chunk. With a limited rate only one thread at a time can hold it, which leaves
  // processors to other work.
  [[nodiscard]] std::unique_lock<std::mutex> turn();

 private:
  using Clock = std::chrono::steady_clock;

  // Returns the reason why the job must wait, or an empty string. Queries the servers at most once a second.
  std::string obstacle();
  std::string find_obstacle();
  std::string busy_server();
  std::string late_replica();
  std::string lateness(std::uint32_t shard, std::size_t n);

  shard::Shards& shards_;
  const Throttle limits_;
  std::mutex turn_;
  std::mutex mutex_;                       // guards everything below
  Clock::time_point next_ = Clock::now();  // when the rate allows the next entity
  Clock::time_point queried_;
  std::string found_;  // at `queried_`
  std::map<std::pair<std::uint32_t, std::size_t>, std::unique_ptr<sql::Connection>> replicas_;
};

}  // namespace looseleaf::job
