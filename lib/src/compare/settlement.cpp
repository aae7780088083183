// Stamps of an entity strictly increase, so a row with the same stamp has not changed.
#include "compare/settlement.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "copy/target.hpp"
#include "shard/access.hpp"
#include "shard/placement.hpp"

namespace looseleaf::compare {
namespace {

constexpr std::size_t most_suspects = 100'000;  // kept in memory, in about 40 MB
constexpr std::size_t read_at_once = 1000;      // entities
constexpr int most_checks = 5;                  // of an entity that is written all the time
constexpr auto between_looks = std::chrono::milliseconds(200);

}  // namespace

void require_comparable(shard::Shards& shards) {
  const shard::Access access = shard::read_shard(shards, 0, shards.deadline(), shard::read_access);
  if (access.state == AccessState::moved) {
    throw Error(ErrorCode::moved, "a store that has moved cannot be compared", shard::facts(access),
                "what was written since is only in the new store; `copy --finish` compared both before");
  }
}

void Settlement::add(const Uuid& id, Content here, Content there) {
  suspects_.push_back({id, std::move(here), std::move(there)});
  if (suspects_.size() >= most_suspects) {
    finish();
  }
}

void Settlement::finish() {
  while (!suspects_.empty()) {
    if (report_.follows) {
      settle_once_copied();
    } else {
      settle_after_grace();
    }
  }
}

void Settlement::settle_after_grace() {
  const std::chrono::seconds grace(options_.grace_seconds);
  wait(Clock::now() + grace, grace, "both stores must stay unchanged (--grace)");
  check(std::exchange(suspects_, {}), Rule::unchanged_on_both_sides);
}

void Settlement::settle_once_copied() {
  const std::chrono::seconds grace(options_.grace_seconds);
  const auto until = Clock::now() + grace;
  while (!suspects_.empty()) {
    if (auto reached = take_reached(); !reached.empty()) {
      check(std::move(reached), Rule::copied);
    } else if (Clock::now() < until) {
      wait(std::min(until, Clock::now() + between_looks), grace, "the copy must catch up (--grace)");
    } else {
      check(std::exchange(suspects_, {}), Rule::late);
    }
  }
}

// An entity without a row was never put, or its tombstone was purged. A tombstone is purged only once the copy has
// passed it, so there is nothing to wait for.
std::vector<Settlement::Suspect> Settlement::take_reached() {
  const auto positions = in_store(there_, [&] {
                           return copy::read_positions(there_.shards, here_.shards.cluster_id(), here_.shards.count());
                         }).value_or(copy::Positions());
  const auto is_reached = [&](const Suspect& suspect) {
    const auto at = positions.find(shard::shard_of(suspect.id, here_.shards.count()));
    return !suspect.here.stamp ||
           (at != positions.end() && !at->second.scan && *suspect.here.stamp < at->second.place.updated);
  };
  const auto middle = std::stable_partition(suspects_.begin(), suspects_.end(),
                                            [&](const auto& suspect) { return !is_reached(suspect); });
  std::vector<Suspect> reached(std::make_move_iterator(middle), std::make_move_iterator(suspects_.end()));
  suspects_.erase(middle, suspects_.end());
  return reached;
}

// A store is marked as moved before the other one is open. A copy that is detached is opened before its rows are gone,
// but then what its new owner writes is a difference.
void Settlement::require_copy() {
  in_store(here_, [&] { require_comparable(here_.shards); });
  if (in_store(there_, [&] { return copy::origin_of(there_.shards); }) != to_string(here_.shards.cluster_id())) {
    throw Error(ErrorCode::busy, "the copy has ended while it was compared", {},
                "run the command again: it compares two stores of their own");
  }
}

void Settlement::wait(Clock::time_point until, std::chrono::seconds at_most, const std::string& reason) {
  if (Clock::now() >= until) {
    return;
  }
  if (options_.on_wait && !std::exchange(said_that_it_waits_, true)) {
    options_.on_wait(at_most);
  }
  here_.job.wait_until(until, reason);
}

// The other store is read first: if this one has the same stamp afterwards as before, it had it all the time.
void Settlement::check(std::vector<Suspect> suspects, Rule rule) {
  std::sort(suspects.begin(), suspects.end(), [](const auto& one, const auto& other) { return one.id < other.id; });
  for (std::size_t from = 0; from < suspects.size(); from += read_at_once) {
    const std::span some = std::span(suspects).subspan(from, std::min(read_at_once, suspects.size() - from));
    std::vector<Uuid> ids;
    std::transform(some.begin(), some.end(), std::back_inserter(ids),
                   [](const Suspect& suspect) { return suspect.id; });
    std::vector<Content> there = read_contents(there_, ids, digester_);
    if (report_.follows) {
      require_copy();
    }
    std::vector<Content> here = read_contents(here_, ids, digester_);
    for (std::size_t i = 0; i < some.size(); ++i) {
      check(std::move(some[i]), std::move(here[i]), std::move(there[i]), rule);
    }
  }
}

void Settlement::check(Suspect suspect, Content here, Content there, Rule rule) {
  const bool is_unchanged =
      here.stamp == suspect.here.stamp && (rule != Rule::unchanged_on_both_sides || there.stamp == suspect.there.stamp);
  // What a copy had when it had passed a version is that version, even if there is a later one by now.
  const bool was_copied = rule == Rule::copied && same(suspect.here, there);
  if (same(here, there) || was_copied) {
    ++report_.in_flight;
    return;
  }
  suspect.here = std::move(here);
  suspect.there = std::move(there);
  if (rule == Rule::late) {
    report(DifferenceKind::unsettled, suspect.id, "the copy has not reached its latest version");
  } else if (is_unchanged) {
    report(suspect);
  } else if (suspect.checks == most_checks) {
    report(DifferenceKind::unsettled, suspect.id, "it is written all the time");
  } else {
    ++suspect.checks;
    suspects_.push_back(std::move(suspect));
  }
}

void Settlement::report(const Suspect& suspect) {
  for (const auto& [kind, reason] : kinds_of_difference(suspect.here, suspect.there)) {
    report(kind, suspect.id, reason);
  }
}

void Settlement::report(DifferenceKind kind, const Uuid& id, const std::string& reason) {
  const std::uint32_t shard = shard::shard_of(id, here_.shards.count());
  ++report_.shards[shard].differences[kind];
  ++(kind == DifferenceKind::unsettled ? report_.unsettled : report_.found);
  if (options_.on_difference) {
    options_.on_difference({kind, id, shard, shard::shard_of(id, there_.shards.count()), reason});
  }
}

}  // namespace looseleaf::compare
