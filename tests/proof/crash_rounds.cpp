// Rounds of load in each of which a program or a server is killed at random, and what must be there afterwards. The
// number of rounds that count: LOOSELEAF_ROUNDS, else 12, or 1000 in a full run. LOOSELEAF_SEED repeats the choices,
// but not the moments.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "tests/proof/crash_world.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

const char* name_of(Victim victim) {
  static constexpr const char* words[] = {"recorder", "put", "job", "cleaner", "trigger", "server"};
  return words[static_cast<std::size_t>(victim)];
}

struct CrashTotals {
  int rounds = 0, counted = 0;
  std::map<Victim, int> victims;  // of rounds that count
  std::uint64_t acknowledged = 0, least_acknowledged = ~0ULL, queries = 0, answers = 0;
  std::uint64_t purged = 0, lost = 0, missing = 0, wrong_answers = 0, delivered = 0, not_delivered = 0, refused = 0,
                shared = 0;

  void add(const CrashRound& round) {
    ++rounds;
    counted += round.counts ? 1 : 0;
    victims[round.victim] += round.counts ? 1 : 0;
    acknowledged += round.acknowledged;
    least_acknowledged = std::min(least_acknowledged, round.acknowledged);
    queries += round.queries;
    answers += round.answers_checked;
    purged += round.purged;
    lost += round.lost.size();
    missing += round.missing.size();
    wrong_answers += round.wrong_answers.size();
    delivered += round.delivered;
    not_delivered += round.not_delivered.size();
    refused += round.refused;
    shared += round.shared.size();
  }
};

std::string by_victim(const std::map<Victim, int>& victims) {
  std::vector<std::string> texts;
  for (const auto& [victim, rounds] : victims) {
    texts.push_back(fmt::format("{} {}", name_of(victim), rounds));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void expect_nothing(const std::string& what, const std::vector<std::string>& found) {
  for (const std::string& text : found) {
    FAIL_CHECK(what, ": ", text);
  }
}

// Rounds until the checker reports something, five at most.
CrashTotals control_rounds(const CrashOptions& options, bool (*noticed)(const CrashTotals&)) {
  constexpr int most = 5;
  CrashWorld world(options);
  CrashTotals totals;
  while (totals.rounds < most && !noticed(totals)) {
    totals.add(world.run_round());
  }
  fmt::print(
      "control: {} rounds, {} writes acknowledged, {} lost, {} rows missing, {} wrong answers, {} shared values\n",
      totals.rounds, totals.acknowledged, totals.lost, totals.missing, totals.wrong_answers, totals.shared);
  return totals;
}

TEST_CASE("whatever is killed, no write is lost, no row of a ready index missing, no answer wrong, no value shared" *
          needs_failpoints) {
  const int wanted = static_cast<int>(wanted_rounds(12, 1000)), clean_every = full_run() ? 25 : 6;
  const CrashOptions options = {.seed = print_run_seed()};
  CrashWorld world(options);
  CrashTotals totals;
  const auto all_kinds = [&] {
    return std::all_of(options.victims.begin(), options.victims.end(),
                       [&](Victim victim) { return totals.victims[victim] > 0; });
  };
  while ((totals.counted < wanted || !all_kinds()) && totals.rounds < 10 * wanted) {
    const CrashRound round = world.run_round();
    totals.add(round);
    fmt::print("round {}: {} killed{}, {} writes acknowledged, {} queries\n", totals.rounds, name_of(round.victim),
               round.counts ? "" : " (not counted)", round.acknowledged, round.queries);
    std::fflush(stdout);
    expect_nothing("lost or reverted", round.lost);
    expect_nothing("missing", round.missing);
    expect_nothing("two entities with one value, or refused without reason", round.shared);
    expect_nothing("wrong answer", round.wrong_answers);
    expect_nothing("not delivered by the feed", round.not_delivered);
    expect_nothing("trouble", round.troubles);
    if (round.counts && totals.counted % clean_every == 0) {
      expect_nothing("after clean --full", world.clean_all());
    }
  }
  expect_nothing("after clean --full", world.clean_all());
  CHECK(totals.counted >= wanted);
  CHECK(all_kinds());
  CHECK(totals.acknowledged > 0);
  CHECK(totals.refused > 0);
  CHECK(totals.answers > 0);
  CHECK(totals.purged > 0);
  CHECK(totals.delivered > 0);
  log_proof(
      "crash-rounds",
      {{"rounds whose kill came while a transaction of the victim was under way",
        fmt::format("{} of {}: {}", totals.counted, totals.rounds, by_victim(totals.victims))},
       {"writes acknowledged",
        fmt::format("{}, {} a round, at least {}", totals.acknowledged,
                    totals.acknowledged / static_cast<std::uint64_t>(totals.rounds), totals.least_acknowledged)},
       {"tombstones purged meanwhile", fmt::format("at least {}", totals.purged)},
       {"acknowledged writes lost or reverted", std::to_string(totals.lost)},
       {"rows of ready indexes missing before cleaning", std::to_string(totals.missing)},
       {"values of the unique index that two entities had, or the wrong one was said to have",
        fmt::format("{}, {} writes refused", totals.shared, totals.refused)},
       {"wrong answers of queries meanwhile", fmt::format("{}, of {} queries with {} entities that nobody touched",
                                                          totals.wrong_answers, totals.queries, totals.answers)},
       {"versions that the feed did not deliver in the end",
        fmt::format(
            "{}, of {} delivered to a consumer that was killed in each round, and to a trigger of three processes",
            totals.not_delivered, totals.delivered)}});
}

TEST_CASE("control: servers that do not flush their log lose acknowledged writes, and that is noticed" *
          needs_failpoints) {
  const CrashOptions options = {
      .seed = run_seed(),
      .victims = {Victim::server},
      // MySQL's threads that write the log would leave hardly anything to lose.
      .server_args = {"--innodb-flush-log-at-trx-commit=0", "--loose-innodb-log-writer-threads=OFF"}};
  CHECK(control_rounds(options, [](const CrashTotals& totals) { return totals.lost > 0; }).lost > 0);
}

TEST_CASE("control: index rows that puts leave out are noticed, and so are wrong answers and shared values" *
          needs_failpoints) {
  const CrashOptions options = {
      .seed = run_seed(), .victims = {Victim::recorder}, .failpoint = "put.insert_index_rows=skip"};
  const CrashTotals totals = control_rounds(options, [](const CrashTotals& sofar) {
    return sofar.missing > 0 && sofar.wrong_answers > 0 && sofar.shared > 0;
  });
  CHECK(totals.missing > 0);
  CHECK(totals.wrong_answers > 0);
  CHECK(totals.shared > 0);
  CHECK(totals.lost == 0);
}

TEST_CASE("control: a consumer that stores its position before the batch lacks versions, and that is noticed" *
          needs_failpoints) {
  const CrashOptions options = {.seed = run_seed(), .victims = {Victim::putter}, .position_first = true};
  CHECK(control_rounds(options, [](const CrashTotals& totals) { return totals.not_delivered > 0; }).not_delivered > 0);
}

TEST_CASE("control: a trigger that stores the position of a batch that it left out lacks versions, and is noticed" *
          needs_failpoints) {
  const CrashOptions options = {
      .seed = run_seed(), .victims = {Victim::putter}, .trigger_failpoint = "trigger.deliver:before#2=skip"};
  CHECK(control_rounds(options, [](const CrashTotals& totals) { return totals.not_delivered > 0; }).not_delivered > 0);
}

}  // namespace
}  // namespace looseleaf::test
