// Replays whole transactions after transient errors, with backoff and full jitter, until a deadline.
#pragma once

#include <chrono>

#include "base/deadline.hpp"
#include "sql/errors.hpp"

namespace looseleaf::sql {

// Waits before the next try: a random time up to a bound that doubles from 5 ms to 1 s
// (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/).
class Backoff {
 public:
  // Sleeps, but at most until the deadline.
  void wait(const base::Deadline& deadline);

 private:
  std::chrono::milliseconds bound_ = std::chrono::milliseconds(5);
};

// Runs `transaction` and repeats it after a retryable() error. Throws other errors at once. When the deadline has
// passed, throws the last error as Error(unavailable). Do not use it if the outcome of a COMMIT may be unknown and
// matters: see write/put.cpp.
template <typename Function>
auto with_retries(const base::Deadline& deadline, Function&& transaction) -> decltype(transaction()) {
  Backoff backoff;
  while (true) {
    try {
      return transaction();
    } catch (const ServerError& error) {
      if (!error.retryable() || deadline.passed())
        throw;
    }
    backoff.wait(deadline);
  }
}

}  // namespace looseleaf::sql
