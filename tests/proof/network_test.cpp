// A network that fails at any moment: each command through proxies that cut, reset, stall or go dead at a packet.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "base/failpoint.hpp"
#include "tests/integration/store_fixture.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/hint_wording.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = Verdict::Kind;

constexpr const char* by_n = R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";
constexpr const char* by_owner =
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "int"}], "shard_on": "owner",
        "immutable": true})";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Its shard is number % 2.
std::string id_of(std::uint64_t number) {
  return fmt::format("018f2c4e1a2b7c3d8e4f{:012x}", number);
}

std::string entity(const std::string& id, std::int64_t n, std::int64_t owner) {
  return fmt::format(R"({{"id":"{}","n":{},"owner":{}}})", id, n, owner);
}

// What is on the servers, seen past the proxies and by SQL of our own. Locking reads wait for who is still writing.
class Truth {
 public:
  explicit Truth(const StoreFixture& fixture) : shards_(fixture.shards()) {}

  // The body; absent for a tombstone, and if there is no row.
  [[nodiscard]] std::optional<std::string> body(const std::string& id) {
    const auto rows =
        query(shard_of_number(id), "SELECT UNCOMPRESS(body) FROM entities WHERE id = x'" + id + "' LOCK IN SHARE MODE");
    return rows.empty() ? std::nullopt : rows.cell(0, 0);
  }

  // The index rows that the committed entity calls for and that are not there.
  [[nodiscard]] std::string missing_rows(const std::string& id) {
    std::string missing;
    const auto text = body(id);
    const auto json = text ? nlohmann::json::parse(*text) : nlohmann::json::object();
    for (const auto& [table, property] : std::map<std::string, std::string>{{"by_n", "n"}, {"by_owner", "owner"}}) {
      if (json.contains(property) && !has_row(table, property, json[property].get<std::int64_t>(), id)) {
        missing += fmt::format("{} of {} has no row in {}; ", property, id, table);
      }
    }
    return missing;
  }

  [[nodiscard]] bool has_row(const std::string& table, const std::string& property, std::int64_t value,
                             const std::string& id) {
    return !query(static_cast<std::uint32_t>(value % 2), fmt::format("SELECT 1 FROM {} WHERE {} = {} AND entity_id = "
                                                                     "x'{}'",
                                                                     table, property, value, id))
                .empty();
  }

  sql::Result query(std::uint32_t shard, const std::string& sql) {
    const base::Deadline deadline = shards_.deadline();
    return store::with_shard(shards_, shard, deadline,
                             [&](sql::Connection& connection) { return connection.query(sql); });
  }

 private:
  static std::uint32_t shard_of_number(const std::string& id) {
    return static_cast<std::uint32_t>(std::stoul(id.substr(id.size() - 1), nullptr, 16) % 2);
  }

  store::Shards shards_;
};

// A proxy before each shard, and a cluster file that leads through them.
class Route {
 public:
  explicit Route(const TestCluster& cluster, const std::string& name = "route")
      : proxies_{std::make_unique<FaultProxy>(cluster.socket(0)), std::make_unique<FaultProxy>(cluster.socket(1))} {
    file_ = cluster.directory().write(
        name + ".json",
        fmt::format(R"({{"shards": ["127.0.0.1:{}/{}", "127.0.0.1:{}/{}"], "user": "root", "ssl_mode": "disabled",
                        "defaults_file": "{}"}})",
                    proxy(0).port(), cluster.database(0), proxy(1).port(), cluster.database(1),
                    cluster.defaults_file()));
  }

  [[nodiscard]] FaultProxy& proxy(std::uint32_t shard) const { return *proxies_.at(shard); }
  void heal() const {
    for (const auto& proxy : proxies_) {
      proxy->heal();
    }
  }
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"looseleaf", "--cluster", file_});
    return arguments;
  }

 private:
  std::array<std::unique_ptr<FaultProxy>, 2> proxies_;
  std::string file_;
};

// One run of a command, on entities that no other run touches.
struct Trial {
  std::vector<std::string> arguments;
  std::string input;
  std::vector<std::string> ids;           // whose index rows must be there, whatever happens
  std::function<void()> prepare = [] {};  // past the proxies
  // What is wrong after a run that ended so; empty if nothing is.
  std::function<std::string(const cli::ProcessResult&, Truth&)> judge;
};

// Where a fault strikes.
struct Boundary {
  std::uint32_t shard;
  Direction direction;
  std::uint64_t packet;

  [[nodiscard]] std::string text() const {
    return fmt::format("packet {} {} {}", packet, direction == Direction::to_server ? "to" : "from", shard);
  }
};

struct Sweep {
  std::string name;
  std::vector<Kind> kinds;                  // taken in turns; in a full run each at every boundary
  bool recovers = true;                     // the network fails once, so the command must succeed
  std::string timeout = "10";               // --timeout
  std::chrono::milliseconds longest = 12s;  // the longest call: --timeout, and 2 s for a machine that is busy
  std::size_t most = 0;                     // boundaries in a short run, evenly spread; 0: all
  std::size_t most_full = 0;                // the same in a full run
  unsigned workers = 1;
};

class Sweeper {
 public:
  Sweeper(StoreFixture& fixture, Sweep sweep, std::function<Trial(std::uint64_t)> make_trial)
      : fixture_(fixture), sweep_(std::move(sweep)), make_trial_(std::move(make_trial)) {}

  // Counts the packets of an undisturbed run, then runs once for each boundary, and says how it went.
  void run() {
    const std::vector<std::pair<Boundary, Kind>> plan = choose(count_packets());
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned worker = 0; worker < sweep_.workers; ++worker) {
      workers.emplace_back([&, worker] {
        const Route route(fixture_.cluster, fmt::format("{}{}", sweep_.name, worker));
        Truth truth(fixture_);
        for (std::size_t i = next++; i < plan.size(); i = next++) {
          strike(route, truth, plan[i].first, plan[i].second, i + 1);
        }
      });
    }
    workers.clear();
    for (const std::string& complaint : complaints_) {
      MESSAGE(complaint);
    }
    CHECK(complaints_.empty());
    CHECK(struck_ >= plan.size() * 9 / 10);
    log_proof("network-" + sweep_.name, {{"seed", fmt::format("{}", seed_)},
                                         {"boundaries", fmt::format("{} of {}", plan.size(), boundaries_)},
                                         {"faults that struck", fmt::format("{}", struck_)},
                                         {"status 0", fmt::format("{}", by_status_[0])},
                                         {"status 3", fmt::format("{}", by_status_[3])},
                                         {"outcome unknown", fmt::format("{}", unknown_)},
                                         {"--timeout", sweep_.timeout + " s"},
                                         {"longest call", fmt::format("{} ms, {}", longest_.count(), longest_at_)}});
  }

 private:
  std::vector<Boundary> count_packets() {
    const Route route(fixture_.cluster, sweep_.name);
    Truth truth(fixture_);
    const Trial trial = make_trial_(0);
    trial.prepare();
    const cli::ProcessResult result = looseleaf::test::run(route.command(trial.arguments), trial.input);
    INFO(result.err);
    REQUIRE(result.status == 0);
    REQUIRE(complaint(result, trial, truth, 0ms) == "");
    std::vector<Boundary> boundaries;
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      for (const Direction direction : {Direction::to_server, Direction::to_client}) {
        for (std::uint64_t packet = 1; packet <= route.proxy(shard).seen(direction); ++packet) {
          boundaries.push_back({shard, direction, packet});
        }
      }
    }
    boundaries_ = boundaries.size();
    return boundaries;
  }

  [[nodiscard]] std::vector<std::pair<Boundary, Kind>> choose(const std::vector<Boundary>& all) const {
    std::vector<std::pair<Boundary, Kind>> plan;
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

  // Every request that there is room for, and replies evenly spread over the rest.
  [[nodiscard]] std::vector<std::pair<Boundary, Kind>> sample(const std::vector<std::pair<Boundary, Kind>>& plan,
                                                              std::size_t most) const {
    std::vector<std::pair<Boundary, Kind>> requests, replies;
    for (const auto& entry : plan) {
      (entry.first.direction == Direction::to_server ? requests : replies).push_back(entry);
    }
    std::vector<std::pair<Boundary, Kind>> chosen;
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

  void strike(const Route& route, Truth& truth, const Boundary& boundary, Kind kind, std::uint64_t round) {
    const Trial trial = make_trial_(round);
    trial.prepare();
    std::vector<std::string> command = route.command(trial.arguments);
    command.insert(command.end(), {"--timeout", sweep_.timeout});
    FaultProxy& proxy = route.proxy(boundary.shard);
    proxy.judge_by(at_packet(boundary.direction, boundary.packet, {kind, 60s}));
    const auto begin = Clock::now();
    const cli::ProcessResult result = looseleaf::test::run(command, trial.input);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    const std::string struck = proxy.struck();
    route.heal();
    std::string wrong;
    try {
      wrong = complaint(result, trial, truth, took);
      if (wrong.empty() && result.status != 0) {
        wrong = complaint_of_repetition(route, trial, truth);
      }
    } catch (const Error& error) {
      wrong = std::string("cannot be judged: ") + error.what();
    }
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

  // What is wrong with a run that ended so.
  std::string complaint(const cli::ProcessResult& result, const Trial& trial, Truth& truth,
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
      wrong += "took too long; ";
    }
    for (const std::string& id : trial.ids) {
      wrong += truth.missing_rows(id);
    }
    return wrong + trial.judge(result, truth);
  }

  // Once the network is well again the same command gets there.
  std::string complaint_of_repetition(const Route& route, const Trial& trial, Truth& truth) const {
    const cli::ProcessResult again = looseleaf::test::run(route.command(trial.arguments), trial.input);
    const std::string wrong = again.status == 0 ? complaint(again, trial, truth, 0ms) : "status not 0";
    return wrong.empty() ? "" : fmt::format("repeated: {}\n{}", wrong, again.err);
  }

  StoreFixture& fixture_;
  const Sweep sweep_;
  const std::function<Trial(std::uint64_t)> make_trial_;
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

// Two indexes, whose rows are on the shard of the value.
struct NetworkFixture : StoreFixture {
  NetworkFixture() {
    create_index(by_n);
    create_index(by_owner);
  }

  // After everything: no row is missing, and what is too much goes.
  void check_everything() {
    for (const std::string& finding : findings()) {
      CHECK_MESSAGE(!finding.starts_with("missing"), finding);
    }
    JobControl control;
    datastore.clean({.full = true}, control);
    CHECK(findings().empty());
  }

  std::atomic<std::uint64_t> trials = 0;
};

// Judges writes: what was acknowledged is there as it should be; what is called failed is as it was; what is called
// unknown is one of the two.
std::string judge_writes(const cli::ProcessResult& result, Truth& truth, const std::vector<std::string>& ids,
                         const std::map<std::string, std::optional<std::string>>& before,
                         const std::map<std::string, std::optional<std::string>>& after) {
  std::string wrong;
  const std::vector<std::string> printed = lines_of(result.out);
  if (result.status == 0 && printed != ids) {
    wrong += "not every id was printed in order and once; ";
  }
  const bool unknown = contains(result.err, "outcome of the commit is unknown");
  for (const std::string& id : ids) {
    const auto now = truth.body(id);
    const bool acknowledged = std::find(printed.begin(), printed.end(), id) != printed.end();
    if (acknowledged && now != after.at(id)) {
      wrong += "acknowledged but not there: " + id + "; ";
    }
    if (!acknowledged && now != before.at(id) && (!unknown || now != after.at(id))) {
      wrong += "called failed but written: " + id + "; ";
    }
  }
  return wrong;
}

// A put of entities of shard 0 that were, or were not, there before.
Trial trial_of_put(NetworkFixture& fixture, const std::map<std::string, std::optional<std::string>>& before,
                   const std::map<std::string, std::optional<std::string>>& after) {
  Trial trial;
  trial.arguments = {"put"};
  std::vector<std::string> there;
  for (const auto& [id, body] : after) {
    trial.ids.push_back(id);
    trial.input += *body + "\n";
    if (before.at(id)) {
      there.push_back(*before.at(id));
    }
  }
  trial.prepare = [&fixture, there] {
    for (const WriteResult& result : fixture.datastore.put(there)) {
      REQUIRE(result.status == WriteStatus::stored);
    }
  };
  trial.judge = [=, ids = trial.ids](const cli::ProcessResult& result, Truth& truth) {
    return judge_writes(result, truth, ids, before, after);
  };
  return trial;
}

// Three entities: a new one, one whose value moves to the other index shard, one that stays.
Trial put_trial(NetworkFixture& fixture, std::uint64_t) {
  const std::uint64_t base = 8 * ++fixture.trials;
  const std::string fresh = id_of(base), moves = id_of(base + 2), stays = id_of(base + 4);
  return trial_of_put(fixture, {{fresh, std::nullopt}, {moves, entity(moves, 1, 1)}, {stays, entity(stays, 4, 4)}},
                      {{fresh, entity(fresh, 3, 2)}, {moves, entity(moves, 2, 1)}, {stays, entity(stays, 4, 4)}});
}

// One operation only: an entity whose value moves to the other index shard.
Trial single_put_trial(NetworkFixture& fixture, std::uint64_t) {
  const std::string id = id_of(8 * ++fixture.trials);
  return trial_of_put(fixture, {{id, entity(id, 1, 1)}}, {{id, entity(id, 2, 1)}});
}

Trial delete_trial(NetworkFixture& fixture, std::uint64_t) {
  const std::uint64_t base = 8 * ++fixture.trials;
  const std::vector<std::string> ids = {id_of(base), id_of(base + 2)};
  const std::map<std::string, std::optional<std::string>> before = {{ids[0], entity(ids[0], 1, 2)},
                                                                    {ids[1], entity(ids[1], 2, 3)}};
  const std::map<std::string, std::optional<std::string>> after = {{ids[0], std::nullopt}, {ids[1], std::nullopt}};
  Trial trial;
  trial.arguments = {"delete", ids[0], ids[1]};
  trial.ids = ids;
  trial.prepare = [&fixture, before] {
    for (const auto& [id, text] : before) {
      REQUIRE(put_one(fixture.datastore, *text) == WriteStatus::stored);
    }
  };
  trial.judge = [=](const cli::ProcessResult& result, Truth& truth) {
    return judge_writes(result, truth, ids, before, after);
  };
  return trial;
}

// A clean that has stale rows of changed entities to delete, beside right ones that must stay.
Trial clean_trial(NetworkFixture& fixture, std::uint64_t) {
  const std::string id = id_of(8 * ++fixture.trials);
  Trial trial;
  trial.arguments = {"clean"};
  trial.ids = {id};
  trial.prepare = [&fixture, id] {
    REQUIRE(put_one(fixture.datastore, entity(id, 1, 2)) == WriteStatus::stored);
    fixture.cluster.sql(0, "INSERT INTO by_n VALUES (6, x'" + id + "')");
    fixture.cluster.sql(1, "INSERT INTO by_n VALUES (7, x'" + id + "')");
  };
  trial.judge = [=](const cli::ProcessResult& result, Truth& truth) -> std::string {
    const bool stale = truth.has_row("by_n", "n", 6, id) || truth.has_row("by_n", "n", 7, id);
    return result.status == 0 && stale ? "a stale row was left; " : "";
  };
  return trial;
}

// An index by n, of a name of its own, over a few entities.
class IndexTrials {
 public:
  explicit IndexTrials(NetworkFixture& fixture) : fixture_(fixture) {
    for (std::uint64_t i = 0; i < 6; ++i) {
      ids_.push_back(id_of(i));
      REQUIRE(put_one(fixture.datastore, entity(ids_.back(), static_cast<std::int64_t>(i / 2), 1)) ==
              WriteStatus::stored);
    }
  }

  Trial create(std::uint64_t round) {
    const std::string table = fmt::format("made_{}", round);
    Trial trial;
    trial.arguments = {"create-index", fixture_.cluster.directory().write(table + ".json", definition(table)),
                       "--backfill"};
    trial.prepare = [this] { drop_last(); };
    trial.judge = [this, table](const cli::ProcessResult& result, Truth& truth) {
      last_ = table;
      const std::string states = states_of(truth, table);
      std::string wrong = result.status == 0 && states != "ready ready " ? "the states are " + states + "; " : "";
      return wrong + (contains(states, "ready") ? missing_rows(truth, table) : "");
    };
    return trial;
  }

  Trial drop(std::uint64_t round) {
    const std::string table = fmt::format("made_{}", round);
    Trial trial;
    trial.arguments = {"drop-index", table, "--yes"};
    trial.prepare = [this, table] {
      fixture_.create_index(definition(table));
      JobControl control;
      fixture_.datastore.backfill({.tables = {table}}, control);
    };
    trial.judge = [this, table](const cli::ProcessResult& result, Truth& truth) -> std::string {
      const bool left = states_of(truth, table) != "none none " || table_exists(truth, table);
      return result.status == 0 && left ? "something of it is left; " : "";
    };
    return trial;
  }

 private:
  static std::string definition(const std::string& table) {
    return R"({"table": ")" + table + R"(", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";
  }

  static std::string states_of(Truth& truth, const std::string& table) {
    std::string states;
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const auto rows =
          truth.query(shard, "SELECT state FROM looseleaf_index WHERE table_name = '" + table + "' LOCK IN SHARE MODE");
      states += (rows.empty() ? "none" : rows.text(0, 0)) + " ";
    }
    return states;
  }

  static bool table_exists(Truth& truth, const std::string& table) {
    const std::string sql =
        "SELECT 1 FROM information_schema.tables WHERE table_name = '" + table + "' AND table_schema = DATABASE()";
    return !truth.query(0, sql).empty() || !truth.query(1, sql).empty();
  }

  std::string missing_rows(Truth& truth, const std::string& table) {
    std::string missing;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (!truth.has_row(table, "n", static_cast<std::int64_t>(i / 2), ids_[i])) {
        missing += "no row of " + ids_[i] + "; ";
      }
    }
    return missing;
  }

  void drop_last() {
    if (!last_.empty()) {
      fixture_.datastore.drop_index(last_, {});
      last_.clear();
    }
  }

  NetworkFixture& fixture_;
  std::vector<std::string> ids_;
  std::string last_;
};

TEST_CASE("a put survives one cut of the network at any packet") {
  NetworkFixture fixture;
  Sweeper(fixture, {.name = "put-cut", .kinds = {Kind::cut, Kind::reset}, .most = 120, .workers = 4},
          [&](std::uint64_t round) { return put_trial(fixture, round); })
      .run();
  fixture.check_everything();
}

TEST_CASE("a delete survives one cut of the network at any packet") {
  NetworkFixture fixture;
  Sweeper(fixture, {.name = "delete-cut", .kinds = {Kind::cut, Kind::reset}, .most = 20, .workers = 4},
          [&](std::uint64_t round) { return delete_trial(fixture, round); })
      .run();
  fixture.check_everything();
}

TEST_CASE("clean survives one cut of the network at any packet and deletes nothing that is right") {
  NetworkFixture fixture;
  Sweeper(fixture, {.name = "clean-cut", .kinds = {Kind::cut, Kind::reset}, .most = 8}, [&](std::uint64_t round) {
    return clean_trial(fixture, round);
  }).run();
  fixture.check_everything();
}

TEST_CASE("create-index and its backfill survive one cut of the network at any packet") {
  NetworkFixture fixture;
  IndexTrials trials(fixture);
  Sweeper(fixture, {.name = "create-cut", .kinds = {Kind::cut, Kind::reset}, .most = 6}, [&](std::uint64_t round) {
    return trials.create(round);
  }).run();
  fixture.check_everything();
}

TEST_CASE("drop-index survives one cut of the network at any packet") {
  NetworkFixture fixture;
  IndexTrials trials(fixture);
  Sweeper(fixture, {.name = "drop-cut", .kinds = {Kind::cut, Kind::reset}, .most = 4}, [&](std::uint64_t round) {
    return trials.drop(round);
  }).run();
  fixture.check_everything();
}

TEST_CASE("a put through a network that goes down at any packet ends in time and says truly what became of it") {
  NetworkFixture fixture;
  Sweeper(fixture,
          {.name = "put-down",
           .kinds = {Kind::down},
           .recovers = false,
           .timeout = "1",
           .longest = 4s,
           .most = 12,
           .workers = 4},
          [&](std::uint64_t round) { return put_trial(fixture, round); })
      .run();
  fixture.check_everything();
}

TEST_CASE("a put through a network that falls silent at any packet ends in time and says truly what became of it") {
  NetworkFixture fixture;
  Sweeper(fixture,
          {.name = "put-silent",
           .kinds = {Kind::silent},
           .recovers = false,
           .timeout = "6",
           .longest = 10s,
           .most = 8,
           .most_full = 200,
           .workers = 8},
          [&](std::uint64_t round) { return single_put_trial(fixture, round); })
      .run();
  fixture.check_everything();
}

// A job has many operations, each of which has its time; those before the network fails need some too.
constexpr std::chrono::milliseconds rest_of_job = 8s;

Sweep down(const std::string& name) {
  return {.name = name, .kinds = {Kind::down}, .recovers = false, .timeout = "1", .longest = 4s, .most = 4};
}

// A statement may take 3 s, and what is tried last is given the rest of the time in whole seconds.
Sweep silent(const std::string& name) {
  return {.name = name,
          .kinds = {Kind::silent},
          .recovers = false,
          .timeout = "6",
          .longest = 10s,
          .most = 3,
          .most_full = 60};
}

Sweep of_job(Sweep sweep) {
  sweep.longest += rest_of_job;
  return sweep;
}

TEST_CASE("a delete through a network that goes down or falls silent ends in time and says truly what became of it") {
  NetworkFixture fixture;
  for (const Sweep& sweep : {down("delete-down"), silent("delete-silent")}) {
    Sweeper(fixture, sweep, [&](std::uint64_t round) { return delete_trial(fixture, round); }).run();
  }
  fixture.check_everything();
}

TEST_CASE("a clean through a network that goes down or falls silent ends in time and deletes nothing that is right") {
  NetworkFixture fixture;
  for (const Sweep& sweep : {of_job(down("clean-down")), of_job(silent("clean-silent"))}) {
    Sweeper(fixture, sweep, [&](std::uint64_t round) { return clean_trial(fixture, round); }).run();
  }
  fixture.check_everything();
}

TEST_CASE("a create-index through a network that goes down or falls silent ends in time, and again it gets there") {
  NetworkFixture fixture;
  IndexTrials trials(fixture);
  for (const Sweep& sweep : {of_job(down("create-down")), of_job(silent("create-silent"))}) {
    Sweeper(fixture, sweep, [&](std::uint64_t round) { return trials.create(round); }).run();
  }
  fixture.check_everything();
}

// One entity of shard 0, a route to the cluster, and what happens on it.
struct LateFixture : NetworkFixture {
  // The command on its way through the proxies, beside the test.
  [[nodiscard]] cli::Process start(std::vector<std::string> arguments, std::string_view input = {},
                                   const std::string& failpoint = {}) const {
    std::vector<std::string> command = route.command(std::move(arguments));
    command[0] = looseleaf_program();
    command.insert(command.begin(), {"env", "LOOSELEAF_FAILPOINT=" + failpoint});
    return looseleaf::test::start(std::move(command), input);
  }

  void put_directly(std::int64_t n, std::int64_t owner) {
    REQUIRE(put_one(datastore, entity(id, n, owner)) == WriteStatus::stored);
  }

  void check_nothing_missing() {
    CHECK(truth.missing_rows(id) == "");
    check_everything();
  }

  // Waits for a row to appear on its shard.
  [[nodiscard]] bool arrives(const std::string& table, const std::string& property, std::int64_t value) {
    return happens([&] { return truth.has_row(table, property, value, id); });
  }

  // How often a statement of this kind was executed on a shard's server.
  [[nodiscard]] std::uint64_t executed(std::uint32_t shard, const std::string& kind) {
    return truth.query(shard, "SHOW GLOBAL STATUS LIKE 'Com_" + kind + "'").unsigned_integer(0, 1);
  }

  static bool happens(const std::function<bool()>& condition, Clock::duration within = 20s) {
    const auto give_up = Clock::now() + within;
    while (!condition()) {
      if (Clock::now() > give_up) {
        return false;
      }
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }

  const std::string id = id_of(0);
  Route route{cluster};
  Truth truth{*this};
};

void check_acknowledged(const cli::ProcessResult& result, const std::string& id) {
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK(result.out == id + "\n");
}

TEST_CASE("a commit whose answer is lost is looked up and acknowledged, and not done twice") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(0).judge_by(at_statement(Direction::to_client, "COMMIT", {Kind::cut}));
  SUBCASE("of a put") {
    check_acknowledged(fixture.start({"put"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
    CHECK(fixture.truth.body(fixture.id) == entity(fixture.id, 2, 1));
  }
  SUBCASE("of a delete") {
    check_acknowledged(fixture.start({"delete", fixture.id}).wait(), fixture.id);
    CHECK_FALSE(fixture.truth.body(fixture.id).has_value());
  }
  CHECK(fixture.route.proxy(0).struck() == "COMMIT");
  fixture.check_nothing_missing();
}

TEST_CASE("what another process was told is stored is not undone by a commit in doubt") {
  if (!base::failpoints_enabled) {
    MESSAGE("skipped: this build has no failpoints");
    return;
  }
  LateFixture fixture;
  fixture.put_directly(1, 1);
  for (const Direction lost : {Direction::to_client, Direction::to_server}) {  // the answer; the COMMIT itself
    for (const bool is_put : {true, false}) {
      CAPTURE(static_cast<int>(lost));
      CAPTURE(is_put);
      fixture.route.proxy(0).judge_by(at_statement(lost, "COMMIT", {Kind::cut}));
      cli::Process process = is_put ? fixture.start({"put"}, entity(fixture.id, 2, 1), "put.resolve:before#1=stop")
                                    : fixture.start({"delete", fixture.id}, {}, "put.resolve:before#1=stop");
      REQUIRE(wait_until_stopped(process));
      fixture.put_directly(4, 1);
      process.signal(SIGCONT);
      check_acknowledged(process.wait(), fixture.id);
      CHECK(fixture.truth.body(fixture.id) == entity(fixture.id, 4, 1));
      fixture.route.heal();
    }
  }
  fixture.check_nothing_missing();
}

TEST_CASE("a commit that comes after its client has given up was called unknown, and lacks no index row") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(0).judge_by(at_statement(Direction::to_server, "COMMIT", {Kind::stall, 60s}));
  const cli::ProcessResult result = fixture.start({"put", "--timeout", "1"}, entity(fixture.id, 2, 1)).wait();
  CHECK(result.status == 3);
  CHECK(result.out.empty());
  CHECK_MESSAGE(contains(result.err, "looseleaf: error: outcome of the commit is unknown\n"), result.err);
  CHECK(contains(result.err, "hint: read the entity, or put it again: a put may be repeated\n"));
  fixture.route.heal();
  CHECK(LateFixture::happens([&] { return fixture.truth.body(fixture.id) == entity(fixture.id, 2, 1); }));
  fixture.check_nothing_missing();
}

TEST_CASE("an index row that arrives when its entity has changed again misleads nobody and is cleaned up") {
  LateFixture fixture;
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "INSERT INTO by_n", {Kind::stall, 60s}));
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 1, 1)).wait(), fixture.id);
  fixture.put_directly(2, 1);
  REQUIRE_FALSE(fixture.truth.has_row("by_n", "n", 1, fixture.id));
  fixture.route.heal();
  CHECK(fixture.arrives("by_n", "n", 1));
  CHECK(fixture.query("by_n", {"n=1"}).empty());
  CHECK(fixture.findings().size() == 1);
  fixture.check_nothing_missing();
}

TEST_CASE("a row of a UNIQUE index that arrives late neither blocks nor replaces the right one") {
  LateFixture fixture;
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "INSERT INTO by_owner", {Kind::stall, 60s}));
  const cli::ProcessResult failed = fixture.start({"put", "--timeout", "1"}, entity(fixture.id, 2, 1)).wait();
  REQUIRE(fixture.route.proxy(1).struck().starts_with("INSERT INTO by_owner"));
  if (failed.status == 0) {  // the second try was in time
    REQUIRE(fixture.datastore.remove({*Uuid::parse(fixture.id)}).front().status == WriteStatus::stored);
  }
  SUBCASE("before the right one") {
    fixture.route.heal();
    REQUIRE(fixture.arrives("by_owner", "owner", 1));
    fixture.put_directly(2, 3);
  }
  SUBCASE("after the right one") {
    fixture.put_directly(2, 3);
    const std::uint64_t before = fixture.executed(1, "insert");
    fixture.route.heal();
    REQUIRE(LateFixture::happens([&] { return fixture.executed(1, "insert") > before; }));
  }
  CHECK(fixture.truth.has_row("by_owner", "owner", 3, fixture.id));
  CHECK_FALSE(fixture.truth.has_row("by_owner", "owner", 1, fixture.id));
  fixture.check_nothing_missing();
}

TEST_CASE("a delete of reconcile that arrives late does not remove a row that became right again") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "DELETE by_n", {Kind::stall, 60s}));
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
  REQUIRE(fixture.route.proxy(1).struck().starts_with("DELETE by_n"));
  fixture.put_directly(1, 1);
  const std::uint64_t before = fixture.executed(1, "delete_multi");
  fixture.route.heal();
  REQUIRE(LateFixture::happens([&] { return fixture.executed(1, "delete_multi") > before; }));
  fixture.check_nothing_missing();
}

TEST_CASE("a commit of reconcile that arrives late does not remove a row that became right again") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "COMMIT", {Kind::stall, 60s}));
  check_acknowledged(fixture.start({"put", "--timeout", "20"}, entity(fixture.id, 2, 1)).wait(), fixture.id);
  REQUIRE(fixture.route.proxy(1).struck() == "COMMIT");
  cli::Process right_again =
      looseleaf::test::start({"looseleaf", "--cluster", fixture.cluster.file(), "put"}, entity(fixture.id, 1, 1));
  std::this_thread::sleep_for(1s);  // it waits for the row that is being deleted
  CHECK(right_again.out().empty());
  fixture.route.heal();
  check_acknowledged(right_again.wait(), fixture.id);
  fixture.check_nothing_missing();
}

TEST_CASE("a DROP TABLE that arrives late does not take the table of an index that was created since") {
  LateFixture fixture;
  fixture.put_directly(1, 1);
  fixture.route.proxy(1).judge_by(at_statement(Direction::to_server, "DROP TABLE by_n", {Kind::stall, 60s}));
  REQUIRE(fixture.start({"drop-index", "by_n", "--yes", "--timeout", "2"}).wait().status == 3);
  REQUIRE(fixture.route.proxy(1).struck() == "DROP TABLE by_n");
  std::jthread arrival([&] {
    std::this_thread::sleep_for(2s);
    fixture.route.heal();
  });
  fixture.datastore.drop_index("by_n");
  fixture.create_index(by_n);
  JobControl control;
  fixture.datastore.backfill({.tables = {"by_n"}}, control);
  arrival.join();
  const std::string table =
      "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'by_n'";
  CHECK_FALSE(LateFixture::happens([&] { return fixture.truth.query(1, table).empty(); }, 1s));
  CHECK(fixture.query("by_n", {"n=1"}) == std::vector<std::string>{fixture.id});
  fixture.check_nothing_missing();
}

}  // namespace
}  // namespace looseleaf::test
