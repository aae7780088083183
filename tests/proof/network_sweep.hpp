// One command, run once for each packet at which its network fails.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/proof/network_world.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {

// One run of a command, on entities that no other run touches.
struct Trial {
  std::vector<std::string> arguments;
  std::string input;
  std::vector<std::string> ids;           // whose index rows must be there, whatever happens
  std::function<void()> prepare = [] {};  // past the proxies
  // What is wrong after a run that ended so; empty if nothing is.
  std::function<std::string(const cli::ProcessResult&, Truth&)> judge;
  // The same of the command's repetition after a run that failed; if there is none it must succeed, and `judge`
  // decides.
  std::function<std::string(const cli::ProcessResult&, Truth&)> judge_repetition = {};
};

// Where a fault strikes.
struct Boundary {
  std::uint32_t server;
  Direction direction;
  std::uint64_t packet;

  [[nodiscard]] std::string text() const {
    return fmt::format("packet {} {} {}", packet, direction == Direction::to_server ? "to" : "from", server);
  }
};

struct Sweep {
  std::string name;
  std::vector<Verdict::Kind> kinds;           // taken in turns; in a full run each at every boundary
  bool recovers = true;                       // the network fails once, so the command must succeed
  std::string timeout = "10";                 // --timeout
  std::chrono::milliseconds longest{12'000};  // the longest call: --timeout, and 2 s for a machine that is busy
  std::size_t most = 0;                       // boundaries in a short run, evenly spread; 0: all
  std::size_t most_full = 0;                  // the same in a full run
  unsigned workers = 1;
};

// A store, and what makes a trial on it. Rounds have different numbers.
struct Stage {
  StoreFixture& store;
  std::function<Trial(std::uint64_t round)> make_trial;
};

class Sweeper {
 public:
  // The workers share the stages.
  Sweeper(std::vector<Stage> stages, Sweep sweep) : stages_(std::move(stages)), sweep_(std::move(sweep)) {}

  // Counts the packets of undisturbed runs, then runs once for each boundary, and says how it went.
  void run();

 private:
  using Fault = std::pair<Boundary, Verdict::Kind>;

  std::vector<Boundary> count_packets();
  [[nodiscard]] std::vector<Fault> choose(const std::vector<Boundary>& all) const;
  // Every request that there is room for, and replies evenly spread over the rest.
  [[nodiscard]] std::vector<Fault> sample(const std::vector<Fault>& plan, std::size_t most) const;
  // How a run ended that the network failed, and what is wrong with that.
  struct Outcome {
    cli::ProcessResult result;
    std::chrono::milliseconds took;
    std::string struck, wrong;
  };

  Outcome strike(const Trial& trial, const Route& route, Truth& truth, const Fault& fault) const;
  void record(const Outcome& outcome, const Fault& fault);
  // What is wrong with a run that ended so.
  std::string complaint(const cli::ProcessResult& result, const Trial& trial, Truth& truth,
                        std::chrono::milliseconds took) const;
  // Once the network is well again the same command gets there.
  std::string complaint_of_repetition(const Route& route, const Trial& trial, Truth& truth) const;

  const std::vector<Stage> stages_;
  const Sweep sweep_;
  const std::uint64_t seed_ = print_run_seed();
  std::size_t boundaries_ = 0;

  std::mutex mutex_;  // guards everything below
  std::vector<std::string> complaints_;
  std::map<int, int> by_status_;
  std::size_t struck_ = 0;
  int unknown_ = 0;
  std::chrono::milliseconds longest_{0};
  std::string longest_at_;
};

}  // namespace looseleaf::test
