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
  // Sleeps, but not beyond the deadline.
  void wait(const base::Deadline& deadline);

 private:
  std::chrono::milliseconds bound_ = std::chrono::milliseconds(5);
};

// Runs `transaction` until it returns; replays it after a retryable() error. Rethrows other errors at once, and the
// last one, as Error(unavailable), when the deadline has passed. Not for transactions whose COMMIT may be in doubt and
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
