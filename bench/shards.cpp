// What more shards on the same servers cost: put into an empty store and into one that holds as much already, update of
// two indexed values, get, a query of a local index, backfill, verify and clean, with the connections to a server and
// the peak memory of each. usage: bench_shards
// [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <looseleaf/datastore.hpp>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::array<std::uint32_t, 4> numbers = {2, 8, 64, 256};
constexpr std::size_t most_queries = 200;
constexpr const char* local_index =
    R"({"table": "index_published", "properties": [{"name": "published", "type": "int"}]})";

class ShardNumbers {
 public:
  explicit ShardNumbers(const Settings& settings)
      : servers_(settings),
        entities_(settings.entities),
        file_(servers_.write_entities("entities.jsonl", entities_)),
        changed_(servers_.write_entities("changed.jsonl", entities_, 1, 1)),
        others_(servers_.write_entities("others.jsonl", entities_, 2)),
        ids_(servers_.write_ids(file_)),
        sharded_(servers_.write_definitions(3)),
        local_(servers_.cluster().directory().write("local.json", local_index)) {
    sharded_.erase(sharded_.begin() + 1);  // by user and by link
  }

  void measure(std::uint32_t shards, int run) {
    const std::string variant = fmt::format("{} shards", shards);
    note(fmt::format("{}, run {}", variant, run));
    const Databases databases(servers_, shards, &sharded_);
    const auto step = [&](const std::string& work, std::vector<Program> programs) {
      servers_.forget_connections();
      Usage usage = servers_.run_in_turn(programs);
      usage.connections = servers_.most_connections();
      record({work + ", by shards", variant, "looseleaf", run}, entities_, usage);
    };
    step("put", {databases.looseleaf({"put"}, file_)});
    // Until clean finds nothing.
    step("update", {databases.looseleaf({"put"}, changed_), databases.looseleaf({"clean"})});
    step("get", {databases.looseleaf({"get", "-"}, ids_)});
    servers_.run({databases.looseleaf({"create-index", local_})});
    step("backfill", {databases.looseleaf({"backfill"})});
    step("verify", {databases.looseleaf({"verify"})});
    step("clean --full", {databases.looseleaf({"clean", "--full"})});
    query(databases, variant, run);
    // Now the servers need not make the tables' files longer page by page.
    servers_.run({databases.looseleaf({"drop-index", "index_published", "--yes"})});
    step("put into grown files", {databases.looseleaf({"put"}, others_)});
  }

  void update_by_hand(int run) const {
    note(fmt::format("update by hand, run {}", run));
    const Databases databases(servers_, numbers.front(), &sharded_);
    const auto yardstick = [&](const char* mode, const std::string& file) {
      Program program{{sibling("yardstick_load"), mode, databases.file(), file}};
      program.command.insert(program.command.end(), sharded_.begin(), sharded_.end());
      return program;
    };
    servers_.run({yardstick("raw", file_)});
    record({"update, by shards", fmt::format("{} shards", numbers.front()), "hand-written", run}, entities_,
           servers_.run({yardstick("update", changed_)}));
  }

 private:
  // The ten newest entities, by the library.
  void query(const Databases& databases, const std::string& variant, int run) const {
    const Datastore store = Datastore::open(Cluster::load(databases.file()));
    Query newest;
    newest.index = "index_published";
    newest.limit = 10;
    newest.descending = true;
    std::vector<double> latencies;
    for (std::size_t i = 0; i < std::min<std::size_t>(most_queries, entities_ / 10); ++i) {
      std::size_t found = 0;
      latencies.push_back(servers_
                              .timed([&] {
                                store.query(newest, [&](const Entity&) {
                                  ++found;
                                  return true;
                                });
                              })
                              .seconds);
      require(found == std::min<std::uint64_t>(10, entities_), "a query did not find the ten newest");
    }
    record({"query of a local index, by shards", variant, "looseleaf", run}, latencies);
  }

  const Servers servers_;
  const std::uint64_t entities_;
  const std::string file_, changed_, others_, ids_;
  std::vector<std::string> sharded_;
  const std::string local_;
};

void run(const Settings& settings) {
  ShardNumbers measurements(settings);
  for (int run = 1; run <= settings.runs; ++run) {
    for (const std::uint32_t shards : numbers) {
      measurements.measure(shards, run);
    }
    measurements.update_by_hand(run);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_shards", argc, argv, looseleaf::bench::run);
}
