// kill -9 at every step: each scenario is run once to learn which steps it passes, and then once for each of them from
// the same state, to be killed there. What it leaves must hold the invariant before anything is repaired, a plain clean
// must do what puts that have committed left, other writers must be able to go on, and the same command again must lead
// to where an undisturbed run leads. In the short form a scenario is killed at one random point of each step on each
// shard. LOOSELEAF_SCENARIO=NAME runs one scenario only.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <looseleaf/datastore.hpp>
#include <mutex>
#include <random>
#include <regex>
#include <stdexcept>
#include <thread>

#include "tests/proof/kill_scenarios.hpp"
#include "tests/support/entities.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int killed_status = 128 + SIGKILL;
constexpr int lanes = 4;  // scenarios that run side by side

// One passage of a step, as LOOSELEAF_FAILPOINT names it.
struct Point {
  std::string place;  // step:phase@shard
  int passage = 1;

  [[nodiscard]] std::string text() const { return fmt::format("{}#{}", place, passage); }
};

// step@shard of a place
std::string step_of(const std::string& place) {
  return place.substr(0, place.find(':')) + place.substr(place.find('@'));
}

// Leaves one point of each step.
void leave_one_of_each_step(std::vector<Point>& points, std::uint64_t seed) {
  std::shuffle(points.begin(), points.end(), std::mt19937_64(seed));
  std::set<std::string> steps;
  std::erase_if(points, [&](const Point& point) { return !steps.insert(step_of(point.place)).second; });
}

// What all lanes found.
struct Findings {
  std::mutex mutex;
  std::vector<std::string> problems;
  std::set<std::string> killed;  // places
  int points = 0, not_passed = 0, at_first_passage = 0, waited_for_orphans = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1) {
    lines.push_back(text.substr(from, to - from));
  }
  return lines;
}

// The names in lib/src/shard/steps.hpp.
std::set<std::string> all_steps() {
  const std::string source = read_text(LOOSELEAF_STEPS);
  const std::regex quoted("\"([a-z]+\\.[a-z_]+)\"");
  std::set<std::string> steps;
  for (std::sregex_iterator match(source.begin(), source.end(), quoted), end; match != end; ++match) {
    steps.insert((*match)[1]);
  }
  return steps;
}

bool is_of_buffered_writes(const std::string& step) {
  return step.starts_with("buffer.") || step.starts_with("flush.") || step.starts_with("refused.") ||
         step == "put.check_receipt" || step == "put.write_receipt" || step == "put.check_copy";
}

// Before and after each step on the shards 0 and 1. Some steps are passed once, for all shards together.
// The steps of triggers, copies, moves and buffered writes have their own tests: trigger_test.cpp, because a trigger
// runs until it is stopped, copy_test.cpp and move_test.cpp, because these need another cluster, and buffer_test.cpp,
// because these need a server that is down.
std::set<std::string> all_places() {
  const std::set<std::string> once = {"backfill.prove", "backfill.prove_durable", "query.read_entities"};
  std::set<std::string> places;
  for (const std::string& step : all_steps()) {
    if (step.starts_with("trigger.") || step.starts_with("copy.") || step.starts_with("move.") ||
        is_of_buffered_writes(step)) {
      continue;
    }
    for (const char* const phase : {"before", "after"}) {
      places.insert(fmt::format("{}:{}@0", step, phase));
      if (!once.contains(step)) {
        places.insert(fmt::format("{}:{}@1", step, phase));
      }
    }
  }
  return places;
}

// One scenario on a bench of its own.
class Kills {
 public:
  Kills(const Scenario& scenario, Findings& findings, std::uint64_t seed)
      : scenario_(scenario), findings_(findings), seed_(seed), bench_(scenario.shards) {
    scenario_.prepare(bench_);
    snapshot_.emplace(bench_.cluster, bench_.observer);
    command_ = bench_.command(scenario_.command(bench_));
    start_ = bench_.observer.observe();
  }

  void run() {
    const auto started = Clock::now();
    const std::vector<Point> points = undisturbed();
    for (const Point& point : points) {
      try {
        kill_at(point);
      } catch (const Error& error) {
        problem(point, fmt::format("{} {}", error.what(), fmt::join(values(error.context()), ", ")));
      } catch (const std::exception& error) {
        problem(point, error.what());
      }
    }
    const std::lock_guard lock(findings_.mutex);
    findings_.points += static_cast<int>(points.size());
    fmt::print("{}: {} kills in {:.1f} s\n", scenario_.name, points.size(),
               std::chrono::duration<double>(Clock::now() - started).count());
    std::fflush(stdout);
  }

 private:
  static std::vector<std::string> values(const Error::Context& context) {
    std::vector<std::string> values;
    for (const auto& [key, value] : context) {
      values.push_back(key + ": " + value);
    }
    return values;
  }

  void problem(const Point& point, const std::string& what) {
    const std::lock_guard lock(findings_.mutex);
    findings_.problems.push_back(fmt::format("{}, killed at {}: {}", scenario_.name, point.text(), what));
  }

  // The places that the scenario passes, each with its first and its last passage, or one of them for each step.
  std::vector<Point> undisturbed() {
    const std::string trace = bench_.cluster.directory().path() + "/trace";
    const cli::ProcessResult result = run_victim("LOOSELEAF_FAILPOINT_TRACE=" + trace, scenario_.cut_at);
    if (result.status != scenario_.statuses.front()) {
      throw std::runtime_error(scenario_.name + " fails undisturbed: " + result.err);
    }
    const ObservedStore done = bench_.observer.observe();
    check({"nowhere"}, done);
    check_writes({"nowhere"}, done, result.out);
    for (const ObservedShard& shard : done) {
      if (!shard.cleanup_records.empty()) {
        problem({"nowhere"}, "it leaves a cleanup record");
      }
    }
    if (scenario_.recover) {
      scenario_.recover(bench_);
    }
    others_write({"nowhere"});
    clean_all();
    end_ = describe(bench_.observer.observe());
    std::map<std::string, int> passages;
    std::vector<Point> points;
    for (const std::string& place : lines_of(read_text(trace))) {
      if (++passages[place] == 1 && is_wanted(place)) {
        points.push_back({place, 1});
      }
    }
    for (std::size_t i = points.size(); i-- > 0;) {
      if (const int last = passages[points[i].place]; last > 1) {
        points.push_back({points[i].place, last});
      }
    }
    if (!full_run()) {
      leave_one_of_each_step(points, seed_);
    }
    return points;
  }

  [[nodiscard]] bool is_wanted(const std::string& place) const {
    return scenario_.only.empty() || std::any_of(scenario_.only.begin(), scenario_.only.end(),
                                                 [&](const auto& step) { return place.starts_with(step); });
  }

  void kill_at(Point point) {
    const std::optional<cli::ProcessResult> result = be_killed(point);
    if (!result) {
      const std::lock_guard lock(findings_.mutex);
      ++findings_.not_passed;
      return;
    }
    const ObservedStore left = bench_.observer.observe();
    check(point, left);
    check_writes(point, left, result->out);
    check_plain_clean(point, left);
    others_write(point);
    check(point, bench_.observer.observe());
    go_on();
    clean_all();
    const ObservedStore ended = bench_.observer.observe();
    const std::string state = describe(ended);
    if (state != end_) {
      problem(point, fmt::format("ends otherwise than undisturbed: {}", difference(state)));
    }
  }

  // Which steps are passed, and how often, varies a little: a batch may be tried again, or be two. If the passage of
  // the undisturbed run does not come again, it is the first one instead. Nothing if that never came again, either. The
  // test limits how many these are.
  std::optional<cli::ProcessResult> be_killed(Point& point) {
    constexpr int tries = 5, tries_of_passage = 3;
    for (int i = 0; i < tries; ++i) {
      if (i == tries_of_passage) {
        point.passage = 1;
      }
      snapshot_->restore();
      const std::string cut = scenario_.cut_at.empty() ? "" : scenario_.cut_at + "=stop,";
      cli::ProcessResult result =
          run_victim(fmt::format("LOOSELEAF_FAILPOINT={}{}=kill", cut, point.text()), scenario_.cut_at);
      if (result.status == killed_status) {
        const std::lock_guard lock(findings_.mutex);
        findings_.at_first_passage += i >= tries_of_passage ? 1 : 0;
        findings_.killed.insert(point.place);
        return result;
      }
    }
    return std::nullopt;
  }

  cli::ProcessResult run_victim(const std::string& failpoint, const std::string& cut_at) {
    std::vector<std::string> command = {"env", failpoint};
    if (!cut_at.empty() && failpoint.find("TRACE") != std::string::npos) {
      command.push_back("LOOSELEAF_FAILPOINT=" + cut_at + "=stop");
    }
    command.insert(command.end(), command_.begin(), command_.end());
    const auto youngest = bench_.observer.youngest_sessions();
    cli::Process process = start(command, scenario_.input);
    if (!cut_at.empty()) {
      cut_session(process, youngest.at(scenario_.cut_shard));
    }
    cli::ProcessResult result = process.wait();
    bench_.observer.wait_until_quiet(youngest);
    return result;
  }

  // Kills what the stopped process has open on a shard and lets it go on.
  void cut_session(const cli::Process& process, std::uint64_t youngest) {
    if (wait_until_stopped(process)) {
      bench_.observer.cut_sessions(scenario_.cut_shard, youngest);
    }
    process.signal(SIGCONT);
  }

  // The invariant, with a second opinion.
  void check(const Point& point, const ObservedStore& store) {
    for (const std::string& row : missing_rows(store)) {
      problem(point, "missing " + row);
    }
    for (const std::string& value : shared_values(store)) {
      problem(point, "shared " + value);
    }
    if (!catalogs_agree(store)) {
      return;  // verify would wait in vain for them to agree
    }
    for (const Finding& finding : verify()) {
      if (finding.kind != FindingKind::stale && finding.kind != FindingKind::orphan &&
          finding.kind != FindingKind::misplaced && finding.kind != FindingKind::duplicate) {
        problem(point, fmt::format("verify: {} {} {}", to_string(finding.kind), finding.index, finding.values));
      }
    }
  }

  // What was acknowledged is there; what was not is there or not; nothing else changed.
  void check_writes(const Point& point, const ObservedStore& store, const std::string& out) {
    const std::vector<std::string> acknowledged = lines_of(out);
    std::map<std::string, std::vector<std::optional<std::string>>> allowed;
    for (const auto& [id, body] : bodies(start_)) {
      allowed[id] = {body};
    }
    for (std::size_t i = 0; i < scenario_.writes.size(); ++i) {
      const KillWrite& write = scenario_.writes[i];
      auto& values = allowed.try_emplace(write.id, 1).first->second;
      if (i < acknowledged.size()) {
        values.clear();
        if (acknowledged[i] != write.id) {
          problem(point, "acknowledged another id");
        }
      }
      values.push_back(write.body);
    }
    const auto there = bodies(store);
    for (const auto& [id, values] : allowed) {
      const auto found = there.find(id);
      const std::optional<std::string> value = found == there.end() ? std::nullopt : std::optional(found->second);
      if (std::find(values.begin(), values.end(), value) == values.end()) {
        problem(point, fmt::format("{} of {} writes acknowledged, but {} is {}", acknowledged.size(),
                                   scenario_.writes.size(), id, value.value_or("absent")));
      }
    }
    for (const auto& [id, body] : there) {
      if (!allowed.contains(id)) {
        problem(point, "came from nowhere: " + body);
      }
    }
  }

  // A clean without a sweep leaves no superfluous row of entities that are as the last of the scenario's writes left
  // them. Others may have rows of a write that was not committed.
  void check_plain_clean(const Point& point, const ObservedStore& store) {
    if (scenario_.writes.empty()) {
      return;
    }
    std::map<std::string, std::optional<std::string>> written;
    for (const KillWrite& write : scenario_.writes) {
      written.insert_or_assign(write.id, write.body);
    }
    const auto there = bodies(store);
    JobControl control;
    bench_.datastore.clean({}, control);
    for (const Finding& finding : verify()) {
      const auto wanted = written.find(to_string(finding.entity_id));
      if (wanted == written.end()) {
        continue;
      }
      const auto found = there.find(wanted->first);
      if ((found == there.end() ? std::nullopt : std::optional(found->second)) == wanted->second) {
        problem(point,
                fmt::format("after a plain clean: {} {} {}", to_string(finding.kind), finding.index, finding.values));
      }
    }
  }

  // A process that knew the cluster before goes on writing.
  void others_write(const Point& point) {
    if (!scenario_.others_write) {
      return;
    }
    bench_.put({other(200, 61, R"(,"owner":61)"), other(201, 60, R"(,"owner":60)"), other(2, 63, R"(,"owner":2)")});
    for (const int n : scenario_.contested) {
      take(point, n);
    }
    if (!scenario_.contested.empty()) {
      bench_.put({other(202, 62)});
    }
  }

  static std::string other(int number, int n, const char* rest = "") {
    return fmt::format(R"({{"id":"{}","n":{},"c":"other","tags":[{},9],"m":{},"u":{}{}}})",
                       id_of(static_cast<std::uint64_t>(number)), n, n % 4, n, number + 7, rest);
  }

  // A row that is nobody's keeps nobody from a value, and who is refused is told who has it.
  void take(const Point& point, int n) {
    const WriteResult result = bench_.datastore.put(std::vector{other(202, n)}).front();
    if (result.status == WriteStatus::stored) {
      return;
    }
    const auto holder = result.holder ? bench_.datastore.get({*result.holder}).front() : std::nullopt;
    if (result.status != WriteStatus::rejected || !holder ||
        holder->json.find(fmt::format("\"n\":{},", n)) == std::string::npos) {
      problem(point, fmt::format("n = {} cannot be taken: {}, it is said to be of {}", n,
                                 result.error ? result.error->what() : "no error", holder ? holder->json : "nobody"));
    }
  }

  void go_on() {
    if (scenario_.recover) {
      scenario_.recover(bench_);
      return;
    }
    const cli::ProcessResult result = test::run(command_, scenario_.input);
    if (std::find(scenario_.statuses.begin(), scenario_.statuses.end(), result.status) == scenario_.statuses.end()) {
      throw std::runtime_error(fmt::format("again: status {}, {}", result.status, result.err));
    }
  }

  // Fills indexes that are building first. Only that inserts the rows of entities that were put before their shard knew
  // the index.
  void clean_all() {
    JobControl control;
    bench_.datastore.backfill({}, control);
    const auto started = Clock::now();
    bench_.datastore.clean({.full = true}, control);
    if (Clock::now() - started > std::chrono::seconds(5)) {
      const std::lock_guard lock(findings_.mutex);
      ++findings_.waited_for_orphans;
    }
    for (const Finding& finding : verify()) {
      throw std::runtime_error(
          fmt::format("after clean --full: {} {} {}", to_string(finding.kind), finding.index, finding.values));
    }
  }

  std::vector<Finding> verify() {
    VerifyOptions options;
    options.grace_seconds = 0;
    JobControl control;
    return bench_.datastore.verify(options, control).findings;
  }

  [[nodiscard]] std::string difference(const std::string& state) const {
    const std::vector<std::string> ours = lines_of(state), wanted = lines_of(end_);
    std::string text;
    for (const std::string& line : ours) {
      text += std::find(wanted.begin(), wanted.end(), line) == wanted.end() ? "\n  too much: " + line : "";
    }
    for (const std::string& line : wanted) {
      text += std::find(ours.begin(), ours.end(), line) == ours.end() ? "\n  lacks: " + line : "";
    }
    return text;
  }

  const Scenario& scenario_;
  Findings& findings_;
  const std::uint64_t seed_;
  Bench bench_;
  std::optional<Snapshot> snapshot_;
  std::vector<std::string> command_;
  ObservedStore start_;
  std::string end_;  // described
};

void run_scenarios(const std::vector<Scenario>& scenarios, Findings& findings, std::uint64_t seed) {
  std::size_t next = 0;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int lane = 0; lane < lanes; ++lane) {
    threads.emplace_back([&] {
      while (true) {
        const Scenario* scenario = nullptr;
        std::uint64_t its_seed = seed;
        {
          const std::lock_guard lock(mutex);
          if (next == scenarios.size()) {
            return;
          }
          its_seed += next;
          scenario = &scenarios[next++];
        }
        try {
          Kills(*scenario, findings, its_seed).run();
        } catch (const std::exception& error) {
          const std::lock_guard lock(findings.mutex);
          findings.problems.push_back(scenario->name + ": " + error.what());
        }
      }
    });
  }
}

TEST_CASE("whatever step the program is killed at, nothing is lost and nothing is missing, and repeating ends it" *
          needs_failpoints) {
  std::vector<Scenario> scenarios = kill_scenarios();
  std::erase_if(scenarios, [](const Scenario& scenario) { return scenario.long_form_only && !full_run(); });
  if (const char* const chosen = std::getenv("LOOSELEAF_SCENARIO")) {
    std::erase_if(scenarios, [&](const Scenario& scenario) { return scenario.name != chosen; });
  }
  Findings findings;
  run_scenarios(scenarios, findings, print_run_seed());
  CHECK(findings.points > 0);
  CHECK(findings.not_passed + findings.at_first_passage <= findings.points / 20);
  for (const std::string& problem : findings.problems) {
    FAIL_CHECK(problem);
  }
  const std::set<std::string> places = all_places();
  std::erase_if(findings.killed, [&](const std::string& place) { return !places.contains(place); });
  const auto was_killed = [&](const std::string& place) {
    return std::any_of(findings.killed.begin(), findings.killed.end(), [&](const std::string& killed) {
      return full_run() ? killed == place : step_of(killed) == step_of(place);
    });
  };
  for (const std::string& place : places) {
    if (!was_killed(place) && std::getenv("LOOSELEAF_SCENARIO") == nullptr) {
      FAIL_CHECK("no scenario was killed at ", place);
    }
  }
  log_proof("kills", {{"scenarios", std::to_string(scenarios.size())},
                      {"kills", std::to_string(findings.points - findings.not_passed)},
                      {"places killed at: before and after each step on each shard",
                       fmt::format("{} of {}", findings.killed.size(), places.size())},
                      {"acknowledged entities lost, rows missing, other ends than undisturbed",
                       std::to_string(findings.problems.size())}});
}

}  // namespace
}  // namespace looseleaf::test
