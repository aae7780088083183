// Several processes write to a few entities and read them, while some are killed and connections are cut: everything
// that they were told must have an explanation, as history_checker.hpp defines it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/proof/history_processes.hpp"
#include "tests/proof/history_record.hpp"
#include "tests/support/entities.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"
#include "tests/support/split.hpp"

namespace looseleaf::test {
namespace {

struct Traffic {
  int operations = 0;
  std::uint64_t seed = 0;
  bool faults = false;  // workers dawdle and are killed, and connections are cut
};

// Keeps workers going until they have done their share each, and takes some of them down meanwhile.
class TrafficRun {
 public:
  TrafficRun(HistoryFixture& fixture, Traffic traffic) : fixture_(fixture), traffic_(std::move(traffic)) {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      places_[place].left = traffic_.operations / static_cast<int>(places_.size());
      start(place);
    }
  }

  void run() {
    const std::jthread maintenance([this](const std::stop_token& stop) { maintain(stop); });
    int tick = 0;
    while (any_running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++tick;
      if (traffic_.faults && tick % 3 == 0) {
        cut_a_connection();
      }
      if (traffic_.faults && tick % 40 == 0) {
        kill_a_worker();
      }
    }
  }

  [[nodiscard]] int kills() const { return kills_; }
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  struct Place {
    std::unique_ptr<Worker> worker;
    int left = 0;  // operations of this worker and its successors
    int started = 0;
  };

  void start(std::size_t place) {
    Place& at = places_[place];
    const std::string commands = fmt::format("random\t{}\t{}\t{}\n", random_(), at.left, origin_);
    at.worker =
        std::make_unique<Worker>(fixture_.cluster, WorkerOptions{.user = fmt::format("w{}", place),
                                                                 .name = fmt::format("w{}.{}", place, ++at.started),
                                                                 .commands = commands,
                                                                 .failpoints = failpoints()});
  }

  // Some workers dawdle at a step, so that more happens between that and the next.
  std::string failpoints() {
    static const std::vector<std::string> steps = split(
        "put.fence:after put.lock_entities:after put.insert_index_rows:before put.insert_index_rows:after "
        "put.commit:after reconcile.fence:before reconcile.read_index_rows:after reconcile.change_index_rows:after "
        "reconcile.commit:before sweep.look:after query.read_index_rows:after query.check_index:after");
    if (!traffic_.faults || random_() % 2 == 0) {
      return "";
    }
    return fmt::format("{}=sleep:{}", steps[random_() % steps.size()], 1 + random_() % 6);
  }

  bool any_running() {
    for (Place& place : places_) {
      if (place.worker && place.worker->has_ended()) {
        append(fixture_.history, place.worker->finish(fixture_.sessions));
        place.worker.reset();
      }
    }
    return std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.worker != nullptr; });
  }

  void kill_a_worker() {
    const std::size_t place = random_() % places_.size();
    Place& at = places_[place];
    if (!at.worker || at.worker->has_ended()) {
      return;
    }
    const History done = at.worker->kill(fixture_.sessions);
    at.left -= static_cast<int>(done.size());
    append(fixture_.history, done);
    ++kills_;
    at.worker.reset();
    if (at.left > 0) {
      start(place);
    }
  }

  void cut_a_connection() {
    const auto shard = static_cast<std::uint32_t>(random_() % fixture_.cluster.shards());
    std::vector<Session> sessions = fixture_.sessions.on(shard);
    std::erase_if(sessions, [](const Session& session) { return !session.user.starts_with('w'); });
    if (!sessions.empty() && fixture_.sessions.kill(shard, sessions[random_() % sessions.size()])) {
      ++cuts_;
    }
  }

  // clean and verify --repair in turns, which on live traffic must never find a row missing.
  void maintain(const std::stop_token& stop) {
    Datastore store = fixture_.open();
    for (int pass = 0; !stop.stop_requested(); ++pass) {
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      JobControl control;
      try {
        if (pass % 2 == 0) {
          store.clean({}, control);
        } else {
          check_live(store.verify({.tables = {}, .repair = true, .grace_seconds = 0}, control));
        }
      } catch (const Error& error) {  // on busy servers it may run out of time
        CHECK_MESSAGE(error.code() == ErrorCode::unavailable, error.what());
      }
    }
  }

  static void check_live(const VerifyReport& report) {
    for (const auto* findings : {&report.findings, &report.mended}) {
      for (const Finding& finding : *findings) {
        CHECK_MESSAGE((finding.kind == FindingKind::stale || finding.kind == FindingKind::orphan ||
                       finding.kind == FindingKind::duplicate),
                      to_string(finding.kind) << " in " << finding.index << ": " << finding.values);
      }
    }
  }

  HistoryFixture& fixture_;
  const Traffic traffic_;
  std::mt19937_64 random_{traffic_.seed};
  const long long origin_ = monotonic_now();
  std::array<Place, 3> places_;
  int kills_ = 0, cuts_ = 0;
};

// What tells how much a run was worth.
struct Tally {
  std::size_t operations = 0, queries = 0, by_key = 0, merges = 0, overlapping = 0;
  std::map<Outcome, std::size_t> outcomes;
  int kills = 0, cuts = 0;

  void add(const History& history) {
    operations += history.size();
    for (const Operation& operation : history) {
      ++outcomes[operation.outcome];
      queries += operation.action == Action::query ? 1U : 0U;
      by_key += operation.holder.empty() ? 0U : 1U;
      merges += operation.action == Action::merge && operation.outcome == Outcome::done ? 1U : 0U;
    }
    overlapping += overlapping_writes(history);
  }
};

void random_run(const Traffic& traffic, Tally& tally) {
  HistoryFixture fixture(4);  // two on each server, so that the batches of a put have entities of several shards
  TrafficRun run(fixture, traffic);
  run.run();
  fixture.read_all();
  fixture.check_explained({.connections_break = traffic.faults});
  fixture.check_tables();
  tally.add(fixture.history);
  tally.kills += run.kills();
  tally.cuts += run.cuts();
  for (std::uint32_t shard = 0; shard < fixture.cluster.shards(); ++shard) {
    fixture.cluster.server_sql(fixture.cluster.server_of(shard), "DROP DATABASE " + fixture.cluster.database(shard));
  }
}

TEST_CASE("what several processes are told about a few entities has an explanation, whatever is killed") {
  const std::uint64_t seed = run_seed();
  MESSAGE("seed " << seed);
  const int round = full_run() ? 25'000 : 10'000;
  const std::size_t wanted = full_run() ? 1'000'000 : 20'000;
  Tally tally;
  for (std::uint64_t rounds = 0; tally.operations < wanted; ++rounds) {
    random_run({.operations = round, .seed = seed + rounds, .faults = rounds % 2 == 1}, tally);
  }
  CHECK(tally.overlapping > tally.operations / 20);
  CHECK(tally.outcomes[Outcome::done] > tally.operations / 2);
  CHECK(tally.outcomes[Outcome::rejected] > tally.by_key);
  CHECK(tally.by_key > 0);
  CHECK(tally.outcomes[Outcome::refused] > 0);
  CHECK(tally.merges > 0);
  CHECK(tally.outcomes[Outcome::not_found] > 0);
  CHECK(tally.kills > 0);
  CHECK(tally.cuts > 0);
  log_proof("history", {{"operations", fmt::format("{}, of which {} queries", tally.operations, tally.queries)},
                        {"writes that overlapped one by another process", fmt::format("{}", tally.overlapping)},
                        {"rejected", fmt::format("{}, of which {} because of the unique index",
                                                 tally.outcomes[Outcome::rejected], tally.by_key)},
                        {"refused by a condition", fmt::format("{}", tally.outcomes[Outcome::refused])},
                        {"merges", fmt::format("{}", tally.merges)},
                        {"not found", fmt::format("{}", tally.outcomes[Outcome::not_found])},
                        {"failed", fmt::format("{}", tally.outcomes[Outcome::failed])},
                        {"of unknown outcome", fmt::format("{}", tally.outcomes[Outcome::unknown])},
                        {"processes killed", fmt::format("{}", tally.kills)},
                        {"connections cut", fmt::format("{}", tally.cuts)}});
}

// Nothing is complained about without the failpoint.
bool is_only_found_out(const std::string& failpoint, const std::string& earlier, const std::string& lines,
                       const std::string& complaint) {
  const auto complaints_of = [&](const std::string& failpoints) {
    HistoryFixture fixture;
    fixture.run("first", earlier);
    Worker second = fixture.worker("second", lines, failpoints);
    fixture.finish(second);
    fixture.read_all();
    return unexplained(fixture.history);
  };
  const std::vector<std::string> complaints = complaints_of(failpoint + "=skip");
  return complaints_of("").empty() && complaints.size() == 1 && complaints.front().find(complaint) != std::string::npos;
}

TEST_CASE("a process that does not check its conditions is found out" * needs_failpoints) {
  const std::string id = id_of(1);
  CHECK(is_only_found_out("put.check_condition", fmt::format("put\t{}\t{}\n", id, entity(1, R"("key":"ann")")),
                          fmt::format("put_if_absent\t{}\t{}\n", id, entity(1, R"("key":"bob")")), " over nothing"));
}

TEST_CASE("a process that leaves out its index rows is found out by queries that miss entities" * needs_failpoints) {
  CHECK(is_only_found_out("put.insert_index_rows", "",
                          fmt::format("put\t{}\t{}\n", id_of(1), entity(1, R"("color":"blue")")) +
                              "query\tindex_color\tcolor\tblue\tblue\n",
                          "missed the entity in index_color"));
}

TEST_CASE("a process that leaves out its index rows is found out if it takes the key of another entity" *
          needs_failpoints) {
  for (const bool leaves_out : {false, true}) {
    HistoryFixture fixture;
    const auto put = [](int number) {
      return fmt::format("put\t{0}\t{1}\n", id_of(number), entity(number, R"("key":"ann")"));
    };
    fixture.run("first", put(1));
    Worker second = fixture.worker("second", put(2), leaves_out ? "put.insert_index_rows=skip" : "");
    fixture.finish(second);
    CHECK(fixture.history.back().holder == (leaves_out ? "" : id_of(1)));
    const std::vector<std::string> complaints = unexplained(fixture.history);
    REQUIRE(complaints.size() == (leaves_out ? 1 : 0));
    CHECK((!leaves_out || complaints.front().find(" had the key ann") != std::string::npos));
  }
}

}  // namespace
}  // namespace looseleaf::test
