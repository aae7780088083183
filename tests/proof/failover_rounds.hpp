// Rounds in each of which another server takes over a shard under load: a planned failover to a replica, or the death
// of a group's primary. Nothing is lost, every query is right, and verify and clean report nothing that is not so.
// LOOSELEAF_ROUNDS is the number of rounds that count, else 5, or 100 in a full run.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <looseleaf/datastore.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/proof/faulty_servers.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test::failover {

using namespace std::chrono_literals;

inline constexpr std::uint64_t entity_count = 10'000;

// Those whose number is `part` modulo 2. Each round has values of its own, which are on the other shard than those of
// the round before.
inline std::string entities(std::uint64_t part, std::uint64_t round) {
  std::string text;
  for (std::uint64_t number = part; number < entity_count; number += 2) {
    text += entity(number, fmt::format("\"n\":{}", number + round * (entity_count + 1))) + "\n";
  }
  return text;
}

inline std::string ids(std::uint64_t part) {
  std::string text;
  for (std::uint64_t number = part; number < entity_count; number += 2) {
    text += id_of(number) + "\n";
  }
  return text;
}

// Asks for everything again and again: every entity matches all the time.
class Asker {
 public:
  explicit Asker(const std::string& cluster_file)
      : store_(Datastore::open(Cluster::load(cluster_file), options())),
        thread_([this](const std::stop_token& stop) { ask(stop); }) {}

  // Ends it. What was wrong, the first time; else empty.
  std::string end() {
    thread_.request_stop();
    thread_.join();
    return wrong_;
  }
  [[nodiscard]] std::uint64_t answers() const { return answers_; }

 private:
  static Options options() {
    Options options;
    options.timeout = 60s;
    return options;
  }

  void ask(const std::stop_token& stop) {
    Query query;
    query.index = "by_n";
    while (!stop.stop_requested() && wrong_.empty()) {
      std::set<std::string> found;
      std::uint64_t given = 0;
      try {
        store_.query(query, [&](const Entity& one) {
          found.insert(to_string(one.id));
          ++given;
          return true;
        });
        if (given != entity_count || found.size() != entity_count) {
          wrong_ = fmt::format("{} entities given, {} different ones", given, found.size());
        }
      } catch (const Error& error) {
        wrong_ = error.what();
      }
      ++answers_;
      query.descending = !query.descending;
    }
  }

  Datastore store_;
  std::string wrong_;  // the thread's until it has ended
  std::atomic<std::uint64_t> answers_ = 0;
  std::jthread thread_;
};

// Findings other than rows that a put has just made superfluous are false: all writers succeed.
inline void check_nothing_false(const cli::ProcessResult& result) {
  CHECK_MESSAGE(result.err.find("looseleaf: error:") == std::string::npos, result.err);
  CHECK_MESSAGE(result.err.find("missing") == std::string::npos, result.err);
  for (const char* kind : {"\nmissing ", "\nconflict ", "\nunreadable ", "\ncatalog ", "\ntable "}) {
    CHECK_MESSAGE(result.out.find(kind) == std::string::npos, result.out);
  }
}

template <typename Servers>
class FailoverWorld {
 public:
  FailoverWorld() {
    check_status(servers_.looseleaf({"init", "--quiet"}), 0);
    check_status(servers_.looseleaf({"create-index", servers_.write("by_n.json", by_n_unique), "--quiet"}), 0);
    for (const std::uint64_t part : {0, 1}) {
      check_run(servers_.looseleaf({"put"}, entities(part, 0)), 0, ids(part));
    }
  }

  // Returns true if the server went while both puts were under way.
  bool run_round(std::uint64_t number, std::mt19937_64& random) {
    Asker asker(servers_.file());
    cli::Process clean = servers_.start({"clean", "--follow", "--timeout", "60", "--quiet"});
    cli::Process verify = servers_.start({"verify", "--grace", "0", "--max-rate", "3000", "--timeout", "60"});
    std::vector<cli::Process> puts;
    for (const std::uint64_t part : {0, 1}) {
      puts.push_back(servers_.start({"put", "--timeout", "60"}, entities(part, number)));
    }
    wait_until(
        "put prints ids", [&] { return !puts[0].out().empty() && !puts[1].out().empty(); }, 60s);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
    servers_.demote();
    const bool counts = puts[0].out().size() < ids(0).size() && puts[1].out().size() < ids(1).size();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    servers_.promote();
    for (const std::uint64_t part : {0, 1}) {
      check_went_well(puts[part].wait(), ids(part));
    }
    check_nothing_false(verify.wait());
    clean.signal(SIGTERM);
    check_nothing_false(clean.wait());
    CHECK(asker.end().empty());
    answers_ += asker.answers();
    servers_.rejoin();
    for (const std::uint64_t part : {0, 1}) {
      check_run(servers_.looseleaf({"get", "-"}, ids(part)), 0, entities(part, number));
    }
    check_status(servers_.looseleaf({"clean", "--full", "--quiet"}), 0);
    check_status(servers_.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
    return counts;
  }

  [[nodiscard]] std::uint64_t answers() const { return answers_; }

 private:
  Servers servers_;
  std::uint64_t answers_ = 0;
};

template <typename Servers>
void run_rounds(const std::string& name) {
  const std::uint64_t seed = print_run_seed();
  const std::uint64_t wanted = wanted_rounds(5, 100);
  std::mt19937_64 random(seed);
  FailoverWorld<Servers> world;
  std::uint64_t counted = 0, rounds = 0;
  while (counted < wanted && rounds < 10 * wanted) {
    counted += world.run_round(++rounds, random) ? 1 : 0;
  }
  CHECK(counted >= wanted);
  CHECK(world.answers() >= rounds);
  log_proof(name, {{"rounds in which puts were under way", fmt::format("{} of {}", counted, rounds)},
                   {"queries of all entities meanwhile", std::to_string(world.answers())}});
}

}  // namespace looseleaf::test::failover
