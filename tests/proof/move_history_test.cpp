// Several processes write to a few entities and read them while their store is copied and then moves to another
// cluster. Each goes on there when it is told so. The history over both clusters must have an explanation.
// LOOSELEAF_ENTITIES more entities, which no worker touches, move with them (0), then to 8 shards on servers of their
// own, LOOSELEAF_OTHER_SERVER.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "shard/placement.hpp"
#include "tests/proof/moving_store.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

std::uint64_t untouched_entities() {
  const char* const entities = std::getenv("LOOSELEAF_ENTITIES");
  return entities == nullptr ? 0 : std::stoull(entities);
}

// Nobody repeats a finish that gives up, so it has time for a machine that is busy.
const std::vector<std::string> finish_patiently = {"--finish", "--freeze-limit", "60"};

TEST_CASE("what processes are told while their store moves has an explanation, and they are told of no other failure") {
  const std::uint64_t seed = print_run_seed();
  const std::uint64_t still = untouched_entities();
  HistoryFixture original(2);
  HistoryFixture other(still == 0 ? TestCluster::shared(3)
                                  : TestCluster({.shards = 8, .servers = 2, .server = other_server()}));
  original.create_index(by_n_sharded);
  if (still > 0) {
    check_status(original.cluster.looseleaf({"put", "--quiet"}, entity_lines(still, R"("n":{0})")), 0);
  }
  MovingWorkers workers(original, other, seed, "w");
  cli::Process follower = original.cluster.start(copy_to(other, {"--follow"}));
  wait_for("the copy to follow", [&] { return !other.cluster.sql(1, "SELECT id FROM entities LIMIT 1").empty(); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  follower.signal(SIGTERM);
  check_status(follower.wait(), 143, {"wrote "});
  const cli::ProcessResult moved = original.cluster.looseleaf(copy_to(other, finish_patiently));
  check_status(moved, 0, {"looseleaf: the store has moved"});
  CHECK_MESSAGE(moved.err.find("error") == std::string::npos, moved.err);
  CHECK(workers.end().empty());
  other.read_all();
  other.check_explained();
  other.check_tables();
  CHECK(other.query("by_n", {"n>=0"}).size() == still);
  const auto count = [&](Outcome outcome) {
    return std::count_if(other.history.begin(), other.history.end(),
                         [&](const Operation& operation) { return operation.outcome == outcome; });
  };
  CHECK(overlapping_writes(other.history) > other.history.size() / 20);
  CHECK(count(Outcome::unknown) == 0);
  log_proof("move-history",
            {{"entities that no worker touches", fmt::format("{}", still)},
             {"operations", fmt::format("{}", other.history.size())},
             {"operations that were refused because the store had moved", fmt::format("{}", count(Outcome::failed))}});
}

// A small history in which something goes wrong if a step of the move is left out.
struct SmallMove {
  HistoryFixture original{2}, other{3};
  std::string id;  // of an entity on shard 1 of the original

  SmallMove() {
    for (std::uint64_t number = 0; id.empty(); ++number) {
      if (shard::shard_of(uuid_of(number), 2) == 1) {
        id = id_of(number);
      }
    }
    original.run("first", put("1"));
  }

  [[nodiscard]] std::string put(const std::string& value) const {
    return fmt::format("put\t{0}\t{{\"id\":\"{0}\",\"v\":\"{1}\"}}\n", id, value);
  }
  [[nodiscard]] std::string get() const { return "get\t" + id + "\n"; }

  // What has no explanation, after it has been read in the other cluster.
  [[nodiscard]] std::vector<std::string> unexplained_in_the_end() {
    append(other.history, original.history);
    other.read_all();
    return unexplained(other.history);
  }
};

TEST_CASE("a write that comes in before a move is lost if the move copies nothing while writers wait, and is noticed" *
          needs_failpoints) {
  for (const char* const left_out : {"", "move.drain=skip,move.compare=skip,"}) {
    SmallMove small;
    cli::Process move = small.original.cluster.stop_at(std::string(left_out) + "move.freeze:before@0",
                                                       copy_to(small.other, finish_patiently));
    small.original.run("second", small.put("2"));
    move.signal(SIGCONT);
    check_status(move.wait(), 0, {"the store has moved"});
    CHECK(small.unexplained_in_the_end().empty() == std::string_view(left_out).empty());
  }
}

TEST_CASE("a write after a move that left a shard open is lost, and is noticed" * needs_failpoints) {
  SmallMove small;
  cli::Process move =
      small.original.cluster.start(copy_to(small.other, finish_patiently), {}, "move.freeze@1=skip,move.mark@1=skip");
  check_status(move.wait(), 0, {"the store has moved"});
  small.original.run("second", small.put("2"));
  CHECK_FALSE(small.unexplained_in_the_end().empty());
}

TEST_CASE("an old value that a shard gives that is not told of the move is noticed" * needs_failpoints) {
  SmallMove small;
  cli::Process move = small.original.cluster.start(copy_to(small.other, finish_patiently), {}, "move.mark@1=skip");
  check_status(move.wait(), 0, {"the store has moved"});
  small.other.run("second", small.put("2"));
  small.original.run("third", small.get());
  CHECK_FALSE(small.unexplained_in_the_end().empty());
}

}  // namespace
}  // namespace looseleaf::test
