// Backoff with full jitter.
#include "sql/retry.hpp"

#include <algorithm>
#include <random>
#include <thread>

namespace looseleaf::sql {
namespace {

constexpr auto longest_bound = std::chrono::milliseconds(1000);

std::chrono::microseconds random_up_to(std::chrono::microseconds bound) {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::chrono::microseconds(std::uniform_int_distribution<std::int64_t>(0, bound.count())(generator));
}

}  // namespace

void Backoff::wait(const base::Deadline& deadline) {
  const std::chrono::microseconds left = deadline.left();
  std::this_thread::sleep_for(std::min(random_up_to(bound_), left));
  bound_ = std::min(2 * bound_, longest_bound);
}

}  // namespace looseleaf::sql
