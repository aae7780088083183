// How many sessions of a server may be open, and who gets the next one.
#include "server/pool.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace looseleaf::server {
namespace {

using namespace std::chrono_literals;

std::vector<Place> fill(Pool& pool, Purpose purpose) {
  std::vector<Place> places;
  while (auto place = pool.enter(purpose, base::Deadline(0ms))) {
    places.push_back(*std::move(place));
  }
  return places;
}

TEST_CASE("the limit is divided among the purposes, and no purpose takes another one's part") {
  struct Parts {
    std::size_t limit, index_rows, others, pinned;
  };
  for (const Parts& parts : {Parts{4, 1, 1, 2}, {5, 1, 2, 2}, {8, 3, 3, 2}, {20, 7, 8, 5}}) {
    CAPTURE(parts.limit);
    Pool pool(parts.limit);
    const auto index_rows = fill(pool, Purpose::index_writes);
    CHECK(index_rows.size() == parts.index_rows);
    const auto others = fill(pool, Purpose::general);
    CHECK(others.size() == parts.others);
    CHECK(fill(pool, Purpose::fail_fast).empty());  // shares the part of `general`
    CHECK(fill(pool, Purpose::pinned).size() == parts.pinned);
    CHECK(pool.limit_of(Purpose::general) == parts.others);
  }
}

TEST_CASE("a place that is left may be entered again, and one that was moved is left once") {
  Pool pool(4);
  {
    const auto places = fill(pool, Purpose::general);
    REQUIRE(places.size() == 1);
  }
  auto place = pool.enter(Purpose::general, base::Deadline(0ms));
  REQUIRE(place);
  Place moved = *std::move(place);
  place.reset();
  CHECK_FALSE(pool.enter(Purpose::general, base::Deadline(0ms)));
  auto other = pool.enter(Purpose::index_writes, base::Deadline(0ms));
  moved = *std::move(other);  // leaves the first
  CHECK(pool.enter(Purpose::general, base::Deadline(0ms)));
  CHECK_FALSE(pool.enter(Purpose::index_writes, base::Deadline(0ms)));
}

TEST_CASE("a session from before the pool was emptied is not kept") {
  Pool pool(4);
  const std::uint64_t before = pool.generation();
  CHECK(pool.give_back(Purpose::general, {}, before));
  pool.empty();
  CHECK_FALSE(pool.give_back(Purpose::general, {}, before));
  CHECK_FALSE(pool.has_idle(Purpose::general));
}

TEST_CASE("who waits gets a place in the order of asking, unless the deadline passes before") {
  Pool pool(4);
  auto taken = pool.enter(Purpose::general, base::Deadline(0ms));
  std::vector<int> order;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  const auto ask = [&](int number, std::chrono::milliseconds time) {
    threads.emplace_back([&, number, time] {
      const auto place = pool.enter(Purpose::general, base::Deadline(time));
      const std::lock_guard lock(mutex);
      order.push_back(place ? number : -number);
    });
  };
  const auto wait_until_waiting = [&](std::size_t count) {
    while (pool.waiting(Purpose::general) != count) {
      std::this_thread::sleep_for(1ms);
    }
  };
  ask(1, 60s);
  wait_until_waiting(1);
  ask(2, 1ms);
  threads.back().join();
  ask(3, 60s);
  wait_until_waiting(2);
  ask(4, 60s);
  wait_until_waiting(3);
  taken.reset();
  threads.clear();
  CHECK(order == std::vector<int>{-2, 1, 3, 4});
}

}  // namespace
}  // namespace looseleaf::server
