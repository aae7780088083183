// Limits that need no server: the rate and the file that pauses a job.
#include "job/throttling.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace looseleaf::job {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Whether one of three tries takes as long as it should: a busy machine may hold the others up.
bool once_in_three(const std::function<bool()>& try_it) {
  return try_it() || try_it() || try_it();
}

// Two shards that nothing connects to.
struct ThrottlingFixture {
  shard::Shards shards{Cluster::parse(R"({"shards": ["h1:1/a", "h2:2/b"], "user": "u", "ssl_mode": "disabled"})", "c"),
                       Options()};

  // How long a job waits before it may process the entities, and the reasons that it hears.
  Clock::duration wait(Throttling& throttling, std::uint64_t entities) {
    const auto begin = Clock::now();
    throttling.wait(entities, [this](const std::string& reason) { reasons.push_back(reason); });
    return Clock::now() - begin;
  }

  std::vector<std::string> reasons;
};

TEST_CASE_FIXTURE(ThrottlingFixture, "a job without limits never waits, and keeps its chunks") {
  Throttling throttling(shards, {});
  CHECK_FALSE(throttling.paces());
  CHECK(throttling.limit_chunk(1'000'000) == 1'000'000);
  CHECK(once_in_three([&] { return wait(throttling, 1'000'000) + wait(throttling, 1'000'000) < 100ms; }));
  CHECK(reasons.empty());
  const auto one = throttling.turn(), other = throttling.turn();
  CHECK_FALSE(one.owns_lock());
  CHECK_FALSE(other.owns_lock());
}

TEST_CASE_FIXTURE(ThrottlingFixture, "a job waits until its rate allows the next entities") {
  CHECK(once_in_three([&] {
    Throttling throttling(shards, {.max_rate = 1000});
    CHECK(throttling.paces());
    const auto begun = wait(throttling, 900);  // half a second of it counts as delay that the job may make up for
    const auto waited = wait(throttling, 1);
    return begun < 100ms && waited >= 300ms && waited < 2s;
  }));
  CHECK_FALSE(reasons.empty());
  for (const std::string& reason : reasons) {
    CHECK(reason.empty());
  }
}

TEST_CASE_FIXTURE(ThrottlingFixture,
                  "a limited rate is kept over half a second: what comes late is made good, but no more than that") {
  CHECK(once_in_three([&] {
    Throttling throttling(shards, {.max_rate = 1000});
    const auto wait_for = [&](std::uint64_t entities) {
      Clock::duration waited{};
      for (std::uint64_t i = 0; i < entities / 50; ++i) {
        waited += wait(throttling, 50);
      }
      return waited;
    };
    std::this_thread::sleep_for(2s);
    const auto made_good = wait_for(500), further = wait_for(1000);
    return made_good < 300ms && further > 900ms;
  }));
}

TEST_CASE_FIXTURE(ThrottlingFixture, "a low rate means small chunks, one at a time") {
  const std::pair<std::uint64_t, std::size_t> cases[] = {
      {1, 50}, {20'000, 50}, {40'000, 100}, {400'000, 1000}, {4'000'000, 1000}};
  for (const auto& [rate, chunk] : cases) {
    CAPTURE(rate);
    Throttling throttling(shards, {.max_rate = rate});
    CHECK(throttling.limit_chunk(100'000) == chunk);
    CHECK(throttling.limit_chunk(10) == 10);
    CHECK(throttling.turn().owns_lock());
  }
}

TEST_CASE_FIXTURE(ThrottlingFixture, "a job pauses while a file exists, and its caller can stop it") {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("looseleaf-pause-" + std::to_string(::getpid()))).string();
  std::ofstream(file).put('\n');
  Throttling throttling(shards, {.pause_file = file});
  CHECK_THROWS_AS(throttling.wait(1, [](const std::string&) { throw Error(ErrorCode::interrupted, "stop"); }), Error);
  throttling.wait(1, [&](const std::string& reason) {
    reasons.push_back(reason);
    std::filesystem::remove(file);
  });
  REQUIRE_FALSE(reasons.empty());
  CHECK(reasons.front() == "paused; delete " + file + " to continue");
  CHECK(once_in_three([&] { return wait(throttling, 1) < 100ms; }));
}

TEST_CASE_FIXTURE(ThrottlingFixture, "a limit of the lag needs replicas") {
  CHECK_THROWS_WITH_AS(Throttling(shards, {.max_lag = 1}), "`--max-lag` needs replicas in the cluster file", Error);
}

}  // namespace
}  // namespace looseleaf::job
