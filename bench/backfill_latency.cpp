// What single puts and queries feel of a backfill: their latencies before, during and after one that is unthrottled,
// and one with --max-rate at half its speed.
// usage: backfill_latency [ENTITIES [SECONDS]]     1,000,000 entities, 20 s before and after, unless given
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/generator.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* by_user =
    R"({"table": "index_user_id", "properties": [{"name": "user_id", "type": "uuid"}], "shard_on": "user_id"})";
constexpr const char* by_feed =
    R"({"table": "index_feed_id", "properties": [{"name": "feed_id", "type": "uuid"}, {"name": "published", "type": "int"}],
        "shard_on": "feed_id"})";

// Latencies by what was measured, in the phase that is under way.
class Samples {
 public:
  void begin(const std::string& phase) {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    if (std::find(phases_.begin(), phases_.end(), phase) == phases_.end()) {
      phases_.push_back(phase);
    }
  }

  void add(const std::string& what, Clock::duration took) {
    const std::lock_guard lock(mutex_);
    samples_[{phase_, what}].push_back(Milliseconds(took).count());
  }

  void print() {
    fmt::print("{:<24} {:<6} {:>8} {:>9} {:>9}\n", "phase", "work", "count", "p50 ms", "p99 ms");
    for (const std::string& phase : phases_) {
      for (const char* what : {"put", "query"}) {
        std::vector<double>& all = samples_[{phase, what}];
        std::sort(all.begin(), all.end());
        if (!all.empty()) {
          fmt::print("{:<24} {:<6} {:>8} {:>9.3f} {:>9.3f}\n", phase, what, all.size(), all[all.size() / 2],
                     all[all.size() * 99 / 100]);
        }
      }
    }
  }

 private:
  std::mutex mutex_;
  std::string phase_;
  std::vector<std::string> phases_;
  std::map<std::pair<std::string, std::string>, std::vector<double>> samples_;
};

void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

class Run {
 public:
  Run(std::uint64_t entities, int seconds)
      : entities_(entities),
        seconds_(seconds),
        cluster_({.shards = 2,
                  .servers = 2,
                  .extra_args = {"--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=512M"}}),
        store_(Datastore::open(Cluster::load(cluster_.file()))) {}

  void run() {
    fill();
    std::atomic<bool> stop = false;
    const std::jthread putter([&] { put_one_at_a_time(stop); });
    const std::jthread querier([&] { query_one_at_a_time(stop); });
    try {
      const double unthrottled = measure("unthrottled", 0);
      measure("half speed", static_cast<std::uint64_t>(static_cast<double>(entities_) / unthrottled / 2));
    } catch (...) {
      stop = true;
      throw;
    }
    stop = true;
    samples_.print();
  }

 private:
  void fill() {
    store_.init();
    store_.create_indexes({IndexDefinition::parse(by_user, "bench")});
    Generator generator(entities_, 1);
    std::uint64_t stored = 0;
    WriteStream stream(store_, [&](const WriteResult& result) { stored += result.status == WriteStatus::stored; });
    for (std::uint64_t i = 0; i < entities_; ++i) {
      stream.put(generator.next());
    }
    stream.finish();
    require(stored == entities_, "not everything was stored");
  }

  // Returns how long the scan and all that follows it took, in seconds.
  double measure(const std::string& name, std::uint64_t max_rate) {
    store_.create_indexes({IndexDefinition::parse(by_feed, "bench")});
    samples_.begin(name + ": before");
    std::this_thread::sleep_for(std::chrono::seconds(seconds_));
    std::string_view job = "backfill";
    samples_.begin(name + ": scan");
    const auto start = Clock::now();
    Clock::time_point scanned = start;
    BackfillOptions options;
    options.throttle.max_rate = max_rate;
    JobControl control;
    control.on_progress = [&](const Progress& progress) {
      if (progress.job == "backfill") {
        scanned = Clock::now();
      }
      if (progress.job != job) {
        job = progress.job;
        samples_.begin(fmt::format("{}: {}", name, job));
      }
    };
    const BackfillReport report = store_.backfill(options, control);
    const double scan = std::chrono::duration<double>(scanned - start).count();
    const double all = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{}: scan of {} entities {:.1f} s ({:.0f}/s), with reconcile and verify {:.1f} s\n", name,
               report.entities, scan, static_cast<double>(report.entities) / scan, all);
    samples_.begin(name + ": after");
    std::this_thread::sleep_for(std::chrono::seconds(seconds_));
    store_.drop_index("index_feed_id");
    return scan;
  }

  void put_one_at_a_time(const std::atomic<bool>& stop) {
    Generator generator(entities_, 2);
    while (!stop) {
      const std::string entity = generator.next();
      const auto start = Clock::now();
      require(store_.put({entity}).front().status == WriteStatus::stored, "a put failed");
      samples_.add("put", Clock::now() - start);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void query_one_at_a_time(const std::atomic<bool>& stop) {
    Generator generator(entities_, 3);
    while (!stop) {
      Query query;
      query.index = "index_user_id";
      query.conditions = {{"user_id", Operator::equal, generator.some_user()}};
      const auto start = Clock::now();
      store_.query(query, [](const Entity&) { return true; });
      samples_.add("query", Clock::now() - start);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const std::uint64_t entities_;
  const int seconds_;
  test::TestCluster cluster_;
  Datastore store_;
  Samples samples_;
};

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    looseleaf::bench::Run(argc > 1 ? std::stoull(argv[1]) : 1'000'000, argc > 2 ? std::stoi(argv[2]) : 20).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "backfill_latency: {}\n", error.what());
    return 1;
  }
}
