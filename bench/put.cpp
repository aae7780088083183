// How fast the program puts entities, against loaders without a protocol and a table with a JSON column.
// usage: bench_put [--entities N] [--runs N] [--pool SIZE] [--redo SIZE] [--debian FILE]
#include <fmt/format.h>

#include <fstream>
#include <functional>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr const char* work = "put";

class Puts {
 public:
  Puts(const Servers& servers, std::string variant, std::uint32_t shards, std::vector<std::string> indexes,
       std::string file, std::uint64_t entities)
      : servers_(servers),
        variant_(std::move(variant)),
        shards_(shards),
        indexes_(std::move(indexes)),
        file_(std::move(file)),
        entities_(entities) {}

  void looseleaf(int run) const {
    measure("looseleaf", run,
            [&](const Databases& databases) { return std::vector<Program>{databases.looseleaf({"put"}, file_)}; });
  }

  void raw_loader(int run) const {
    measure("raw loader", run, [&](const Databases& databases) {
      Program program{{sibling("yardstick_load"), "raw", databases.file(), file_}};
      program.command.insert(program.command.end(), indexes_.begin(), indexes_.end());
      return std::vector<Program>{program};
    });
  }

  // The raw loader's statements, ready to be sent by the server's own client program.
  void write_statements() const {
    const Databases databases(servers_, shards_, &indexes_);
    Program program{{sibling("yardstick_load"), "sql", databases.file(), file_, file_}};
    program.command.insert(program.command.end(), indexes_.begin(), indexes_.end());
    servers_.run({program});
  }

  // The two shards' statements one after the other: one stream, one connection.
  void piped_in_turn(int run) const {
    note(fmt::format("put, {}: piped statements, run {}", variant_, run));
    const Databases databases(servers_, shards_, &indexes_);
    Usage sum;
    for (const Program& client : clients(databases)) {
      const Usage usage = servers_.run({client});
      sum.seconds += usage.seconds;
      sum.client_cpu += usage.client_cpu;
      sum.server_cpu += usage.server_cpu;
      sum.max_rss_kib = usage.max_rss_kib;
    }
    record({work, variant_, "piped statements", run}, entities_, sum);
  }

  void piped_side_by_side(int run) const {
    measure("piped statements, side by side", run, [&](const Databases& databases) { return clients(databases); });
  }

  void native(int run, int connections) const {
    const Databases databases(servers_, 1, nullptr);
    create_native(servers_, databases);
    const Program program{{sibling("yardstick_load"), "native", databases.file(), file_, std::to_string(connections)}};
    record({work, variant_,
            fmt::format("native JSON, {} {}", connections, connections == 1 ? "connection" : "connections"), run},
           entities_, servers_.run({program}));
  }

 private:
  [[nodiscard]] std::vector<Program> clients(const Databases& databases) const {
    std::vector<Program> programs;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) {
      programs.push_back(
          {servers_.client(databases.server_of(shard), databases.name(shard)), fmt::format("{}{}.sql", file_, shard)});
    }
    return programs;
  }

  void measure(const std::string& by, int run,
               const std::function<std::vector<Program>(const Databases&)>& programs) const {
    note(fmt::format("put, {}: {}, run {}", variant_, by, run));
    const Databases databases(servers_, shards_, &indexes_);
    record({work, variant_, by, run}, entities_, servers_.run(programs(databases)));
  }

  const Servers& servers_;
  const std::string variant_;
  const std::uint32_t shards_;
  const std::vector<std::string> indexes_;
  const std::string file_;
  const std::uint64_t entities_;
};

std::vector<std::string> debian_definitions() {
  std::vector<std::string> files;
  for (const char* const name : {"maintainer", "section", "tags"}) {
    files.push_back(fmt::format("{}/schemas/debian/index_{}.json", LOOSELEAF_SOURCE_DIR, name));
  }
  return files;
}

std::string by_link(bool unique) {
  return fmt::format(
      R"({{"table": "by_link", "properties": [{{"name": "link", "type": "string", "max_length": 80}}], "shard_on": "link", "unique": {}}})",
      unique);
}

std::uint64_t lines_of(const std::string& path) {
  std::ifstream file(path);
  require(static_cast<bool>(file), "cannot read " + path);
  std::uint64_t lines = 0;
  for (std::string line; std::getline(file, line);) {
    ++lines;
  }
  return lines;
}

void run(const Settings& settings) {
  const Servers servers(settings);
  const std::string file = servers.write_entities("entities.jsonl", settings.entities);
  const auto puts = [&](const std::string& variant, std::uint32_t shards, std::size_t indexes) {
    return Puts(servers, variant, shards, servers.write_definitions(indexes), file, settings.entities);
  };
  const Puts none = puts("no index", 2, 0), one = puts("1 index", 2, 1), three = puts("3 indexes", 2, 3);
  const auto puts_with = [&](const char* variant, const std::string& definition) {
    const std::string index = servers.cluster().directory().write(fmt::format("{}.json", variant), definition);
    return Puts(servers, variant, 2, {index}, file, settings.entities);
  };
  const Puts links = puts_with("links", by_link(false)), unique_links = puts_with("unique links", by_link(true));
  one.write_statements();
  for (int run = 1; run <= settings.runs; ++run) {
    one.looseleaf(run);
    one.raw_loader(run);
    one.native(run, 1);
    one.native(run, 2);
    one.piped_in_turn(run);
    one.piped_side_by_side(run);
    none.looseleaf(run);
    none.raw_loader(run);
    three.looseleaf(run);
    three.raw_loader(run);
    links.looseleaf(run);
    unique_links.looseleaf(run);
    if (!settings.debian.empty()) {
      const Puts packages(servers, "Debian packages, 3 indexes", 2, debian_definitions(), settings.debian,
                          lines_of(settings.debian));
      packages.looseleaf(run);
      packages.raw_loader(run);
    }
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_put", argc, argv, looseleaf::bench::run);
}
