// A network that fails at any moment: each command through proxies that cut, reset, go down or fall silent at a packet.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/proof/network_sweep.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;
using Kind = Verdict::Kind;
using Bodies = std::map<std::string, std::optional<std::string>>;  // by id; absent: there is no such entity

// Judges writes: what was acknowledged is there as it should be; what is called failed is as it was; what is called
// unknown is one of the two.
std::string judge_writes(const cli::ProcessResult& result, Truth& truth, const std::vector<std::string>& ids,
                         const Bodies& before, const Bodies& after) {
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

// A put of entities of the first server that were, or were not, there before.
Trial trial_of_put(NetworkFixture& fixture, const Bodies& before, const Bodies& after) {
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

// Three entities of two shards on one server: a new one, one whose value moves to the other server, one that stays.
Trial put_trial(NetworkFixture& fixture) {
  const std::uint64_t base = 8 * ++fixture.trials;
  const std::string fresh = id_of(base), moves = id_of(base + 2), stays = id_of(base + 4);
  return trial_of_put(fixture, {{fresh, std::nullopt}, {moves, entity(moves, 1, 1)}, {stays, entity(stays, 4, 4)}},
                      {{fresh, entity(fresh, 3, 2)}, {moves, entity(moves, 2, 1)}, {stays, entity(stays, 4, 4)}});
}

// One operation only: an entity whose value moves to the other server.
Trial single_put_trial(NetworkFixture& fixture) {
  const std::string id = id_of(8 * ++fixture.trials);
  return trial_of_put(fixture, {{id, entity(id, 1, 1)}}, {{id, entity(id, 2, 1)}});
}

// One entity with more rows of one index on each shard than one statement inserts: a tag for each number from `first`
// on.
Trial long_put_trial(NetworkFixture& fixture) {
  const std::string id = id_of(8 * ++fixture.trials);
  const auto with_tags = [&](int first) {
    std::vector<int> tags(10'100);
    std::iota(tags.begin(), tags.end(), first);
    return fmt::format(R"({{"id":"{}","n":1,"owner":1,"tags":[{}]}})", id, fmt::join(tags, ","));
  };
  return trial_of_put(fixture, {{id, with_tags(0)}}, {{id, with_tags(5000)}});
}

Trial trial_of_delete(NetworkFixture& fixture, const Bodies& before) {
  std::vector<std::string> ids;
  Bodies after;
  Trial trial;
  trial.arguments = {"delete"};
  for (const auto& [id, body] : before) {
    ids.push_back(id);
    after[id] = std::nullopt;
    trial.arguments.push_back(id);
  }
  trial.ids = ids;
  trial.prepare = [&fixture, before] {
    for (const auto& [id, text] : before) {
      REQUIRE(put_one(fixture.datastore, *text) == WriteStatus::stored);
    }
  };
  trial.judge = [=](const cli::ProcessResult& result, Truth& truth) {
    return judge_writes(result, truth, ids, before, after);
  };
  // What the first run has deleted although it could not say so, or said so, is not found by the second.
  trial.judge_repetition = [=](const cli::ProcessResult& result, Truth& truth) {
    std::string wrong = result.status == 0 || result.status == 1 ? "" : fmt::format("status {}; ", result.status);
    for (const std::string& id : ids) {
      const bool found = contains(result.out, id), not_found = contains(result.err, id);
      wrong += truth.body(id) ? "not deleted: " + id + "; " : "";
      wrong += found == not_found ? "neither deleted nor not found: " + id + "; " : "";
    }
    return wrong + (contains(result.err, "not found") == (result.status == 1) ? "" : "status and messages disagree; ");
  };
  return trial;
}

Trial delete_trial(NetworkFixture& fixture) {
  const std::uint64_t base = 8 * ++fixture.trials;
  const std::string one = id_of(base), other = id_of(base + 2);
  return trial_of_delete(fixture, {{one, entity(one, 1, 2)}, {other, entity(other, 2, 3)}});
}

// One operation only: of two ids the second may be in a batch of its own, which has its own time.
Trial single_delete_trial(NetworkFixture& fixture) {
  const std::string id = id_of(8 * ++fixture.trials);
  return trial_of_delete(fixture, {{id, entity(id, 1, 2)}});
}

// A clean that has stale rows of an entity to delete, beside right ones that must stay.
Trial clean_trial(NetworkFixture& fixture) {
  const std::string id = id_of(8 * ++fixture.trials);
  Trial trial;
  trial.arguments = {"clean"};
  trial.ids = {id};
  trial.prepare = [&fixture, id] {
    REQUIRE(put_one(fixture.datastore, entity(id, 1, 2)) == WriteStatus::stored);
    fixture.cluster.sql(2, "INSERT INTO by_n VALUES (6, x'" + id + "')");
    fixture.cluster.sql(3, "INSERT INTO by_n VALUES (7, x'" + id + "')");
    fixture.cluster.sql(0, cleanup_record({id}));
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
      std::string wrong = result.status == 0 && states != everywhere("ready") ? "the states are " + states + "; " : "";
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
      const bool left = states_of(truth, table) != everywhere("none") || table_exists(truth, table);
      return result.status == 0 && left ? "something of it is left; " : "";
    };
    return trial;
  }

 private:
  static std::string definition(const std::string& table) {
    return R"({"table": ")" + table + R"(", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";
  }

  [[nodiscard]] std::string everywhere(const std::string& state) const {
    return fmt::format("{}", fmt::join(std::vector(fixture_.cluster.shards(), state + " "), ""));
  }

  static std::string states_of(Truth& truth, const std::string& table) {
    std::string states;
    for (std::uint32_t shard = 0; shard < truth.shards(); ++shard) {
      const auto rows =
          truth.query(shard, "SELECT state FROM looseleaf_index WHERE table_name = '" + table + "' LOCK IN SHARE MODE");
      states += (rows.empty() ? "none" : rows.text(0, 0)) + " ";
    }
    return states;
  }

  static bool table_exists(Truth& truth, const std::string& table) {
    const std::string sql =
        "SELECT 1 FROM information_schema.tables WHERE table_name = '" + table + "' AND table_schema = DATABASE()";
    for (std::uint32_t shard = 0; shard < truth.shards(); ++shard) {
      if (!truth.query(shard, sql).empty()) {
        return true;
      }
    }
    return false;
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

// A store for trials of jobs, with the few entities that an index is made of.
struct JobStore {
  NetworkFixture fixture;
  IndexTrials indexes{fixture};
};

// An init that takes an empty shard 1 in place of one that held an index row.
class InitTrials {
 public:
  explicit InitTrials(NetworkFixture& fixture) : fixture_(fixture) {}

  Trial accept() {
    Trial trial;
    trial.arguments = {"init", "--accept-empty-shard", "1"};
    trial.prepare = [this] {
      complete();
      const TestCluster& cluster = fixture_.cluster;
      REQUIRE(cluster.looseleaf({"put"}, entity(id_of(0), 1, 1)).status == 0);
      cluster.server_sql(cluster.server_of(1), "DROP DATABASE " + cluster.database(1));
    };
    trial.judge = [this](const cli::ProcessResult& result, Truth&) -> std::string {
      const std::string state = fixture_.cluster.sql(0, "SELECT DISTINCT state FROM looseleaf_index");
      if (state != "ready\n" && state != "building\n") {
        return "not one state: " + state;
      }
      if (is_joined() && state == "ready\n") {
        return "shard 1 has joined, and an index that lacks its rows is ready; ";
      }
      return result.status == 0 && !is_joined() ? "shard 1 has not joined; " : "";
    };
    return trial;
  }

  // Both indexes on every shard, and ready.
  void complete() const {
    const TestCluster& cluster = fixture_.cluster;
    for (const auto& [table, definition] :
         std::map<std::string, std::string>{{"by_n", by_n_sharded}, {"by_owner", by_owner}}) {
      const std::string file = cluster.directory().write(table + ".json", definition);
      REQUIRE(cluster.looseleaf({"create-index", file, "--backfill"}).status == 0);
    }
  }

 private:
  [[nodiscard]] bool is_joined() const {
    const TestCluster& cluster = fixture_.cluster;
    const std::string table = fmt::format(
        "information_schema.tables WHERE table_schema = '{}' AND table_name = 'looseleaf_shard'", cluster.database(1));
    return cluster.server_sql(cluster.server_of(1), "SELECT COUNT(*) FROM " + table) == "1\n" &&
           cluster.sql(1, "SELECT COUNT(*) FROM looseleaf_shard") == "1\n";
  }

  NetworkFixture& fixture_;
};

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

// Trials on one store, which may be made side by side.
void sweep(NetworkFixture& fixture, const Sweep& sweep, Trial (*make_trial)(NetworkFixture&)) {
  Sweeper({{fixture, [&](std::uint64_t) { return make_trial(fixture); }}}, sweep).run();
}

// Trials of jobs, of which a store has one at a time: in a full run on several stores.
void sweep_jobs(Sweep sweep, const std::function<Trial(JobStore&, std::uint64_t round)>& make_trial) {
  sweep.workers = full_run() ? 4 : 1;
  std::vector<std::unique_ptr<JobStore>> stores;
  std::vector<Stage> stages;
  for (unsigned i = 0; i < sweep.workers; ++i) {
    JobStore& store = *stores.emplace_back(std::make_unique<JobStore>());
    stages.push_back({store.fixture, [&](std::uint64_t round) { return make_trial(store, round); }});
  }
  Sweeper(stages, sweep).run();
  for (const auto& store : stores) {
    store->fixture.check_everything();
  }
}

Trial clean_on(JobStore& store, std::uint64_t) {
  return clean_trial(store.fixture);
}
Trial create_on(JobStore& store, std::uint64_t round) {
  return store.indexes.create(round);
}
Trial drop_on(JobStore& store, std::uint64_t round) {
  return store.indexes.drop(round);
}

TEST_CASE("a put survives one cut of the network at any packet") {
  NetworkFixture fixture;
  sweep(fixture, {.name = "put-cut", .kinds = {Kind::cut, Kind::reset}, .most = 120, .workers = 4}, put_trial);
  fixture.check_everything();
}

TEST_CASE(
    "a put of more rows than one statement inserts survives cuts between its statements, or a network that goes down") {
  NetworkFixture fixture(2);
  fixture.create_index(by_tag);
  Sweep cut = {.name = "long-put-cut", .kinds = {Kind::cut, Kind::reset}, .most = 45, .most_full = 200, .workers = 2};
  Sweep gone = down("long-put-down");
  gone.most = 8;
  gone.most_full = 60;
  sweep(fixture, cut, long_put_trial);
  sweep(fixture, gone, long_put_trial);
  fixture.check_everything();
}

TEST_CASE("a delete survives one cut of the network at any packet") {
  NetworkFixture fixture;
  sweep(fixture, {.name = "delete-cut", .kinds = {Kind::cut, Kind::reset}, .most = 20, .workers = 4}, delete_trial);
  fixture.check_everything();
}

TEST_CASE("clean survives one cut of the network at any packet and deletes nothing that is right") {
  sweep_jobs({.name = "clean-cut", .kinds = {Kind::cut, Kind::reset}, .most = 8}, clean_on);
}

TEST_CASE("create-index and its backfill survive one cut of the network at any packet") {
  sweep_jobs({.name = "create-cut", .kinds = {Kind::cut, Kind::reset}, .most = 6}, create_on);
}

TEST_CASE("drop-index survives one cut of the network at any packet") {
  sweep_jobs({.name = "drop-cut", .kinds = {Kind::cut, Kind::reset}, .most = 4}, drop_on);
}

TEST_CASE("a put through a network that goes down at any packet ends in time and says truly what became of it") {
  NetworkFixture fixture;
  Sweep gone = down("put-down");
  gone.most = 12;
  gone.workers = 4;
  sweep(fixture, gone, put_trial);
  fixture.check_everything();
}

TEST_CASE("a put through a network that falls silent at any packet ends in time and says truly what became of it") {
  NetworkFixture fixture;
  Sweep hanging = silent("put-silent");
  hanging.most = 8;
  hanging.most_full = 200;
  hanging.workers = 8;
  sweep(fixture, hanging, single_put_trial);
  fixture.check_everything();
}

TEST_CASE("a delete through a network that goes down or falls silent ends in time and says truly what became of it") {
  NetworkFixture fixture;
  sweep(fixture, down("delete-down"), delete_trial);
  sweep(fixture, silent("delete-silent"), single_delete_trial);
  fixture.check_everything();
}

TEST_CASE("a clean through a network that goes down or falls silent ends in time and deletes nothing that is right") {
  sweep_jobs(of_job(down("clean-down")), clean_on);
  sweep_jobs(of_job(silent("clean-silent")), clean_on);
}

TEST_CASE("a create-index through a network that goes down or falls silent ends in time, and again it gets there") {
  sweep_jobs(of_job(down("create-down")), create_on);
  sweep_jobs(of_job(silent("create-silent")), create_on);
}

TEST_CASE(
    "an init that takes an empty shard in, and has to give up at any packet, leaves no index ready that lacks its "
    "rows") {
  NetworkFixture fixture;
  InitTrials trials(fixture);
  Sweep sweep = of_job(down("init-down"));
  sweep.most = 8;
  Sweeper({{fixture, [&](std::uint64_t) { return trials.accept(); }}}, sweep).run();
  trials.complete();
  fixture.check_everything();
}

}  // namespace
}  // namespace looseleaf::test
