// Counts packets, then strikes at each of them, on some threads with proxies of their own.
#include "tests/proof/network_sweep.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <thread>

#include "tests/support/errors.hpp"

namespace looseleaf::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* too_long = "took too long; ";

}  // namespace

void Sweeper::run() {
  const std::vector<Fault> plan = choose(count_packets());
  fmt::print("{}: {} faults at {} boundaries\n", sweep_.name, plan.size(), boundaries_);
  std::fflush(stdout);
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned worker = 0; worker < sweep_.workers; ++worker) {
    workers.emplace_back([&, worker] {
      const Stage& stage = stages_[worker % stages_.size()];
      const Route route(stage.store.cluster, fmt::format("{}{}", sweep_.name, worker));
      Truth truth(stage.store);
      for (std::size_t i = next++; i < plan.size(); i = next++) {
        Outcome outcome = strike(stage.make_trial(i + 1), route, truth, plan[i]);
        if (outcome.wrong == too_long) {  // it may be the machine that stood still, but not again
          outcome = strike(stage.make_trial(plan.size() + i + 1), route, truth, plan[i]);
        }
        record(outcome, plan[i]);
      }
    });
  }
  workers.clear();
  for (const std::string& complaint : complaints_) {
    MESSAGE(complaint);
  }
  CHECK(complaints_.empty());
  CHECK(struck_ >= plan.size() * 9 / 10);
  log_proof("network-" + sweep_.name, {{"packet boundaries", fmt::format("{}", boundaries_)},
                                       {"faults planned", fmt::format("{}", plan.size())},
                                       {"faults that struck", fmt::format("{}", struck_)},
                                       {"status 0", fmt::format("{}", by_status_[0])},
                                       {"status 3", fmt::format("{}", by_status_[3])},
                                       {"outcome unknown", fmt::format("{}", unknown_)},
                                       {"--timeout", sweep_.timeout + " s"},
                                       {"longest call", fmt::format("{} ms, {}", longest_.count(), longest_at_)}});
}

// A machine that is busy makes for more packets: the fewest of some runs are in every one.
std::vector<Boundary> Sweeper::count_packets() {
  constexpr int runs = 3;
  constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();
  std::map<std::pair<std::uint32_t, Direction>, std::uint64_t> fewest;
  for (int i = 0; i < runs; ++i) {
    const Stage& stage = stages_.front();
    const Route route(stage.store.cluster, sweep_.name);
    Truth truth(stage.store);
    const Trial trial = stage.make_trial(0);
    trial.prepare();
    const cli::ProcessResult result = looseleaf::test::run(route.command(trial.arguments), trial.input);
    INFO(result.err);
    REQUIRE(result.status == 0);
    REQUIRE(complaint(result, trial, truth, 0ms) == "");
    for (std::uint32_t server = 0; server < 2; ++server) {
      for (const Direction direction : {Direction::to_server, Direction::to_client}) {
        std::uint64_t& packets = fewest.try_emplace({server, direction}, unknown).first->second;
        packets = std::min(packets, route.proxy(server).seen(direction));
      }
    }
  }
  std::vector<Boundary> boundaries;
  for (const auto& [where, packets] : fewest) {
    for (std::uint64_t packet = 1; packet <= packets; ++packet) {
      boundaries.push_back({where.first, where.second, packet});
    }
  }
  boundaries_ = boundaries.size();
  return boundaries;
}

std::vector<Sweeper::Fault> Sweeper::choose(const std::vector<Boundary>& all) const {
  std::vector<Fault> plan;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t kind = 0; kind < sweep_.kinds.size(); ++kind) {
      if (full_run() || i % sweep_.kinds.size() == kind) {
        plan.emplace_back(all[i], sweep_.kinds[kind]);
      }
    }
  }
  const std::size_t most = full_run() ? sweep_.most_full : sweep_.most;
  return most == 0 ? plan : sample(plan, most);
}

std::vector<Sweeper::Fault> Sweeper::sample(const std::vector<Fault>& plan, std::size_t most) const {
  std::vector<Fault> requests, replies;
  for (const auto& entry : plan) {
    (entry.first.direction == Direction::to_server ? requests : replies).push_back(entry);
  }
  std::vector<Fault> chosen;
  const auto spread = [&](const auto& from, std::size_t count) {
    const std::size_t offset = seed_ % from.size();
    for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
      chosen.push_back(from[(offset + i * from.size() / count) % from.size()]);
    }
  };
  spread(requests, std::min(requests.size(), most * 2 / 3));
  spread(replies, most - chosen.size());
  return chosen;
}

Sweeper::Outcome Sweeper::strike(const Trial& trial, const Route& route, Truth& truth, const Fault& fault) const {
  const auto& [boundary, kind] = fault;
  trial.prepare();
  std::vector<std::string> command = route.command(trial.arguments);
  command.insert(command.end(), {"--timeout", sweep_.timeout});
  FaultProxy& proxy = route.proxy(boundary.server);
  proxy.judge_by(at_packet(boundary.direction, boundary.packet, {kind, 60s}));
  const auto begin = Clock::now();
  Outcome outcome;
  outcome.result = looseleaf::test::run(command, trial.input);
  outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  outcome.struck = proxy.struck();
  route.heal();
  try {
    outcome.wrong = complaint(outcome.result, trial, truth, outcome.took);
    if ((outcome.wrong.empty() || outcome.wrong == too_long) && outcome.result.status != 0) {  // it may be made again
      outcome.wrong += complaint_of_repetition(route, trial, truth);
    }
  } catch (const Error& error) {
    outcome.wrong = std::string("cannot be judged: ") + error.what();
  }
  return outcome;
}

void Sweeper::record(const Outcome& outcome, const Fault& fault) {
  const auto& [boundary, kind] = fault;
  const auto& [result, took, struck, wrong] = outcome;
  const std::lock_guard lock(mutex_);
  ++by_status_[result.status];
  struck_ += struck.empty() ? 0 : 1;
  unknown_ += contains(result.err, "outcome of the commit is unknown") ? 1 : 0;
  if (took > longest_) {
    longest_ = took;
    longest_at_ = fmt::format("{}: {}", boundary.text(), struck.substr(0, 40));
  }
  if (!wrong.empty()) {
    complaints_.push_back(fmt::format("{}, kind {}, {}: {}\nstatus {} after {} ms\n{}{}", sweep_.name,
                                      static_cast<int>(kind), boundary.text() + ": " + struck.substr(0, 60), wrong,
                                      result.status, took.count(), result.out, result.err));
  }
}

std::string Sweeper::complaint(const cli::ProcessResult& result, const Trial& trial, Truth& truth,
                               std::chrono::milliseconds took) const {
  std::string wrong;
  if (result.status != 0 && (result.status != 3 || sweep_.recovers)) {
    wrong += fmt::format("status {}; ", result.status);
  }
  if ((result.status == 3) != contains(result.err, "looseleaf: error: ")) {
    wrong += "status and messages disagree; ";
  }
  for (const std::string& line : lines_of(result.err)) {
    if (line.starts_with("hint: ") && !is_worded_as_hint(std::string_view(line).substr(6))) {
      wrong += "badly worded: " + line + "; ";
    }
  }
  if (took > sweep_.longest) {
    wrong += too_long;
  }
  for (const std::string& id : trial.ids) {
    wrong += truth.missing_rows(id);
  }
  return wrong + trial.judge(result, truth);
}

std::string Sweeper::complaint_of_repetition(const Route& route, const Trial& trial, Truth& truth) const {
  const cli::ProcessResult again = looseleaf::test::run(route.command(trial.arguments), trial.input);
  const std::string wrong = trial.judge_repetition ? trial.judge_repetition(again, truth)
                            : again.status == 0    ? complaint(again, trial, truth, 0ms)
                                                   : "status not 0";
  return wrong.empty() ? "" : fmt::format("repeated: {}\n{}", wrong, again.err);
}

}  // namespace looseleaf::test
