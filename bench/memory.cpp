// Peak memory of each command with a small store and a large one: it should be the same.
// usage: bench_memory [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]     N is the large one's size, the small
// one has 100,000, or a tenth of N if that is less; one run, whatever --runs is
#include <fmt/format.h>

#include <algorithm>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::uint64_t small = 100'000;

void measure(const Settings& settings, std::uint64_t entities, const std::string& variant) {
  const Servers servers(settings);
  const std::string file = servers.write_entities("entities.jsonl", entities);
  const std::vector<std::string> indexes = servers.write_definitions(2);
  const std::vector<std::string> first{indexes[0]};
  const Databases databases(servers, 2, &first);
  const auto step = [&](const std::string& name, const Program& program) {
    note(fmt::format("memory of {}, {} entities", name, entities));
    record({"memory", variant, name, 1}, entities, servers.run({program}));
  };
  step("put", databases.looseleaf({"put"}, file));
  step("get", databases.looseleaf({"get", "-"}, servers.write_ids(file)));
  step("query", databases.looseleaf({"query", "index_user_id"}));
  servers.run({databases.looseleaf({"create-index", indexes[1]})});
  step("backfill", databases.looseleaf({"backfill"}));
  step("verify", databases.looseleaf({"verify"}));
  step("clean --full", databases.looseleaf({"clean", "--full"}));
}

void run(const Settings& settings) {
  measure(settings, std::min(small, settings.entities / 10), "small store");
  measure(settings, settings.entities, "large store");
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_memory", argc, argv, looseleaf::bench::run);
}
