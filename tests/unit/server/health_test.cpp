// Whether a server answers.
#include "server/health.hpp"

#include <doctest/doctest.h>

namespace looseleaf::server {
namespace {

using namespace std::chrono_literals;

sql::ServerError failure(const char* what) {
  return {sql::ErrorClass::connection_lost, 2002, ErrorCode::unavailable, what, {}, {}};
}

Health::Clock::time_point ago(std::chrono::milliseconds time) {
  return Health::Clock::now() - time;
}

TEST_CASE("a server is failing from its first failure until it answers") {
  Health health;
  CHECK_FALSE(health.failing_for(0ms));
  CHECK(health.time_left(30s) == 30s);
  health.failed(ago(10s), failure("first"));
  health.failed(ago(1s), failure("second"));
  CHECK(health.failing_for(9s));
  CHECK_FALSE(health.failing_for(11s));
  CHECK(health.time_left(30s) <= 20s);
  CHECK(health.time_left(30s) > 19s);
  CHECK(health.time_left(5s) == 0ms);
  health.answered();
  CHECK_FALSE(health.failing_for(0ms));
  CHECK(health.time_left(30s) == 30s);
}

TEST_CASE("a server that was given up is tried for longer each time, in case it is back and slow") {
  Health health;
  health.failed(ago(31s), failure("it is down"));
  REQUIRE(health.attempted(30s));
  health.give_up(failure("given up"));
  CHECK(health.time_left(30s) == 1s);
  CHECK(health.attempted(30s));  // by another thread, at the same time
  CHECK(health.time_left(30s) == 1s);
  for (const auto left : {2s, 3s, 3s}) {
    CHECK(health.attempted(30s, Health::Clock::now() + left * 10));
    CHECK(health.time_left(30s) == left);
  }
  CHECK(health.time_left(1s) == 1s);
}

TEST_CASE("a failure from long ago does not shorten the wait after the next one") {
  Health health;
  health.failed(ago(1h), failure("it restarted"), ago(1h));
  CHECK_FALSE(health.failing_for(0ms));
  CHECK_FALSE(health.failure());
  CHECK(health.time_left(30s) == 30s);
  health.failed(ago(1s), failure("it restarts again"));
  CHECK(health.failing_for(1s));
  CHECK_FALSE(health.attempted(30s));
  CHECK(health.time_left(30s) > 28s);
}

TEST_CASE("a time in which nobody tried a server does not count as one in which it was tried in vain") {
  Health health;
  health.failed(ago(40s), failure("it is down"), ago(39s));
  CHECK(health.failing_for(0s));  // as far as anybody knows
  CHECK_FALSE(health.failing_for(1s));
  CHECK(health.time_left(30s) == 30s);
  health.failed(ago(1s), failure("it is down again"));
  CHECK_FALSE(health.failing_for(5s));
  CHECK_FALSE(health.attempted(30s));
}

TEST_CASE("attempts that are too short to prove anything do not count as a time in which a server was tried in vain") {
  Health health;
  health.failed(ago(40s), failure("it is down"), ago(39s));
  for (const auto seconds : {35s, 29s, 23s, 17s, 11s, 5s}) {
    health.failed_hastily(ago(seconds), failure("it is slow"), ago(seconds - 1s));
  }
  CHECK(health.silence_within(5s)->what() == std::string("it is slow"));
  CHECK(health.time_left(30s) == 30s);
  health.failed(ago(1s), failure("it is slow"));
  CHECK_FALSE(health.attempted(30s));
  CHECK(health.time_left(30s) > 28s);
}

TEST_CASE("an attempt that takes long counts from its beginning") {
  Health health;
  health.failed(ago(40s), failure("it hangs"), ago(21s));
  health.failed(ago(20s), failure("it hangs"), ago(1s));
  CHECK(health.attempted(30s));
}

TEST_CASE("a server that failed for the whole timeout is given up, and refused at once until it answers") {
  Health health;
  health.failed(ago(10s), failure("it is down"));
  CHECK_FALSE(health.attempted(30s));
  CHECK_FALSE(health.refusal());
  CHECK(health.attempted(5s));
  health.give_up(failure("it is down for good"));
  REQUIRE(health.refusal());
  CHECK(std::string(health.refusal()->what()) == "it is down for good");
  CHECK(health.attempted(30s));  // given up already: one attempt is enough
  health.answered();
  CHECK_FALSE(health.refusal());
  CHECK_FALSE(health.attempted(5s));
}

TEST_CASE("after a failed attempt, whoever made it, a server that was given up is refused again") {
  Health health;
  health.failed(ago(10s), failure("it is down"));
  health.give_up(failure("it is down for good"));
  CHECK_FALSE(health.refusal());
  health.attempt_failed(failure("it is down"));
  CHECK(health.refusal());
}

TEST_CASE("a failure is told once for each time that the shard fails, and not once it is given up") {
  Health health;
  health.failed(ago(1s));
  CHECK_FALSE(health.untold_failure());  // nothing is known of a connection that broke
  health.failed(ago(1s), failure("it is down"));
  REQUIRE(health.untold_failure());
  CHECK_FALSE(health.untold_failure());
  health.answered();
  health.failed(ago(1s), failure("again"));
  const auto told = health.untold_failure();
  REQUIRE(told);
  CHECK(std::string(told->what()) == "again");
  health.answered();
  health.failed(ago(1s), failure("once more"));
  health.give_up(failure("for good"));
  CHECK_FALSE(health.untold_failure());
}

TEST_CASE("a server that was waited for in vain is told from one that refuses at once") {
  Health health;
  health.failed(ago(10ms), failure("it refuses"));
  CHECK_FALSE(health.silence_within(1h));
  health.failed(ago(1s), failure("it hangs"));
  CHECK(health.silence_within(1h)->what() == std::string("it hangs"));
  CHECK_FALSE(health.silence_within(0ms));
  health.answered();
  CHECK_FALSE(health.silence_within(1h));
}

TEST_CASE("a failed attempt is remembered for a while, unless the server answers") {
  Health health;
  CHECK_FALSE(health.failure_within(1h));
  health.attempt_failed(failure("it is down"));
  CHECK(health.failure_within(1h)->what() == std::string("it is down"));
  CHECK_FALSE(health.failure_within(0ms));
  health.answered();
  CHECK_FALSE(health.failure_within(1h));
}

}  // namespace
}  // namespace looseleaf::server
