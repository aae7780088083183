// Tracks whether a server answers, so that the process waits for a dead server once and not in every batch.
#include "server/health.hpp"

#include <algorithm>

namespace looseleaf::server {
namespace {

constexpr auto retry_dead_after = std::chrono::seconds(5);
constexpr std::chrono::milliseconds first_retry(1000), longest_retry(3000);

// A failure says for so long that the server may still fail.
constexpr auto longest_gap = std::chrono::minutes(2);

// A server that refuses a connection does so sooner.
constexpr auto a_while = std::chrono::milliseconds(500);

// While somebody waits for a server, it is tried again within a second or so. If it was not tried for longer, nobody
// waited, and that time does not count as a time for which it was tried in vain.
constexpr auto longest_pause = std::chrono::seconds(10);

}  // namespace

void Health::failed(Clock::time_point since, const std::optional<sql::ServerError>& failure, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  note(since, failure, now);
  last_in_earnest_ = std::max(last_in_earnest_, now);
}

void Health::failed_hastily(Clock::time_point since, const sql::ServerError& failure, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  note(since, failure, now);
}

void Health::note(Clock::time_point since, const std::optional<sql::ServerError>& failure, Clock::time_point now) {
  if (!failing_since_ || is_left_alone(since)) {
    failing_since_ = since;
    failure_.reset();
    told_ = false;
  }
  last_failed_ = std::max(last_failed_, now);
  last_took_ = now - since;
  failure_ = failure ? failure : failure_;
}

void Health::answered() {
  const std::lock_guard lock(mutex_);
  failing_since_.reset();
  failure_.reset();
  given_up_.reset();
  failed_attempt_.reset();
  told_ = false;
}

bool Health::is_failing() const {
  return failing_since_ && (given_up_ || Clock::now() - last_failed_ <= longest_gap);
}

bool Health::is_left_alone(Clock::time_point now) const {
  return !given_up_ && now - last_in_earnest_ > longest_pause;
}

Health::Clock::duration Health::time_in_vain(Clock::time_point now) const {
  return is_failing() && !is_left_alone(now) ? now - *failing_since_ : Clock::duration();
}

bool Health::failing_for(std::chrono::milliseconds time) const {
  const std::lock_guard lock(mutex_);
  return is_failing() && time_in_vain(Clock::now()) >= time;
}

std::chrono::milliseconds Health::time_left(std::chrono::milliseconds patience) const {
  const std::lock_guard lock(mutex_);
  if (given_up_) {
    return std::min(patience, patience_when_given_up_);
  }
  const auto left = patience - std::chrono::floor<std::chrono::milliseconds>(time_in_vain(Clock::now()));
  return std::max(left, std::chrono::milliseconds(0));
}

bool Health::attempted(std::chrono::milliseconds timeout, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!given_up_) {
    patience_when_given_up_ = first_retry;
  } else if (now - tried_ >= retry_dead_after) {  // not once for each thread that tries at the same time
    patience_when_given_up_ = std::min(patience_when_given_up_ + first_retry, longest_retry);
  }
  tried_ = now;
  return given_up_ || (is_failing() && time_in_vain(now) >= timeout);
}

bool Health::is_given_up() const {
  const std::lock_guard lock(mutex_);
  return given_up_.has_value();
}

void Health::give_up(const sql::ServerError& why) {
  const std::lock_guard lock(mutex_);
  given_up_ = why;
}

std::optional<sql::ServerError> Health::refusal() const {
  const std::lock_guard lock(mutex_);
  return given_up_ && Clock::now() - tried_ < retry_dead_after ? given_up_ : std::nullopt;
}

void Health::attempt_failed(const sql::ServerError& failure) {
  const std::lock_guard lock(mutex_);
  failed_attempt_ = failure;
  failed_attempt_at_ = tried_ = Clock::now();
}

std::optional<sql::ServerError> Health::failure_within(std::chrono::milliseconds time) const {
  const std::lock_guard lock(mutex_);
  return failed_attempt_ && Clock::now() - failed_attempt_at_ < time ? failed_attempt_ : std::nullopt;
}

std::optional<sql::ServerError> Health::silence_within(std::chrono::milliseconds time) const {
  const std::lock_guard lock(mutex_);
  return is_failing() && last_took_ >= a_while && Clock::now() - last_failed_ < time ? failure_ : std::nullopt;
}

std::optional<sql::ServerError> Health::failure() const {
  const std::lock_guard lock(mutex_);
  return is_failing() ? failure_ : std::nullopt;
}

std::optional<sql::ServerError> Health::untold_failure() {
  const std::lock_guard lock(mutex_);
  if (told_ || given_up_ || !failure_ || !is_failing()) {
    return std::nullopt;
  }
  told_ = true;
  return failure_;
}

}  // namespace looseleaf::server
