// Tasks at once, on threads that are kept.
#include "base/parallel.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/pool.hpp"

using namespace looseleaf::base;

namespace {

using Tasks = std::vector<std::function<void()>>;

// So many tasks, each of which ends only when all have begun.
void meet(
    std::ptrdiff_t count, const std::function<void()>& then = [] {}) {
  std::barrier all(count);
  run_all(Tasks(static_cast<std::size_t>(count), [&] {
    all.arrive_and_wait();
    then();
  }));
}

}  // namespace

TEST_CASE("no task is no work") {
  CHECK_NOTHROW(run_all({}));
}

TEST_CASE("tasks may wait for each other, and the first runs on the calling thread") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  meet(5, [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(threads.size() == 5);
  std::thread::id first;
  run_all({[&] { first = std::this_thread::get_id(); }, [] {}});
  CHECK(first == std::this_thread::get_id());
}

TEST_CASE("a thread is used again") {
  std::mutex mutex;
  std::set<pid_t> threads;
  for (int i = 0; i < 100; ++i) {
    meet(3, [&] {
      const std::lock_guard lock(mutex);
      threads.insert(::gettid());
    });
  }
  CHECK(threads.size() <= 5);  // those of the test above too
}

TEST_CASE("tasks may have tasks of their own, and several threads call at once") {
  std::atomic<int> runs = 0;
  meet(4, [&] { meet(4, [&] { meet(3, [&] { ++runs; }); }); });
  CHECK(runs == 48);
}

TEST_CASE("all tasks end before the first exception, in their order, is thrown") {
  std::atomic<int> ended = 0;
  const auto fail = [&](const char* what) {
    return [&ended, what] {
      ++ended;
      throw std::runtime_error(what);
    };
  };
  CHECK_THROWS_WITH(run_all({[&] { ++ended; }, fail("second"), fail("third"), [&] { ++ended; }}), "second");
  CHECK(ended == 4);
  CHECK_THROWS_WITH(run_all({fail("first"), fail("second")}), "first");
  CHECK_THROWS_WITH(run_all({fail("only")}), "only");
}

#ifndef __SANITIZE_THREAD__  // which starts no thread after a fork
TEST_CASE("a forked child has threads of its own") {
  meet(3);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // instead of waiting for ever for its parent's threads
    meet(3);
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

std::atomic<bool> making = false, may_be_made = false;

struct SlowlyMade {
  SlowlyMade() {
    making = true;
    while (!may_be_made) {
      std::this_thread::yield();
    }
  }
};

TEST_CASE("a forked child has shared pools of its own, whatever its parent's other threads were doing") {
  std::jthread other([] { const Pool<SlowlyMade>::Loan loan(shared_pool<SlowlyMade>()); });
  while (!making) {
    std::this_thread::yield();
  }
  const pid_t child = ::fork();  // the other thread has the pool's lock
  may_be_made = true;
  if (child == 0) {
    ::alarm(30);
    const Pool<SlowlyMade>::Loan loan(shared_pool<SlowlyMade>());
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif
