// What verify costs, as a ratio to only reading and decoding all bodies with the same client: with one index, two
// and three. Runs are interleaved, so that what else the machine does hits all alike.
// usage: bench_verify [ENTITIES [RUNS [POOL]]]     1,000,000 entities, 5 runs, a buffer pool of 512M unless given
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <looseleaf/datastore.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "bench/generator.hpp"
#include "codec/body.hpp"
#include "model/entity.hpp"
#include "store/shards.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t shard_count = 2;

const std::vector<std::string> definitions = {
    R"({"table": "index_user_id", "properties": [{"name": "user_id", "type": "uuid"}], "shard_on": "user_id"})",
    R"({"table": "index_feed_id", "properties": [{"name": "feed_id", "type": "uuid"}, {"name": "published", "type": "int"}],
        "shard_on": "feed_id"})",
    R"({"table": "index_link", "properties": [{"name": "link", "type": "string", "max_length": 80}]})",
};

// Seconds that a process has used on processors.
double processor_seconds(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {
    fields >> skipped;
  }
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Cost {
  double seconds = 0;    // by the clock
  double processor = 0;  // of this process and the servers
};

void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

class Run {
 public:
  Run(std::uint64_t entities, const std::string& pool)
      : entities_(entities),
        cluster_({.shards = shard_count, .servers = shard_count, .extra_args = {"--innodb-buffer-pool-size=" + pool}}),
        store_(Datastore::open(Cluster::load(cluster_.file()))),
        shards_(Cluster::load(cluster_.file()), Options()) {
    store_.init();
    for (const std::string& definition : definitions) {
      store_.create_indexes({IndexDefinition::parse(definition, "bench")});
    }
    Generator generator(entities_, 1);
    std::uint64_t stored = 0;
    WriteStream stream(store_, [&](const WriteResult& result) { stored += result.status == WriteStatus::stored; });
    for (std::uint64_t i = 0; i < entities_; ++i) {
      stream.put(generator.next());
    }
    stream.finish();
    require(stored == entities_, "not everything was stored");
  }

  void measure(int runs) {
    std::vector<std::vector<Cost>> costs(1 + definitions.size());
    for (int run = 0; run <= runs; ++run) {
      for (std::size_t i = 0; i < costs.size(); ++i) {
        const Cost cost = timed([&] { i == 0 ? read_only() : verify(i); });
        if (run > 0) {  // the first one warms up
          costs[i].push_back(cost);
        }
      }
    }
    print("seconds", costs, &Cost::seconds);
    print("processor seconds", costs, &Cost::processor);
  }

 private:
  template <typename Work>
  Cost timed(const Work& work) {
    const double before = processors();
    const auto start = Clock::now();
    work();
    return {std::chrono::duration<double>(Clock::now() - start).count(), processors() - before};
  }

  double processors() {
    double sum = processor_seconds("self");
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      const auto lease = shards_.connect(shard, shards_.deadline());
      std::ifstream file(lease->query("SELECT @@global.pid_file").text(0, 0));
      std::string pid;
      file >> pid;
      sum += processor_seconds(pid);
    }
    return sum;
  }

  static void print(const char* what, const std::vector<std::vector<Cost>>& costs, double Cost::*part) {
    fmt::print("{:<26} {:>8} {:>8} {:>8} {:>7}\n", what, "median", "min", "max", "ratio");
    double baseline = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      std::vector<double> sorted;
      for (const Cost& cost : costs[i]) {
        sorted.push_back(cost.*part);
      }
      std::sort(sorted.begin(), sorted.end());
      const double median = sorted[sorted.size() / 2];
      baseline = i == 0 ? median : baseline;
      fmt::print("{:<26} {:>8.2f} {:>8.2f} {:>8.2f} {:>7.2f}\n",
                 i == 0 ? "reading and decoding only" : fmt::format("verify, {} {}", i, i == 1 ? "index" : "indexes"),
                 median, sorted.front(), sorted.back(), median / baseline);
    }
  }

  // SELECT id, body in chunks, inflate, parse; the shards in parallel.
  void read_only() {
    std::vector<std::uint64_t> read(shard_count);
    std::vector<std::function<void()>> tasks;
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      tasks.emplace_back([&, shard] { read[shard] = read_shard(shard); });
    }
    base::run_all(tasks);
    require(read[0] + read[1] == entities_, "not everything was read");
  }

  std::uint64_t read_shard(std::uint32_t shard) {
    constexpr std::uint64_t chunk = 1000;
    std::uint64_t read = 0;
    const auto lease = shards_.connect(shard, shards_.deadline());
    const std::uint64_t end = lease->query("SELECT MAX(added_id) + 1 FROM entities").unsigned_integer(0, 0);
    for (std::uint64_t from = 0; from < end; from += chunk) {
      const sql::Result rows = lease->query(
          fmt::format("SELECT id, body FROM entities WHERE added_id >= {} AND added_id < {}", from, from + chunk));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto json = model::parse_stored(codec::decode_body(rows.text(i, 1), model::max_body_size));
        read += json.is_object() ? 1 : 0;
      }
    }
    return read;
  }

  void verify(std::size_t indexes) {
    VerifyOptions options;
    for (std::size_t i = 0; i < indexes; ++i) {
      options.tables.push_back(IndexDefinition::parse(definitions[i], "bench").table);
    }
    JobControl control;
    const VerifyReport report = store_.verify(options, control);
    require(report.found == 0 && report.entities == entities_, "something is wrong");
  }

  const std::uint64_t entities_;
  test::TestCluster cluster_;
  Datastore store_;
  store::Shards shards_;
};

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    looseleaf::bench::Run run(argc > 1 ? std::stoull(argv[1]) : 1'000'000, argc > 3 ? argv[3] : "512M");
    run.measure(argc > 2 ? std::stoi(argv[2]) : 5);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_verify: {}\n", error.what());
    return 1;
  }
}
