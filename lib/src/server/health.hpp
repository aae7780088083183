// Whether a shard answers, so that a dead one is waited for once and not by every batch.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "sql/errors.hpp"

namespace looseleaf::server {

// What is known of one shard. A shard is failing from its first failure until it answers. A shard that has been failing
// for a whole timeout is given up: from then on it is tried once every few seconds, and every other use of it fails at
// once. Thread-safe.
class Health {
 public:
  using Clock = std::chrono::steady_clock;

  // `failure` is absent if it was not in connecting.
  void failed(Clock::time_point since, const std::optional<sql::ServerError>& failure = {});
  void answered();

  [[nodiscard]] bool failing_for(std::chrono::milliseconds time) const;
  // What is left of the `patience` that the shard is waited with.
  [[nodiscard]] std::chrono::milliseconds time_left(std::chrono::milliseconds patience) const;

  // After an attempt that failed: notes its time, and returns whether the shard is given up.
  [[nodiscard]] bool attempted(std::chrono::milliseconds timeout);
  // Gives the shard up, with the error that every use of it gets until it is tried again.
  void give_up(const sql::ServerError& why);
  // That error; absent if the shard may be tried now.
  [[nodiscard]] std::optional<sql::ServerError> refusal() const;

  // Why the shard fails, if nobody was told yet since it began to; from then on somebody was.
  [[nodiscard]] std::optional<sql::ServerError> untold_failure();

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Clock::time_point> failing_since_;
  std::optional<sql::ServerError> failure_;   // the last one in connecting
  std::optional<sql::ServerError> given_up_;  // why
  bool told_ = false;
  Clock::time_point tried_;
};

}  // namespace looseleaf::server
