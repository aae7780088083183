// Random sequences of everything that one process can do to a store, beside the reference: each answer, and in the end
// each table, must be what the reference says. A sequence that fails is made as short as it can be and printed.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/proof/random_ops_run.hpp"
#include "tests/proof/random_ops_values.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<Step> random_steps(Random& random) {
  using Kind = Step::Kind;
  static const std::vector<std::pair<Kind, std::size_t>> shares = {
      {Kind::put, 30},    {Kind::remove, 8},   {Kind::get, 6},   {Kind::query, 30}, {Kind::create, 8},
      {Kind::drop, 3},    {Kind::backfill, 8}, {Kind::clean, 2}, {Kind::verify, 2}, {Kind::full_clean, 1},
      {Kind::damage, 10}, {Kind::tables, 4},   {Kind::init, 1},  {Kind::status, 2}, {Kind::purge, 2}};
  std::vector<Kind> kinds;
  for (const auto& [kind, share] : shares) {
    kinds.insert(kinds.end(), share, kind);
  }
  std::vector<Step> steps;
  if (random.one_in(2)) {
    steps.push_back({Kind::create, random.number()});  // on an empty store
  }
  while (steps.size() < 60) {
    steps.push_back({random.pick(kinds), random.number()});
  }
  steps.push_back({Kind::backfill, random.number()});
  steps.push_back({Kind::tables, random.number()});
  return steps;
}

// A whole life of a store.
struct Sequence {
  explicit Sequence(std::uint64_t seed) {
    Random random(seed);
    shards = 1 + static_cast<std::uint32_t>(random.below(3));
    taste = random_taste(random);
    steps = random_steps(random);
  }

  std::uint32_t shards;
  Taste taste;
  std::vector<Step> steps;
};

std::optional<Failure> run_sequence(const Sequence& sequence, Tally& tally) {
  return run_steps(sequence.shards, sequence.taste, sequence.steps, tally);
}

// Long texts by how they begin and end: the seed has all of them.
std::string listed(const std::vector<std::string>& done) {
  constexpr std::size_t part = 100;
  std::string lines;
  for (const std::string& line : done) {
    lines += line.size() <= 2 * part ? line : line.substr(0, part) + " ... " + line.substr(line.size() - part);
    lines += '\n';
  }
  return lines;
}

// Leaves steps out, ever fewer at once, as long as what is left still fails and there is time.
Failure shorten(Sequence sequence, Failure failure) {
  Tally ignored;
  const auto give_up = Clock::now() + std::chrono::seconds(full_run() ? 300 : 40);
  for (std::size_t size = sequence.steps.size() / 2; size > 0; size /= 2) {
    for (std::size_t from = 0; from < sequence.steps.size() && Clock::now() < give_up;) {
      Sequence fewer = sequence;
      const auto first = fewer.steps.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.steps.erase(first, first + std::min(static_cast<std::ptrdiff_t>(size), fewer.steps.end() - first));
      if (auto same = run_sequence(fewer, ignored); same && !same->excusable) {
        sequence = std::move(fewer);
        failure = *std::move(same);
      } else {
        from += size;
      }
    }
  }
  return failure;
}

TEST_CASE("random sequences of operations answer as the reference does") {
  const std::uint64_t seed = print_run_seed();
  const auto end = Clock::now() + std::chrono::seconds(full_run() ? 600 : 45);
  Tally tally;
  const auto all_occurred = [&] {
    return tally.found > 0 && tally.findings > 0 && tally.stopped > 0 && tally.purged > 0 && tally.refused > 0 &&
           tally.conflicts > 0;
  };
  constexpr std::uint64_t enough = 100;  // sequences in which all must have occurred, however slow the machine is
  for (; Clock::now() < end || (!all_occurred() && tally.sequences < enough); ++tally.sequences) {
    const Sequence sequence(seed + tally.sequences);
    auto failure = run_sequence(sequence, tally);
    // What the machine alone has done does not happen again and again.
    for (int repetition = 0; failure && failure->excusable && repetition < 3; ++repetition) {
      tally.excused += repetition == 0 ? 1 : 0;
      failure = run_sequence(sequence, tally);
    }
    if (failure) {
      const Failure shortest = shorten(sequence, *failure);
      FAIL("LOOSELEAF_SEED=" << seed + tally.sequences << ", " << sequence.shards << " shards, after:\n"
                             << listed(shortest.done) << shortest.what
                             << "\nand before it was made shorter: " << failure->what);
    }
  }
  CHECK(tally.excused <= 1 + tally.sequences / 4);
  CHECK(tally.found > 0);
  CHECK(tally.findings > 0);
  CHECK(tally.stopped > 0);
  CHECK(tally.purged > 0);
  CHECK(tally.refused > 0);
  CHECK(tally.conflicts > 0);
  log_proof("random_ops", {{"sequences", fmt::format("{} of {} steps", tally.sequences, tally.steps)},
                           {"puts", fmt::format("{} stored, {} rejected, {} refused a unique value", tally.stored,
                                                tally.rejected, tally.refused)},
                           {"backfills that found unique values shared", fmt::format("{}", tally.conflicts)},
                           {"queries", fmt::format("{}, which gave {} entities", tally.queries, tally.found)},
                           {"faults planted in index tables", fmt::format("{}", tally.findings)},
                           {"backfills stopped midway", fmt::format("{}", tally.stopped)},
                           {"tombstones purged", fmt::format("{}", tally.purged)},
                           {"excused, as the machine stood still", fmt::format("{}", tally.excused)}});
}

}  // namespace
}  // namespace looseleaf::test
