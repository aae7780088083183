// Rounds in each of which a store is copied and moves to a new cluster, while workers write to it and read it, and a
// copier or a server of either cluster is killed at random. The number of rounds that count: LOOSELEAF_ROUNDS, else 5,
// or 100 in a full run. LOOSELEAF_SEED repeats the choices, but not the moments. Every second cluster is on
// LOOSELEAF_OTHER_SERVER.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/proof/history_record.hpp"
#include "tests/proof/moving_store.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

enum class MoveVictim { follower, finisher, original, other };
constexpr std::array<const char*, 4> names = {"copy --follow", "copy --finish", "server of the original",
                                              "server of the other"};
constexpr int still = 3000;  // entities that no worker touches

struct MoveTotals {
  int rounds = 0, repeated = 0, undone_by_writers = 0, moved_by_victim = 0;
  std::array<int, 4> counted = {};
  std::size_t operations = 0, acknowledged = 0, queries = 0;
  std::map<Outcome, std::size_t> outcomes;

  [[nodiscard]] int all_counted() const { return counted[0] + counted[1] + counted[2] + counted[3]; }
  [[nodiscard]] bool all_kinds() const { return *std::min_element(counted.begin(), counted.end()) > 0; }

  void add(const History& history) {
    operations += history.size();
    for (const Operation& operation : history) {
      const bool writes = operation.action == Action::put || operation.action == Action::remove;
      acknowledged += writes && operation.outcome == Outcome::done ? 1U : 0U;
      queries += operation.action == Action::query && operation.outcome == Outcome::done ? 1U : 0U;
      ++outcomes[operation.outcome];
    }
  }
};

// Two clusters, on servers of their own, between which a store moves to and fro. Before each round, the one to which it
// moves is made anew.
class MoveWorld {
 public:
  explicit MoveWorld(std::uint64_t seed) : random_(seed), original_(std::make_unique<HistoryFixture>(TestCluster(a_))) {
    original_->create_index(by_n_sharded);
    check_status(original_->cluster.looseleaf({"put", "--quiet"}, entity_lines(still, R"("n":{0})")), 0);
  }

  void run_round(MoveTotals& totals) {
    const auto victim = static_cast<MoveVictim>(totals.rounds++ % 4);
    CAPTURE(totals.rounds);
    INFO(names.at(static_cast<std::size_t>(victim)));
    other_ = std::make_unique<HistoryFixture>(TestCluster(original_->cluster.shards() == a_.shards() ? b_ : a_));
    MovingWorkers workers(*original_, *other_, random_(), fmt::format("r{}", totals.rounds));
    const bool counts = copy_and_kill(victim);
    if (is_moving() && below(2) == 0) {  // so that it is a writer that opens the store again
      wait_for("the store to be open", [&] { return !is_moving(); });
      ++totals.undone_by_writers;
    }
    complete(totals);
    judge(workers, victim == MoveVictim::original || victim == MoveVictim::other);
    totals.counted.at(static_cast<std::size_t>(victim)) += counts ? 1 : 0;
    totals.add(other_->history);
    go_on();
  }

 private:
  [[nodiscard]] int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  [[nodiscard]] std::string trace() const { return original_->cluster.directory().path() + "/copier.trace"; }
  [[nodiscard]] bool has_passed(const std::string& place) const {
    return read_text(trace()).find(place) != std::string::npos;
  }
  [[nodiscard]] bool is_moving() const {
    return original_->cluster.sql(0, "SELECT access FROM looseleaf_shard") == "moving\n";
  }

  [[nodiscard]] cli::Process start_copier(const std::vector<std::string>& options) const {
    std::remove(trace().c_str());
    return start(joined(
        {"env", "LOOSELEAF_FAILPOINT_TRACE=" + trace(), looseleaf_program(), "--cluster", original_->cluster.file()},
        copy_to(*other_, options)));
  }

  // At a random moment of a copy, or of its end. Returns false if the copy was not in progress.
  bool copy_and_kill(MoveVictim victim) {
    const bool finish = victim == MoveVictim::finisher || (victim != MoveVictim::follower && below(3) != 0);
    cli::Process copier = finish ? start_copier({"--finish", "--freeze-limit", "2"}) : start_copier({"--follow"});
    const bool late = finish && below(3) != 0;
    wait_for("the copy to begin", [&] {
      return has_passed(late ? "move.freeze:before" : "copy.claim:after") || cli::is_gone(copier.pid());
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(below(late ? 250 : 1000)));
    const bool in_progress = !cli::is_gone(copier.pid());
    if (victim == MoveVictim::original || victim == MoveVictim::other) {
      kill_server(victim == MoveVictim::original ? *original_ : *other_);
      if (finish) {
        const cli::ProcessResult result = copier.wait();
        CHECK_MESSAGE((result.status == 0 || result.status == 3), result.err);
        return in_progress;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(below(1500)));
    }
    copier.signal(SIGKILL);
    const cli::ProcessResult result = copier.wait();
    CHECK_MESSAGE((result.status == 128 + SIGKILL || !in_progress || finish), result.err);
    return in_progress && result.status == 128 + SIGKILL;
  }

  void kill_server(const HistoryFixture& store) {
    cli::Sandbox& sandbox = store.cluster.sandbox();
    const auto server = static_cast<std::uint32_t>(below(static_cast<int>(sandbox.servers())));
    const long long begin = monotonic_now();
    sandbox.kill_server(server);
    killed_ = {begin, monotonic_now()};
    sandbox.start_server(server);
  }

  // The next one completes the move.
  void complete(MoveTotals& totals) {
    cli::ProcessResult result;
    constexpr int most = 5;
    for (int i = 0; i < most; ++i) {
      result = original_->cluster.looseleaf(copy_to(*other_, {"--finish"}));
      if (result.status == 0) {
        totals.moved_by_victim += result.err.find("already") == std::string::npos ? 0 : 1;
        return;
      }
      ++totals.repeated;
      MESSAGE("round ", totals.rounds, " status ", result.status, ": ", result.err);
    }
    FAIL(result.err);
  }

  void judge(MovingWorkers& workers, bool connections_break) {
    const std::string complaints = workers.end();
    for (const std::string& complaint : lines_of(complaints)) {  // a server is back before anybody gives up
      CHECK_MESSAGE((connections_break && complaint.find("outcome of the commit is unknown") != std::string::npos),
                    complaint);
    }
    check_status(original_->cluster.looseleaf({"put"}, entity(still + 1)), 2, {"error: the store has moved"});
    check_status(other_->cluster.looseleaf({"put"}, entity(still - 1, fmt::format(R"("n":{})", still - 1))), 0);
    other_->read_all();
    other_->check_explained({.connections_break = connections_break, .killed = std::exchange(killed_, {})});
    original_->check_no_row_missing();
    other_->check_tables();
    CHECK(other_->query("by_n", {"n>=0"}).size() == still);
  }

  // The store is now the other one, without what the workers have left.
  void go_on() {
    std::set<std::string> ids;
    for (const Operation& operation : other_->history) {
      if (!operation.id.empty()) {
        ids.insert(operation.id);
      }
    }
    std::vector<Uuid> all;
    for (const std::string& id : ids) {
      all.push_back(Uuid::parse(id).value());
    }
    for (const WriteResult& result : other_->datastore.remove(all)) {
      CHECK((result.status == WriteStatus::stored || result.status == WriteStatus::not_found));
    }
    for (std::uint32_t shard = 0; shard < original_->cluster.shards(); ++shard) {
      original_->cluster.sql(shard, "DROP DATABASE " + original_->cluster.database(shard));
    }
    original_ = std::move(other_);
    original_->history.clear();
  }

  std::mt19937_64 random_;
  TestCluster a_{{.shards = 2, .servers = 2}}, b_{{.shards = 3, .servers = 2, .server = other_server()}};
  std::unique_ptr<HistoryFixture> original_, other_;
  std::optional<std::pair<long long, long long>> killed_;  // when a server died in this round
};

TEST_CASE("whatever is killed while a store is copied and moves, the history over both clusters has an explanation" *
          needs_failpoints) {
  const std::uint64_t seed = print_run_seed();
  const int wanted = static_cast<int>(wanted_rounds(5, 100));
  MoveWorld world(seed);
  MoveTotals totals;
  while ((totals.all_counted() < wanted || !totals.all_kinds()) && totals.rounds < 10 * wanted) {
    world.run_round(totals);
  }
  CHECK(totals.all_counted() >= wanted);
  CHECK(totals.all_kinds());
  std::string by_victim;
  for (std::size_t i = 0; i < names.size(); ++i) {
    by_victim += fmt::format("{}{} {}", i == 0 ? "" : ", ", names.at(i), totals.counted.at(i));
  }
  log_proof(
      "move-rounds",
      {{"rounds whose kill hit a copy in progress",
        fmt::format("{} of {}: {}", totals.all_counted(), totals.rounds, by_victim)},
       {"moves that writers undid before the next finish", std::to_string(totals.undone_by_writers)},
       {"moves that were decided before the next finish", std::to_string(totals.moved_by_victim)},
       {"times that a finish had to be repeated", std::to_string(totals.repeated)},
       {"operations", fmt::format("{}, of which {} acknowledged writes and {} queries", totals.operations,
                                  totals.acknowledged, totals.queries)},
       {"operations that failed, most because the store had moved", std::to_string(totals.outcomes[Outcome::failed])},
       {"operations of unknown outcome", std::to_string(totals.outcomes[Outcome::unknown])}});
}

}  // namespace
}  // namespace looseleaf::test
