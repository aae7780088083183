// Holding long jobs back while servers or their replicas have enough to do.
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

// For all threads of one job.
class Throttling {
 public:
  // Called every 100 ms or so while a job waits, with the reason, which is empty if only max_rate is in the way. Throws
  // to stop the job.
  using WhileWaiting = std::function<void(const std::string& reason)>;

  // Throws Error(usage) if max_lag is asked for and the cluster file names no replica.
  Throttling(shard::Shards& shards, const Throttle& limits);

  // Returns when `entities` more may be dealt with. What came late by half a second or less is made good: what comes
  // after it need not wait until the rate is reached again.
  void wait(std::uint64_t entities, const WhileWaiting& while_waiting);

  // Is there a limit of the rate?
  [[nodiscard]] bool paces() const { return limits_.max_rate != 0; }
  // How many entities to deal with at once, so that a limited rate leaves others room.
  [[nodiscard]] std::size_t limit_chunk(std::size_t chunk) const;
  // To be held while a chunk is dealt with: with a limit of the rate one thread at a time does, so that what else goes
  // on finds a processor.
  [[nodiscard]] std::unique_lock<std::mutex> turn();

 private:
  using Clock = std::chrono::steady_clock;

  // Why nothing may be done now; empty if nothing is in the way. Asks servers once a second at most.
  std::string obstacle();
  std::string look();
  std::string busy_server();
  std::string late_replica();
  std::string lateness(std::uint32_t shard, std::size_t n);

  shard::Shards& shards_;
  const Throttle limits_;
  std::mutex turn_;
  std::mutex mutex_;                       // guards everything below
  Clock::time_point next_ = Clock::now();  // when the rate allows the next entity
  Clock::time_point looked_;
  std::string found_;  // by the last look
  std::map<std::pair<std::uint32_t, std::size_t>, std::unique_ptr<sql::Connection>> replicas_;
};

}  // namespace looseleaf::job
