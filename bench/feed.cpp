// What `changes --follow` costs and how late it is: from the return of a put to the line of the follower, with 5,000
// puts a second, and what single puts feel of a follower. usage: bench_feed [--entities N] [--runs N] [--pool SIZE]
// [--redo SIZE]
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <looseleaf/datastore.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bench/measure.hpp"

namespace looseleaf::bench {
namespace {

constexpr const char* us = "looseleaf";
constexpr std::uint64_t threads = 4, puts_at_once = 25, puts_a_second = 5000, seconds = 20;
constexpr std::uint64_t single_puts = 500;  // of a slice with or without a follower
// Slices take turns, because other load on the machine comes and goes.
constexpr std::uint64_t most_slices = 12, entities_a_slice = 10'000;
constexpr auto start_of_follower = std::chrono::milliseconds(500);

using Times = std::unordered_map<std::string, Clock::time_point>;  // by id

std::string id_in(const std::string& line) {
  return line.substr(line.find("\"id\":\"") + 6, 32);
}

class Run {
 public:
  Run(const Servers& servers, std::uint64_t entities, const std::string& file, const std::string& definition)
      : servers_(servers),
        entities_(entities),
        indexes_{definition},
        databases_(servers, 2, &indexes_),
        store_(Datastore::open(Cluster::load(databases_.file()))) {
    servers.run({databases_.looseleaf({"put"}, file)});
  }

  void run(int number) {
    number_ = number;
    measure_delivery();
    measure_single_puts("1 thread", 1, std::chrono::milliseconds(2));
    measure_single_puts("4 threads", threads, {});
  }

 private:
  // Runs a follower until it has printed so many changes.
  std::future<void> follow(std::uint64_t changes, const std::string& output) {
    FeedReport now;
    ChangesOptions options;
    options.after = "now";
    store_.changes(
        options, [](const ChangeBatch&) { return true; }, now);
    Program program =
        databases_.looseleaf({"changes", "--follow", "--after", now.position, "--limit", std::to_string(changes)});
    program.output = output;
    std::future<void> end = std::async(std::launch::async, [this, program] { servers_.run({program}); });
    std::this_thread::sleep_for(start_of_follower);
    return end;
  }

  void measure_delivery() {
    const std::uint64_t batches = std::max<std::uint64_t>(
        1, std::min(entities_, puts_a_second * seconds) / (threads * puts_at_once));  // of a thread
    const std::uint64_t count = threads * batches * puts_at_once;
    const std::string pipe = servers_.path(fmt::format("lines{}", number_));
    require(::mkfifo(pipe.c_str(), 0600) == 0, "cannot create a pipe");
    std::future<Times> printed = std::async(std::launch::async, [&] { return read_lines(pipe); });
    std::future<void> follower = follow(count, pipe);
    const auto start = Clock::now();
    std::vector<std::future<Times>> putters;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      putters.push_back(std::async(std::launch::async, [&, thread] { return put_at_pace(thread, batches, start); }));
    }
    Times put;
    for (std::future<Times>& putter : putters) {
      put.merge(putter.get());
    }
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    follower.get();
    const Times seen = printed.get();
    std::vector<double> latencies;
    for (const auto& [id, time] : put) {
      latencies.push_back(std::max(0.0, std::chrono::duration<double>(seen.at(id) - time).count()));
    }
    note(fmt::format("{:.0f} puts a second", static_cast<double>(count) / took));
    record({"feed", "from put to line", us, number_}, latencies);
  }

  static Times read_lines(const std::string& pipe) {
    Times times;
    std::ifstream lines(pipe);
    for (std::string line; std::getline(lines, line);) {
      times.emplace(id_in(line), Clock::now());
    }
    return times;
  }

  // Returns when each put had returned.
  Times put_at_pace(std::uint64_t thread, std::uint64_t batches, Clock::time_point start) {
    constexpr auto pace = std::chrono::microseconds(1'000'000 * threads * puts_at_once / puts_a_second);
    Generator generator(entities_, ++seed_);
    Times times;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      std::this_thread::sleep_until(start + pace * batch + pace * thread / threads);
      std::vector<std::string> some;
      for (std::uint64_t i = 0; i < puts_at_once; ++i) {
        some.push_back(generator.next());
      }
      for (const WriteResult& result : store_.put(some)) {
        require(result.status == WriteStatus::stored, "a put failed");
      }
      const auto now = Clock::now();
      for (const std::string& entity : some) {
        times.emplace(id_in(entity), now);
      }
    }
    return times;
  }

  void measure_single_puts(const std::string& variant, std::uint64_t putters, std::chrono::milliseconds pause) {
    const std::uint64_t puts = std::max<std::uint64_t>(100, std::min(single_puts, entities_ / 10));  // of a thread
    std::vector<double> without, beside;
    note(fmt::format("single puts beside a follower, {}: run {}", variant, number_));
    const std::uint64_t slices = std::clamp<std::uint64_t>(entities_ / entities_a_slice, 1, most_slices);
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      put_one_at_a_time(putters, puts, pause, without);
      std::future<void> follower = follow(putters * puts, "/dev/null");
      put_one_at_a_time(putters, puts, pause, beside);
      follower.get();
    }
    record({"feed", "single put, " + variant + ", without a follower", us, number_}, without);
    record({"feed", "single put, " + variant + ", beside a follower", us, number_}, beside);
  }

  void put_one_at_a_time(std::uint64_t putters, std::uint64_t puts, std::chrono::milliseconds pause,
                         std::vector<double>& latencies) {
    std::vector<std::future<std::vector<double>>> all;
    for (std::uint64_t putter = 0; putter < putters; ++putter) {
      all.push_back(std::async(std::launch::async, [&, seed = ++seed_] {
        Generator generator(entities_, seed);
        std::vector<double> took;
        for (std::uint64_t i = 0; i < puts; ++i) {
          const std::string entity = generator.next();
          const auto start = Clock::now();
          require(store_.put({entity}).front().status == WriteStatus::stored, "a put failed");
          took.push_back(std::chrono::duration<double>(Clock::now() - start).count());
          std::this_thread::sleep_for(pause);
        }
        return took;
      }));
    }
    for (auto& one : all) {
      const std::vector<double> took = one.get();
      latencies.insert(latencies.end(), took.begin(), took.end());
    }
  }

  const Servers& servers_;
  const std::uint64_t entities_;
  std::vector<std::string> indexes_;
  Databases databases_;
  Datastore store_;
  int number_ = 0;
  std::atomic<std::uint64_t> seed_ = 1;  // the file's
};

void run(const Settings& settings) {
  const Servers servers(settings);
  const std::string file = servers.write_entities("entities.jsonl", settings.entities);
  const std::string definition = servers.write_definitions(1).front();
  for (int number = 1; number <= settings.runs; ++number) {
    note(fmt::format("the feed, run {}", number));
    Run(servers, settings.entities, file, definition).run(number);
  }
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  return looseleaf::bench::run_main("bench_feed", argc, argv, looseleaf::bench::run);
}
