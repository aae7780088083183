// Whole processes, from start to end: one get, the help, completions; against the server's own client program.
// usage: bench_process [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr int times_a_run = 40;
constexpr std::uint64_t most_entities = 100'000;

struct Contender {
  std::string variant, by;
  Program program;
};

std::string first_id(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return nlohmann::json::parse(line).at("id");
}

void run(const Settings& settings) {
  const Servers servers(settings);
  const std::string file = servers.write_entities("entities.jsonl", std::min(settings.entities, most_entities));
  const std::vector<std::string> indexes = servers.write_definitions(1);
  const Databases databases(servers, 2, &indexes);
  servers.run({databases.looseleaf({"put"}, file)});
  Program select{servers.client(0, {})};
  select.command.emplace_back("--execute=select 1");
  const std::vector<Contender> contenders = {
      {"get of one id", "looseleaf", databases.looseleaf({"get", first_id(file)})},
      {"select 1", "the server's client", select},
      {"--help", "looseleaf", {{test::looseleaf_program(), "--help"}}},
      {"completion of a command", "looseleaf", {{test::looseleaf_program(), "__complete", "q"}}},
      {"completion of an index",
       "looseleaf",
       {{test::looseleaf_program(), "__complete", "--cluster", databases.file(), "query", ""}}},
  };
  for (int run = 1; run <= settings.runs; ++run) {
    note(fmt::format("whole processes, run {}", run));
    std::vector<std::vector<double>> latencies(contenders.size());
    for (int i = 0; i < times_a_run; ++i) {
      for (std::size_t who = 0; who < contenders.size(); ++who) {
        latencies[who].push_back(servers.run({contenders[who].program}).seconds);
      }
    }
    for (std::size_t who = 0; who < contenders.size(); ++who) {
      record({"process", contenders[who].variant, contenders[who].by, run}, latencies[who]);
    }
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_process", argc, argv, looseleaf::bench::run);
}
