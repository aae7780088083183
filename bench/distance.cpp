// What distance costs: servers behind relays that delay each direction by 0, 0.5 and 5 ms. Put of a file, and single
// operations by the library and as whole processes; beside the hand-written ones through the same relays.
// usage: bench_distance [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <list>
#include <looseleaf/datastore.hpp>
#include <nlohmann/json.hpp>

#include "bench/measure.hpp"
#include "bench/yardsticks/hand_written.hpp"
#include "tests/support/relay.hpp"
#include "tests/support/sockets.hpp"

namespace looseleaf::bench {
namespace {

using namespace std::chrono_literals;

struct Distance {
  const char* name;
  std::chrono::microseconds delay;
};
constexpr std::array distances = {Distance{"0 ms", 0us}, Distance{"0.5 ms", 500us}, Distance{"5 ms", 5000us}};

constexpr std::size_t operations = 50, processes = 10;  // a run
constexpr std::uint64_t most_entities = 100'000;

// A relay before each server.
class Relays {
 public:
  Relays(const Servers& servers, std::chrono::microseconds delay) {
    for (std::uint32_t server = 0; server < 2; ++server) {
      sockets_.push_back(servers.path(fmt::format("relay{}-{}", server, delay.count())));
      relays_.emplace_back(test::listen_at(sockets_.back()), servers.cluster().sandbox().server(server).socket, delay);
    }
  }
  [[nodiscard]] const std::vector<std::string>& sockets() const { return sockets_; }

 private:
  std::vector<std::string> sockets_;
  std::list<test::Relay> relays_;
};

struct Sample {
  std::string id, user, text, changed;  // the changed text has another user
};

// The first entities of a file. They are those of its generator, and another revision of that changes them.
std::vector<Sample> samples_of(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  Generator changed(count, 1, 1);
  std::vector<Sample> samples(count);
  for (Sample& sample : samples) {
    require(static_cast<bool>(std::getline(file, sample.text)), "there are too few entities");
    const auto entity = nlohmann::json::parse(sample.text);
    sample.id = entity.at("id");
    sample.user = entity.at("user_id");
    sample.changed = changed.next();
  }
  return samples;
}

class Distances {
 public:
  explicit Distances(const Settings& settings)
      : servers_(settings),
        entities_(std::min(settings.entities, most_entities)),
        definition_(servers_.write_definitions(1)),
        index_(IndexDefinition::parse(definitions().front(), "bench")),
        file_(servers_.write_entities("entities.jsonl", entities_)),
        samples_(samples_of(file_, operations + processes)) {
    for (const Distance& distance : distances) {
      relays_.emplace_back(servers_, distance.delay);
    }
  }

  void run(int run) {
    auto relays = relays_.begin();
    for (const Distance& distance : distances) {
      const std::vector<std::string>& sockets = (relays++)->sockets();
      const Databases ours(servers_, 2, &definition_, sockets), theirs(servers_, 2, &definition_, sockets);
      file(distance, run, ours, theirs);
      by_library(distance, run, ours, theirs);
      as_processes(distance, run, ours, theirs);
    }
  }

 private:
  void file(const Distance& distance, int run, const Databases& ours, const Databases& theirs) const {
    note(fmt::format("put of a file, {}: run {}", distance.name, run));
    const auto measure = [&](const char* by, const Program& program) {
      record({"distance: put of a file", distance.name, by, run}, entities_, servers_.run({program}));
    };
    measure("looseleaf", ours.looseleaf({"put"}, file_));
    measure("raw loader", {{sibling("yardstick_load"), "raw", theirs.file(), file_, definition_.front()}});
  }

  void by_library(const Distance& distance, int run, const Databases& ours, const Databases& theirs) {
    Datastore store = Datastore::open(Cluster::load(ours.file()));
    HandWritten hand(theirs.file(), {index_});
    const auto put = [&](const std::string& text) {
      require(store.put({text}).front().status == WriteStatus::stored, "a put failed");
    };
    const auto compare = [&](const char* operation, const std::function<void(std::size_t)>& by_us,
                             const std::function<void(std::size_t)>& by_hand) {
      take_turns(servers_, {fmt::format("distance: {}", operation), distance.name, {}, run}, operations,
                 {{"looseleaf", by_us}, {"hand-written", by_hand}});
    };
    put(added_.next());  // connects
    compare(
        "get",
        [&](std::size_t i) {
          require(store.get({Uuid::parse(samples_[i].id).value()}).front().has_value(), "an id is lost");
        },
        [&](std::size_t i) { hand.get(samples_[i].id, [](std::string_view) {}); });
    compare(
        "query",
        [&](std::size_t i) {
          Query query;
          query.index = index_.table;
          query.conditions = {{"user_id", Operator::equal, samples_[i].user}};
          require(store.query(query, [](const Entity&) { return true; }).entities > 0, "a query found nothing");
        },
        [&](std::size_t i) {
          hand.query(index_, samples_[i].user, "WHERE user_id = " + id_literal(samples_[i].user),
                     [](std::string_view) {});
        });
    compare(
        "put of a new entity", [&](std::size_t) { put(added_.next()); }, [&](std::size_t) { hand.put(added_.next()); });
    compare(
        "put of a changed entity", [&](std::size_t i) { put(samples_[i].changed); },
        [&](std::size_t i) { hand.update(samples_[i].changed); });
  }

  void as_processes(const Distance& distance, int run, const Databases& ours, const Databases& theirs) {
    const auto compare = [&](const char* operation, const std::function<Program(const Sample&)>& by_us,
                             const std::function<Program(const Sample&)>& by_hand) {
      const auto with = [&](const std::function<Program(const Sample&)>& program) {
        return [&](std::size_t i) { servers_.run({program(samples_[operations + i])}); };
      };
      take_turns(servers_, {fmt::format("distance: process, {}", operation), distance.name, {}, run}, processes,
                 {{"looseleaf", with(by_us)}, {"hand-written", with(by_hand)}});
    };
    const auto by_hand = [&](const char* operation, const std::string& what) {
      return Program{{sibling("yardstick_single"), operation, theirs.file(), what, definition_.front()}};
    };
    const auto file_of = [&](const std::string& text) {
      return servers_.cluster().directory().write("one", text + "\n");
    };
    compare(
        "get",
        [&](const Sample& sample) {
          return ours.looseleaf({"get", sample.id});
        },
        [&](const Sample& sample) { return by_hand("get", sample.id); });
    compare(
        "query",
        [&](const Sample& sample) {
          return ours.looseleaf({"query", index_.table, "user_id=" + sample.user});
        },
        [&](const Sample& sample) { return by_hand("query", sample.user); });
    compare(
        "put of a new entity", [&](const Sample&) { return ours.looseleaf({"put"}, file_of(added_.next())); },
        [&](const Sample&) { return by_hand("put", file_of(added_.next())); });
    compare(
        "put of a changed entity",
        [&](const Sample& sample) { return ours.looseleaf({"put"}, file_of(sample.changed)); },
        [&](const Sample& sample) { return by_hand("update", file_of(sample.changed)); });
  }

  const Servers servers_;
  const std::uint64_t entities_;
  const std::vector<std::string> definition_;
  const IndexDefinition index_;
  const std::string file_;
  const std::vector<Sample> samples_;
  Generator added_{entities_, 2};  // entities that no store has
  std::list<Relays> relays_;       // by distance
};

void run(const Settings& settings) {
  Distances measurements(settings);
  for (int run = 1; run <= settings.runs; ++run) {
    measurements.run(run);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_distance", argc, argv, looseleaf::bench::run);
}
