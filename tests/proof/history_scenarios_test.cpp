// Interleavings that hardly ever happen by themselves, each forced by stopping processes at steps of the protocol.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include "reconcile/reconcile.hpp"
#include "reconcile/sweep.hpp"
#include "shard/placement.hpp"
#include "sql/literals.hpp"
#include "tests/proof/history_processes.hpp"
#include "tests/support/entities.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

std::string put(int number, const std::string& members) {
  return fmt::format("put\t{}\t{}\n", id_of(number), entity(number, members));
}

std::string remove(int number) {
  return "remove\t" + id_of(number) + "\n";
}

std::string get(int number) {
  return "get\t" + id_of(number) + "\n";
}

// A value whose index row is on shard 1 of two.
std::string on_shard_1(const std::string& stem) {
  std::string value = stem;
  while (shard::shard_of(std::string_view(value), 2) != 1) {
    value += stem;
  }
  return value;
}

struct HistoryScenario : HistoryFixture {
  void check_all() {
    read_all();
    check_explained();
    check_tables();
  }

  [[nodiscard]] const Operation& operation(const std::string& name) const {
    return *std::find_if(history.begin(), history.end(), [&](const Operation& one) { return one.name == name; });
  }

  // How an INSERT into a table of a shard begins.
  [[nodiscard]] std::string insert_into(std::uint32_t shard, const std::string& table) const {
    return fmt::format("INSERT INTO {} ", sql::qualified(cluster.database(shard), table));
  }

  void wait_for_insert(const std::string& user, std::uint32_t shard, const std::string& table) {
    const std::string insert = insert_into(shard, table);
    wait_for(user + " to wait for an INSERT", [&] {
      const auto waiting = sessions.of(user, shard);
      return std::any_of(waiting.begin(), waiting.end(),
                         [&](const Session& session) { return session.statement.starts_with(insert); });
    });
  }
};

TEST_CASE("of two processes that put new ids at the same moments one comes first, and nothing is lost") {
  const int ids = full_run() ? 1000 : 250;
  HistoryScenario scenario;
  const auto commands = [&](const std::string& who, const std::string& other) {
    const std::string directory = scenario.cluster.directory().path() + "/";
    std::string lines;
    for (int number = 0; number < ids; ++number) {
      const std::string owner = number % 2 == 0 ? fmt::format(R"(,"owner":"{}")", who) : "";
      lines += fmt::format("meet\t{0}{1}\t{0}{2}\n", directory, who, other);
      lines += put(number, fmt::format(R"("color":"{}"{})", who, owner));
    }
    return lines;
  };
  std::string queries;
  for (int number = 0; number < ids; ++number) {
    queries += number % 2 == 0 ? "query\tindex_color\tcolor\ta\tz\n" : "query\tindex_owner\towner\tbob\tbob\n";
  }
  Worker ann = scenario.worker("ann", commands("ann", "bob")), bob = scenario.worker("bob", commands("bob", "ann")),
         reader = scenario.worker("eve", queries);
  scenario.finish(ann);
  scenario.finish(bob);
  scenario.finish(reader);
  CHECK(overlapping_writes(scenario.history) > static_cast<std::size_t>(ids) / 2);
  scenario.check_all();
}

// A writer of a new id is stopped at a step of its put, another one puts the same id, and the first goes on. Who has
// just put a new id takes the next one for new too, and does not look for it.
struct Race {
  std::string name, stop;
  bool first_looks = true, other_looks = true;
  bool other_waits = false;  // for the first one's INSERT, in its own
};

const std::vector<Race> races = {
    {"both have looked", "put.lock_entities:after@0#1=stop"},
    {"one takes it for new", "put.fence:after@0#2=stop", false},
    {"both take it for new", "put.fence:after@0#2=stop", false, false},
    {"one has inserted it, the other one takes it for new", "put.write_entities:after@0#1=stop", true, false, true},
    {"both take it for new, one has inserted it", "put.write_entities:after@0#2=stop", false, false, true}};

struct RaceScenario : HistoryScenario {
  // `owner`, which may not change, is the other one's: if it is not ann, who comes second is refused.
  void run_race(const Race& race, int number, const std::string& owner) {
    const auto before = [&](bool looks, int id) { return looks ? "" : put(id, R"("color":"white")"); };
    const std::string contested = fmt::format("first{}", number), other = fmt::format("other{}", number);
    const int entity = 10 * number;
    Worker writer = worker(
        contested, before(race.first_looks, entity + 2) + put(entity, R"("color":"red","owner":"ann")"), race.stop);
    writer.wait_until_stopped();
    Worker second = worker(other, before(race.other_looks, entity + 4) +
                                      put(entity, fmt::format(R"("color":"blue","owner":"{}")", owner)));
    if (race.other_waits) {
      wait_for_insert(other, 0, "entities");
    } else {
      finish(second);
    }
    writer.signal(SIGCONT);
    finish(writer);
    if (race.other_waits) {
      finish(second);
    }
    const std::string last =
        race.other_waits ? other + (race.other_looks ? "/1" : "/2") : contested + (race.first_looks ? "/1" : "/2");
    CHECK(operation(last).outcome == (owner == "ann" ? Outcome::done : Outcome::rejected));
  }
};

TEST_CASE("of two processes that both found no such entity one comes first, and the other one sees it" *
          needs_failpoints) {
  RaceScenario scenario;
  int number = 0;
  for (const Race& race : races) {
    CAPTURE(race.name);
    scenario.run_race(race, ++number, "ann");
    scenario.run_race(race, ++number, "bob");
  }
  scenario.check_all();
}

TEST_CASE("a sweep of orphans waits for a put that has its index rows and is about to commit" * needs_failpoints) {
  HistoryScenario scenario;
  Worker putter =
      scenario.worker("putter", put(0, R"("color":"red","owner":"ann","tags":["a"])"), "put.commit:before#1=stop");
  putter.wait_until_stopped();
  std::jthread sweeper([&] {
    shard::Shards shards = scenario.shards();
    const std::vector<Uuid> ids = {Uuid::parse(id_of(0)).value()};
    CHECK(reconcile::sweep_orphans(shards, 0, ids, reconcile::ReconcileMode::repair, shards.deadline()).empty());
  });
  CHECK(scenario.cluster.await_lock_wait(0));
  putter.signal(SIGCONT);
  scenario.finish(putter);
  sweeper.join();
  scenario.check_all();
}

// What another process does to an entity while the first does not know whether its COMMIT took effect.
struct Overtaking {
  std::string name, before, meanwhile;
};

std::vector<Overtaking> overtakings(int entity) {
  const std::string old = put(entity, R"("color":"white","tags":["a"])");
  const std::string other = put(entity, R"("color":"black","tags":["a","b"])");
  return {{"a new entity, and nobody came", "", get(entity)},
          {"a new entity, overwritten", "", other + get(entity)},
          {"a new entity, deleted", "", remove(entity) + get(entity)},
          {"a new entity, deleted and put again", "", remove(entity) + other + get(entity)},
          {"an old entity, and nobody came", old, get(entity)},
          {"an old entity, overwritten", old, other + get(entity)},
          {"an old entity, deleted", old, remove(entity) + get(entity)},
          {"an old entity, deleted and put again", old, remove(entity) + other + get(entity)}};
}

// `lose_answer(name, commands)` starts a put and returns it stopped where it looks what became of it.
template <typename Function>
void overtake(HistoryScenario& scenario, Function&& lose_answer) {
  for (std::size_t i = 0; i < overtakings(0).size(); ++i) {
    const int entity = 2 * static_cast<int>(i);
    const Overtaking overtaking = overtakings(entity)[i];
    CAPTURE(overtaking.name);
    scenario.run(fmt::format("first{}", i), overtaking.before);
    const std::string name = fmt::format("writer{}", i);
    Worker writer = lose_answer(name, put(entity, R"("color":"grey","tags":["b"])"));
    scenario.run(fmt::format("other{}", i), overtaking.meanwhile);
    writer.signal(SIGCONT);
    scenario.finish(writer);
    CHECK(scenario.operation(name + "/1").outcome == Outcome::done);
  }
  scenario.check_all();
}

// Its connection dies before its COMMIT arrives; returns it stopped where it looks what became of it.
Worker start_put_that_dies(HistoryScenario& scenario, const std::string& name, const std::string& commands) {
  Worker writer = scenario.worker(name, commands, "put.commit:before#1=stop,put.resolve:before#1=stop");
  writer.wait_until_stopped();
  scenario.sessions.kill_all(0, name);
  writer.signal(SIGCONT);
  writer.wait_until_stopped();
  return writer;
}

TEST_CASE("a put whose connection died before its COMMIT undoes nobody's write when it finds out" * needs_failpoints) {
  HistoryScenario scenario;
  overtake(scenario, [&](const std::string& name, const std::string& commands) {
    return start_put_that_dies(scenario, name, commands);
  });
}

TEST_CASE("a put whose COMMIT took effect without its hearing of it undoes nobody's write when it finds out" *
          needs_failpoints) {
  HistoryScenario scenario;
  FaultProxy proxy(scenario.cluster.socket(0));
  overtake(scenario, [&](const std::string& name, const std::string& commands) {
    proxy.judge_by(at_commit_of(Direction::to_client, scenario.insert_into(0, "entities"), {Verdict::Kind::cut}));
    Worker writer(scenario.cluster, {.user = name,
                                     .name = name,
                                     .commands = commands,
                                     .failpoints = "put.resolve:before#1=stop",
                                     .port = proxy.port()});
    writer.wait_until_stopped();
    CHECK(proxy.struck() == "COMMIT");
    return writer;
  });
}

TEST_CASE("a put that was overtaken by one that could not have followed it is not acknowledged" * needs_failpoints) {
  struct Overtaken {
    std::string before, overtaken, meanwhile;
  };
  const std::string white = put(0, R"("color":"white")"), ann = put(0, R"("owner":"ann")"),
                    bob = put(0, R"("owner":"bob")");
  for (const auto& [before, overtaken, meanwhile] :
       {Overtaken{white, ann, bob}, Overtaken{white, ann, bob + remove(0) + get(0)},
        Overtaken{"", put(0, R"("key":"ann")"), put(2, R"("key":"ann")") + white}}) {
    CAPTURE(meanwhile);
    HistoryScenario scenario;
    scenario.run("first", before);
    Worker writer = start_put_that_dies(scenario, "writer", overtaken);
    scenario.run("other", meanwhile);
    writer.signal(SIGCONT);
    scenario.finish(writer);
    CHECK(scenario.operation("other/1").outcome == Outcome::done);
    CHECK(scenario.operation("writer/1").outcome == Outcome::unknown);
    scenario.check_all();
  }
}

// A reconcile, begun by one process after it wrote an entity, that goes on although its locks are gone: what it is
// about to delete from shard 1 is the row that a second process needs, or stands in that row's way.
struct Reconciling {
  std::string name, before, first, second, table;
};

std::vector<Reconciling> reconcilings(int entity) {
  const std::string one = on_shard_1("one "), two = on_shard_1("two ");
  const auto member = [](const char* property, const std::string& value, int version) {
    return fmt::format(R"("{}":"{}","v":{})", property, value, version);
  };
  return {{"a changing value", put(entity, member("color", one, 1)), put(entity, R"("color":"other")"),
           put(entity, member("color", one, 2)), "index_color"},
          {"an immutable value, put again", put(entity, member("owner", one, 1)), remove(entity),
           put(entity, member("owner", one, 2)), "index_owner"},
          {"another immutable value", put(entity, member("owner", one, 1)), remove(entity),
           put(entity, member("owner", two, 2)), "index_owner"}};
}

struct ReconcileScenario : HistoryScenario {
  // Each of them on an entity of its own.
  void for_each(const std::function<void(const Reconciling&)>& run) {
    for (std::size_t i = 0; i < reconcilings(0).size(); ++i) {
      suffix = std::to_string(i);
      const Reconciling reconciling = reconcilings(2 * static_cast<int>(i))[i];
      CAPTURE(reconciling.name);
      run(reconciling);
      CHECK(operation("reconciler" + suffix + "/1").outcome == Outcome::done);
    }
  }

  Worker reconcile_until(const Reconciling& reconciling, const std::string& failpoints) {
    run("setter" + suffix, reconciling.before);
    Worker reconciler = worker("reconciler" + suffix, reconciling.first, failpoints);
    reconciler.wait_until_stopped();
    sessions.kill_all(0, "reconciler" + suffix);  // with the locks on the entity and the fence
    return reconciler;
  }

  Worker start_blocked_put(const Reconciling& reconciling) {
    Worker putter = worker("putter" + suffix, reconciling.second);
    wait_for_insert("putter" + suffix, 1, reconciling.table);
    return putter;
  }

  // The put comes between the reconcile's look at the rows and its deletes.
  void delete_late(const Reconciling& reconciling) {
    Worker reconciler = reconcile_until(reconciling, "reconcile.change_index_rows:before@1#1=stop");
    run("putter" + suffix, reconciling.second);
    check_put(Outcome::done);
    reconciler.signal(SIGCONT);
    finish(reconciler);
  }

  void check_put(Outcome outcome) const { CHECK(operation("putter" + suffix + "/1").outcome == outcome); }

  std::string suffix;  // of the names of workers
};

TEST_CASE("a put killed while its index row waits for a reconcile that lost its locks leaves no row missing" *
          needs_failpoints) {
  ReconcileScenario scenario;
  scenario.for_each([&](const Reconciling& reconciling) {
    Worker reconciler = scenario.reconcile_until(reconciling, "reconcile.prove:before#1=stop");
    Worker putter = scenario.start_blocked_put(reconciling);
    putter.signal(SIGKILL);
    reconciler.signal(SIGCONT);
    scenario.kill(putter);
    scenario.finish(reconciler);
    scenario.check_put(Outcome::unknown);
  });
  scenario.check_all();
}

TEST_CASE("a put whose index row waits for a reconcile that lost its locks has its row" * needs_failpoints) {
  ReconcileScenario scenario;
  scenario.for_each([&](const Reconciling& reconciling) {
    Worker reconciler = scenario.reconcile_until(reconciling, "reconcile.prove:before#1=stop");
    Worker putter = scenario.start_blocked_put(reconciling);
    reconciler.signal(SIGCONT);
    scenario.finish(putter);
    scenario.finish(reconciler);
    scenario.check_put(Outcome::done);
  });
  scenario.check_all();
}

TEST_CASE("a reconcile that lost its locks before it deleted deletes nothing that is called for again" *
          needs_failpoints) {
  ReconcileScenario scenario;
  scenario.for_each([&](const Reconciling& reconciling) { scenario.delete_late(reconciling); });
  scenario.check_all();
}

TEST_CASE("a reconcile that does not ask whether it still has its locks is found out" * needs_failpoints) {
  ReconcileScenario scenario;
  const Reconciling reconciling = reconcilings(0).front();
  Worker reconciler = scenario.reconcile_until(reconciling,
                                               "reconcile.change_index_rows:before@1#1=stop,reconcile.prove=skip,"
                                               "reconcile.commit:after=stop");
  scenario.run("putter", reconciling.second);
  scenario.check_put(Outcome::done);
  reconciler.signal(SIGCONT);
  reconciler.wait_until_stopped();
  scenario.kill(reconciler);
  scenario.read_all();
  const std::vector<std::string> complaints = unexplained(scenario.history);
  REQUIRE(complaints.size() == 1);
  CHECK(complaints.front().find("missed the entity in index_color") != std::string::npos);
}

}  // namespace
}  // namespace looseleaf::test
