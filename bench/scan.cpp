// What goes over all entities: backfill of one index and of three, verify, export, clean --full; against index rows
// from memory, reading and decoding all bodies, ALTER TABLE and CHECK TABLE. usage: bench_scan [--entities N] [--runs
// N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <chrono>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint32_t shards = 2;

class Scans {
 public:
  explicit Scans(const Settings& settings)
      : servers_(settings),
        entities_(settings.entities),
        file_(servers_.write_entities("entities.jsonl", entities_)),
        indexes_(servers_.write_definitions(definitions().size())),
        databases_(servers_, shards, &no_index_),
        native_databases_(servers_, 1, nullptr) {
    note("filling the stores");
    servers_.run({databases_.looseleaf({"put"}, file_)});
    create_native(servers_, native_databases_);
    servers_.run({{{sibling("yardstick_load"), "native", native_databases_.file(), file_, "1"}}});
  }

  void run(int runs) {
    for (int run = 1; run <= runs; ++run) {
      run_ = run;
      backfill(1, "1 index");
      raw_rows(1, "1 index");
      add_native_index();
      backfill(indexes_.size(), "3 indexes");
      raw_rows(indexes_.size(), "3 indexes");
      read_all();
      measure("export", "all entities", "looseleaf", {databases_.looseleaf({"export"})});
      measure("export", "changes --after beginning", "looseleaf", {databases_.looseleaf({"changes"})});
      verify("2 indexes", {"index_user_id", "index_feed_id"});
      verify("3 indexes", {});
      if (run == 1) {  // a pass over all that was put since the last one comes first
        measure("clean --full", "first after a load", "looseleaf", {databases_.looseleaf({"clean", "--full"})});
      }
      measure("clean --full", "3 indexes", "looseleaf", {databases_.looseleaf({"clean", "--full"})});
      check_tables();
    }
  }

 private:
  void backfill(std::size_t indexes, const std::string& variant) {
    std::vector<std::string> drop{"drop-index", "--yes"}, create{"create-index"};
    drop.insert(drop.end(), filled_.begin(), filled_.end());
    if (!filled_.empty()) {
      servers_.run({databases_.looseleaf(drop)});
    }
    create.insert(create.end(), indexes_.begin(), indexes_.begin() + static_cast<std::ptrdiff_t>(indexes));
    servers_.run({databases_.looseleaf(create)});
    filled_.clear();
    for (std::size_t i = 0; i < indexes; ++i) {
      filled_.push_back(IndexDefinition::parse(definitions()[i], "bench").table);
    }
    measure("backfill", variant, "looseleaf", {databases_.looseleaf({"backfill"})});
  }

  // The clock is the yardstick's own: it reads the file first.
  void raw_rows(std::size_t indexes, const std::string& variant) {
    const std::vector<std::string> some(indexes_.begin(), indexes_.begin() + static_cast<std::ptrdiff_t>(indexes));
    const Databases empty(servers_, shards, &some);
    Program program{{sibling("yardstick_scan"), "rows", empty.file(), file_}};
    program.command.insert(program.command.end(), some.begin(), some.end());
    note(fmt::format("backfill, {}: raw index rows, run {}", variant, run_));
    record({"backfill", variant, "raw index rows", run_}, entities_, servers_.run_with_own_clock(program));
  }

  void read_all() {
    measure("verify", "all bodies", "reading and decoding", {{{sibling("yardstick_scan"), "read", databases_.file()}}});
  }

  void verify(const std::string& variant, const std::vector<std::string>& tables) {
    std::vector<std::string> arguments{"verify"};
    arguments.insert(arguments.end(), tables.begin(), tables.end());
    measure("verify", variant, "looseleaf", {databases_.looseleaf(arguments)});
  }

  void add_native_index() {
    const std::string table = native_databases_.name(0) + ".native";
    const Usage usage = servers_.timed([&] {
      servers_.cluster().server_sql(0, fmt::format("ALTER TABLE {} ADD KEY added (feed_id, published)", table));
    });
    record({"backfill", "1 index", "ALTER TABLE native JSON", run_}, entities_, usage);
    servers_.cluster().server_sql(0, fmt::format("ALTER TABLE {} DROP KEY added", table));
  }

  void check_tables() {
    std::string tables = "entities";
    for (const std::string& table : filled_) {
      tables += ", " + table;
    }
    std::vector<Program> programs;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      Program program{servers_.client(databases_.server_of(shard), databases_.name(shard))};
      program.command.push_back("--execute=CHECK TABLE " + tables + " EXTENDED");
      programs.push_back(program);
    }
    measure("verify", "3 indexes", "CHECK TABLE EXTENDED", programs);
  }

  void measure(const std::string& work, const std::string& variant, const std::string& by,
               const std::vector<Program>& programs) {
    note(fmt::format("{}, {}: {}, run {}", work, variant, by, run_));
    record({work, variant, by, run_}, entities_, servers_.run(programs));
  }

  const std::vector<std::string> no_index_;
  const Servers servers_;
  const std::uint64_t entities_;
  const std::string file_;
  const std::vector<std::string> indexes_;  // files of definitions
  const Databases databases_, native_databases_;
  std::vector<std::string> filled_;  // tables
  int run_ = 0;
};

void run(const Settings& settings) {
  Scans(settings).run(settings.runs);
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_scan", argc, argv, looseleaf::bench::run);
}
