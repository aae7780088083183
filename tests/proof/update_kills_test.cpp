// Processes that all update one counter, while some of them are killed and the lock that queues them is taken away: the
// counter has every update that was acknowledged, and none that was never begun.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/sql_client.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t processes = 20;  // at once
constexpr int killed_status = 128 + SIGKILL;

// A shell script that adds 1 to `n`, the last member of the entity. It takes long enough for others to come between.
const std::string add_1 = R"(read -r line; n=${line##*:}; n=${n%\}}; sleep 0.02; echo "${line%:*}:$((n + 1))}")";

// Where an update is killed, unless it is killed after a random time.
const std::vector<std::string> places = {"put.fence:after",   "put.check_condition:before", "put.write_entities:after",
                                         "put.commit:before", "put.commit:after",           ""};

struct Tally {
  std::uint64_t acknowledged = 0, killed = 0, unknown = 0;  // killed: before they said anything
};

class CountingStore {
 public:
  CountingStore() { put_all(cluster_, entity(1, R"("n":0)")); }

  // Each process updates `times` times. `failpoint` is set in all that are not killed.
  void run(std::uint64_t times, bool with_kills, const std::string& failpoint) {
    std::atomic<bool> done = false;
    std::jthread thief([&] { take_locks_away(done); });
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t process = 0; process < processes; ++process) {
        threads.emplace_back([this, times, with_kills, failpoint, random = std::mt19937_64(seed_ + process)]() mutable {
          for (std::uint64_t i = 0; i < times; ++i) {
            const bool kill = with_kills && random() % 5 == 0;
            take(kill ? be_killed(random) : updating(failpoint).wait());
          }
        });
      }
    }
    done = true;
    for (const std::string& problem : problems_) {
      FAIL_CHECK(problem);
    }
  }

  [[nodiscard]] std::uint64_t value() const {
    const std::string text = cluster_.looseleaf({"get", id_of(1)}).out;
    return std::stoull(text.substr(text.rfind(':') + 1));
  }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] std::uint64_t locks_taken() const { return locks_taken_; }

 private:
  [[nodiscard]] cli::Process updating(const std::string& failpoint) const {
    return cluster_.start({"update", "--timeout", "120", id_of(1), "--", "sh", "-c", add_1}, {}, failpoint);
  }

  cli::ProcessResult be_killed(std::mt19937_64& random) const {
    const std::string& place = base::failpoints_enabled ? places[random() % places.size()] : places.back();
    if (!place.empty()) {
      return updating(place + "=kill").wait();
    }
    cli::Process process = updating({});
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    process.signal(SIGKILL);
    return process.wait();
  }

  void take(const cli::ProcessResult& result) {
    const std::lock_guard lock(mutex_);
    if (result.out == id_of(1) + "\n") {
      ++tally_.acknowledged;
    } else if (result.status == killed_status) {
      ++tally_.killed;
    } else if (result.status == 3 && contains(result.err, "outcome of the commit is unknown")) {
      ++tally_.unknown;
    } else {
      problems_.push_back(fmt::format("status {}: {}", result.status, result.err));
    }
  }

  // Ends the session of whoever holds the named lock, so that several updates meet.
  void take_locks_away(const std::atomic<bool>& done) {
    const std::string holder = fmt::format("SELECT IFNULL(IS_USED_LOCK('looseleaf.update.{}'), 0)", id_of(1));
    while (!done) {
      std::this_thread::sleep_for(50ms);
      try {
        if (const auto id = std::stoull(run_sql(cluster_.socket(1), {}, holder)); id != 0) {
          static_cast<void>(run_sql(cluster_.socket(1), {}, fmt::format("KILL {}", id)));
          ++locks_taken_;
        }
      } catch (const std::runtime_error&) {  // the session has ended by itself
      }
    }
  }

  const TestCluster cluster_ = initialised();
  const std::uint64_t seed_ = print_run_seed();
  std::mutex mutex_;
  Tally tally_;
  std::vector<std::string> problems_;
  std::atomic<std::uint64_t> locks_taken_ = 0;
};

TEST_CASE("no acknowledged update is lost, and none is done twice, although updates are killed and lose their lock") {
  const std::uint64_t times = wanted_rounds(25, 500);
  CountingStore counter;
  counter.run(times, true, {});
  const Tally& tally = counter.tally();
  CHECK(tally.acknowledged + tally.killed + tally.unknown == processes * times);
  CHECK(counter.value() >= tally.acknowledged);
  CHECK(counter.value() <= tally.acknowledged + tally.killed + tally.unknown);
  CHECK(tally.killed > processes * times / 20);
  CHECK(counter.locks_taken() > 0);
  log_proof("update-kills", {{"processes", std::to_string(processes)},
                             {"updates of each", std::to_string(times)},
                             {"acknowledged", std::to_string(tally.acknowledged)},
                             {"killed before they acknowledged", std::to_string(tally.killed)},
                             {"unknown outcomes", std::to_string(tally.unknown)},
                             {"the counter in the end", std::to_string(counter.value())},
                             {"locks taken away", std::to_string(counter.locks_taken())}});
}

TEST_CASE("the counter shows lost updates if the condition on the stamp is left out" * needs_failpoints) {
  CountingStore counter;
  counter.run(5, false, "put.check_condition=skip");
  CHECK(counter.value() < counter.tally().acknowledged);
}

}  // namespace
}  // namespace looseleaf::test
