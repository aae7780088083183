// Tracks whether a server answers, so that the process waits for a dead server once and not in every batch.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "sql/errors.hpp"

namespace looseleaf::server {

// The known state of one server. A server is failing from its first failure until it answers, or until nobody has used
// it for minutes. After a server has been failing for a whole timeout, it is given up: from then on the process tries
// it once every few seconds, and every other use of it fails immediately. Thread-safe.
class Health {
 public:
  using Clock = std::chrono::steady_clock;

  // Records a failure of an attempt from `since` to `now`. `failure` is absent if it did not happen while connecting.
  void failed(Clock::time_point since, const std::optional<sql::ServerError>& failure = {},
              Clock::time_point now = Clock::now());
  // Records a failure of an attempt that was too short to prove anything. The time of such attempts is not one for
  // which the server was tried in vain.
  void failed_hastily(Clock::time_point since, const sql::ServerError& failure, Clock::time_point now = Clock::now());
  void answered();

  // Returns true if the server is failing and was tried in vain for at least this time. If nobody has tried it for a
  // while, that time is 0.
  [[nodiscard]] bool failing_for(std::chrono::milliseconds time) const;
  // Returns the rest of the time, `patience`, for which the process waits for the server. A server that was given up
  // gets a second, and later up to three, because one that is back may be slow.
  [[nodiscard]] std::chrono::milliseconds time_left(std::chrono::milliseconds patience) const;

  // Call this after a failed attempt. It records the attempt's time and returns true if the server is to be given up.
  [[nodiscard]] bool attempted(std::chrono::milliseconds timeout, Clock::time_point now = Clock::now());
  [[nodiscard]] bool is_given_up() const;
  // Gives the server up. Every use of it gets the error `why` until the server is tried again.
  void give_up(const sql::ServerError& why);
  // Returns the error passed to give_up(); absent if the server may be tried now.
  [[nodiscard]] std::optional<sql::ServerError> refusal() const;

  // Records that the server did not accept a connection. `failure` names no shard.
  void attempt_failed(const sql::ServerError& failure);
  // Returns the last failure that attempt_failed() recorded, if it was recorded within this time and the server has not
  // answered since.
  [[nodiscard]] std::optional<sql::ServerError> failure_within(std::chrono::milliseconds time) const;

  // Returns the last failure if it cost a while of waiting, as a server that hangs does, and was within this time.
  [[nodiscard]] std::optional<sql::ServerError> silence_within(std::chrono::milliseconds time) const;

  // Returns the last failure to connect; absent if the server answers.
  [[nodiscard]] std::optional<sql::ServerError> failure() const;
  // Returns the reason why the server fails if no call has returned it since the failures began. Later calls return
  // nothing.
  [[nodiscard]] std::optional<sql::ServerError> untold_failure();

 private:
  // Call these with the lock held.
  [[nodiscard]] bool is_failing() const;
  void note(Clock::time_point since, const std::optional<sql::ServerError>& failure, Clock::time_point now);
  // Returns true if nobody has tried the server in earnest for a while before `now`.
  [[nodiscard]] bool is_left_alone(Clock::time_point now) const;
  // Returns the time for which a failing server was tried in vain.
  [[nodiscard]] Clock::duration time_in_vain(Clock::time_point now) const;

  mutable std::mutex mutex_;  // guards the members below
  std::optional<Clock::time_point> failing_since_;
  Clock::time_point last_failed_;             // when the last attempt that failed ended
  Clock::time_point last_in_earnest_;         // likewise, without hasty ones
  Clock::duration last_took_ = {};            // how long it took
  std::optional<sql::ServerError> failure_;   // the last failure to connect
  std::optional<sql::ServerError> given_up_;  // the reason why the server was given up
  std::optional<sql::ServerError> failed_attempt_;
  Clock::time_point failed_attempt_at_;
  bool told_ = false;
  Clock::time_point tried_;
  std::chrono::milliseconds patience_when_given_up_ = {};
};

}  // namespace looseleaf::server
