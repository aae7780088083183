// What single puts and queries feel of a backfill: their latencies before, during and after one that is unthrottled,
// and one with --max-rate at half its speed.
// usage: bench_latency [--entities N] [--runs N] [--pool SIZE] [--redo SIZE]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr const char* work = "backfill latency";
constexpr std::uint64_t entities_a_second_of_rest = 20'000;

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
    samples_[{phase_, what}].push_back(std::chrono::duration<double>(took).count());
  }

  // Returns when a put and a query have ended that count as during this backfill, which may be shorter than each.
  void await_both(const std::string& backfill) {
    const auto until = Clock::now() + std::chrono::minutes(1);  // one of them may have failed
    while ((!has_any(backfill, "put") || !has_any(backfill, "query")) && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Of each phase, and of all that belong to a backfill together.
  void record_all(int run) {
    std::map<std::pair<std::string, std::string>, std::vector<double>> sums;
    for (const std::string& phase : phases_) {
      const std::size_t colon = phase.find(": ");
      const bool without = is_without(phase);
      for (const char* what : {"put", "query"}) {
        const std::vector<double>& all = samples_[{phase, what}];
        auto& sum = sums[{phase.substr(0, colon) + (without ? ": without" : ": during"), what}];
        sum.insert(sum.end(), all.begin(), all.end());
        if (!all.empty()) {
          record({work, phase, what, run}, all);
        }
      }
    }
    for (const auto& [key, all] : sums) {
      record({work, key.first, key.second, run}, all);
    }
  }

 private:
  static bool is_without(const std::string& phase) { return phase.ends_with(": before") || phase.ends_with(": after"); }

  [[nodiscard]] bool has_any(const std::string& backfill, const std::string& what) {
    const std::lock_guard lock(mutex_);
    return std::any_of(samples_.begin(), samples_.end(), [&](const auto& entry) {
      const std::string& phase = entry.first.first;
      return entry.first.second == what && phase.starts_with(backfill + ": ") && !is_without(phase);
    });
  }

  std::mutex mutex_;
  std::string phase_;
  std::vector<std::string> phases_;
  std::map<std::pair<std::string, std::string>, std::vector<double>> samples_;
};

class Run {
 public:
  Run(const Servers& servers, std::uint64_t entities, const std::string& file, const std::string& definition)
      : entities_(entities),
        rest_(1 + std::min<std::uint64_t>(7, entities / entities_a_second_of_rest)),
        indexes_{definition},
        databases_(servers, 2, &indexes_),
        store_(Datastore::open(Cluster::load(databases_.file()))) {
    servers.run({databases_.looseleaf({"put"}, file)});
  }

  void run(int number) {
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
    samples_.record_all(number);
  }

 private:
  // Returns how long the scan and all that follows it took, in seconds.
  double measure(const std::string& name, std::uint64_t max_rate) {
    store_.create_indexes({IndexDefinition::parse(definitions()[1], "bench")});
    samples_.begin(name + ": before");
    std::this_thread::sleep_for(rest_);
    std::string_view phase = "backfill";
    samples_.begin(name + ": scan");
    const auto start = Clock::now();
    Clock::time_point scanned = start;
    BackfillOptions options;
    options.throttle.max_rate = max_rate;
    JobControl control;
    control.on_progress = [&](const Progress& progress) {
      if (progress.phase == "backfill") {
        scanned = Clock::now();
      }
      if (progress.phase != phase) {
        phase = progress.phase;
        samples_.begin(fmt::format("{}: {}", name, phase));
      }
    };
    const BackfillReport report = store_.backfill(options, control);
    const double scan = std::chrono::duration<double>(scanned - start).count();
    const double all = std::chrono::duration<double>(Clock::now() - start).count();
    note(fmt::format("{}: scan of {} entities {:.1f} s ({:.0f}/s), with reconcile and verify {:.1f} s", name,
                     report.entities, scan, static_cast<double>(report.entities) / scan, all));
    samples_.await_both(name);
    samples_.begin(name + ": after");
    std::this_thread::sleep_for(rest_);
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
  const std::chrono::seconds rest_;  // before and after a backfill
  std::vector<std::string> indexes_;
  Databases databases_;
  Datastore store_;
  Samples samples_;
};

void run(const Settings& settings) {
  const Servers servers(settings);
  const std::string file = servers.write_entities("entities.jsonl", settings.entities);
  const std::string definition = servers.write_definitions(1).front();
  for (int number = 1; number <= settings.runs; ++number) {
    note(fmt::format("latencies during a backfill, run {}", number));
    Run(servers, settings.entities, file, definition).run(number);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_latency", argc, argv, looseleaf::bench::run);
}
