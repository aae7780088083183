// Whether rates fall as a store grows: put, backfill and verify in a store of a twentieth of the entities, a tenth, a
// quarter, a half and all of them. Not part of a whole run: it is for many millions.
// usage: bench_growth [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]     one run, whatever --runs is
#include <fmt/format.h>

#include <array>
#include <fstream>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr std::array<std::uint64_t, 5> parts = {20, 10, 4, 2, 1};

class Growth {
 public:
  explicit Growth(const Settings& settings)
      : servers_(settings),
        entities_(settings.entities),
        indexes_(servers_.write_definitions(2)),
        first_{indexes_[0]},
        databases_(servers_, 2, &first_),
        generator_(entities_, 1) {}

  void run() {
    for (const std::uint64_t part : parts) {
      const std::string variant = fmt::format("{:3} % of all", 100 / part);
      const std::uint64_t size = std::max(stored_ + 1, entities_ / part), more = size - stored_;
      write(more);
      measure(variant, "put", more, {"put", servers_.path("more.jsonl")});
      stored_ = size;
      servers_.run({databases_.looseleaf({"create-index", indexes_[1]})});
      measure(variant, "backfill", size, {"backfill"});
      measure(variant, "verify", size, {"verify"});
      servers_.run({databases_.looseleaf({"drop-index", "--yes", "index_feed_id"})});
    }
  }

 private:
  void write(std::uint64_t entities) {
    std::ofstream file(servers_.path("more.jsonl"));
    for (std::uint64_t i = 0; i < entities; ++i) {
      file << generator_.next() << '\n';
    }
    require(static_cast<bool>(file.flush()), "cannot write the entities");
  }

  void measure(const std::string& variant, const std::string& command, std::uint64_t count,
               const std::vector<std::string>& arguments) const {
    note(fmt::format("{} in a store of {} entities", command, stored_));
    record({"growth", variant, command, 1}, count, servers_.run({databases_.looseleaf(arguments)}));
  }

  const Servers servers_;
  const std::uint64_t entities_;
  const std::vector<std::string> indexes_, first_;
  const Databases databases_;
  Generator generator_;
  std::uint64_t stored_ = 0;
};

void run(const Settings& settings) {
  Growth(settings).run();
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_growth", argc, argv, looseleaf::bench::run);
}
