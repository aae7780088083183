// What verify costs, as a ratio to only reading and decoding all bodies with the same client: with one index, two
// and three. Runs are interleaved, so that what else the machine does hits all alike.
// usage: bench_verify [ENTITIES [RUNS [POOL]]]     1,000,000 entities, 5 runs, a buffer pool of 512M unless given
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/datastore.hpp>
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
    std::vector<std::vector<double>> seconds(1 + definitions.size());
    for (int run = 0; run <= runs; ++run) {
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        const double took = i == 0 ? read_only() : verify(i);
        if (run > 0) {  // the first one warms up
          seconds[i].push_back(took);
        }
      }
    }
    fmt::print("{:<26} {:>8} {:>8} {:>8} {:>7}\n", "", "median s", "min", "max", "ratio");
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      std::sort(seconds[i].begin(), seconds[i].end());
      const double middle = seconds[i][seconds[i].size() / 2];
      fmt::print("{:<26} {:>8.2f} {:>8.2f} {:>8.2f} {:>7.2f}\n",
                 i == 0 ? "reading and decoding only" : fmt::format("verify, {} {}", i, i == 1 ? "index" : "indexes"),
                 middle, seconds[i].front(), seconds[i].back(), middle / seconds[0][seconds[0].size() / 2]);
    }
  }

 private:
  // SELECT id, body in chunks, inflate, parse; the shards in parallel.
  double read_only() {
    const auto start = Clock::now();
    std::vector<std::uint64_t> read(shard_count);
    std::vector<std::function<void()>> tasks;
    for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
      tasks.emplace_back([&, shard] { read[shard] = read_shard(shard); });
    }
    base::run_all(tasks);
    require(read[0] + read[1] == entities_, "not everything was read");
    return std::chrono::duration<double>(Clock::now() - start).count();
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

  double verify(std::size_t indexes) {
    VerifyOptions options;
    for (std::size_t i = 0; i < indexes; ++i) {
      options.tables.push_back(IndexDefinition::parse(definitions[i], "bench").table);
    }
    JobControl control;
    const auto start = Clock::now();
    const VerifyReport report = store_.verify(options, control);
    require(report.found == 0 && report.entities == entities_, "something is wrong");
    return std::chrono::duration<double>(Clock::now() - start).count();
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
