// Rounds in each of which a server is down while entities are put with --buffer, and a put, a flush or another server
// is killed at random. Then all servers come back, and what was acknowledged must have taken effect once, or be
// refused. The number of rounds that count: LOOSELEAF_ROUNDS, else 5, or 200 in a full run. LOOSELEAF_SEED repeats the
// choices, but not the moments.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::uint32_t servers = 3;
constexpr std::uint64_t of_a_put = 2500;  // entities
constexpr std::size_t deleted_at_once = 40;

enum class BufferVictim { put, server_beside_puts, flush, server_beside_flushes };
constexpr std::array<const char*, 4> places = {"buffer.copy:before", "buffer.copy:after", "buffer.commit:before",
                                               "buffer.commit:after"};
constexpr std::array<const char*, 4> names = {"put", "server beside puts", "flush", "server beside flushes"};

struct BufferTotals {
  int rounds = 0;
  std::array<int, 4> counted = {};
  std::map<std::string, std::uint64_t> outcomes;  // of writes
  std::uint64_t refused = 0, deleted = 0;
  std::vector<std::string> problems;

  [[nodiscard]] int all_counted() const { return counted[0] + counted[1] + counted[2] + counted[3]; }
  [[nodiscard]] bool all_kinds() const { return *std::min_element(counted.begin(), counted.end()) > 0; }
};

// What a put was given, and what it said of it; the outcome is empty if it died before.
struct GivenWrite {
  std::string id, text, outcome;

  [[nodiscard]] bool acknowledged() const { return outcome == "stored" || outcome == "buffered"; }
};

class BufferWorld {
 public:
  BufferWorld(std::uint64_t seed, const std::vector<std::string>& server_args)
      : random_(seed), cluster_({.shards = 6, .servers = servers, .extra_args = server_args}) {
    REQUIRE(cluster_.looseleaf({"init"}).status == 0);
    create_index(cluster_, by_n_sharded);
  }

  void run_round(BufferVictim victim, BufferTotals& totals) {
    ++totals.rounds;
    writes_.clear();
    deleted_.clear();
    bool counts = put_beside_a_dead_server(victim);
    start_servers();
    counts = flush_and_delete(victim) || counts;
    start_servers();
    flush_to_the_end(totals);
    judge(totals);
    totals.counted.at(static_cast<std::size_t>(victim)) += counts ? 1 : 0;
    fmt::print("round {}: {} killed{}\n", totals.rounds, names.at(static_cast<std::size_t>(victim)),
               counts ? "" : " (not counted)");
    std::fflush(stdout);
  }

  // Acknowledged writes are lost if their servers do not flush their logs. Returns the problems.
  std::vector<std::string> lose_copies() {
    BufferTotals totals;
    writes_.clear();
    cluster_.sandbox().kill_server(0);
    const std::vector<GivenWrite> given = make_writes(0);
    const cli::ProcessResult result = cluster_.looseleaf(put_, lines(given));
    cluster_.sandbox().kill_server(1);  // at once, before they flush
    cluster_.sandbox().kill_server(2);
    note(given, result.out);
    start_servers();
    flush_to_the_end(totals);
    judge(totals);
    return totals.problems;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  // Writes of new ids. Every fifth has an id of the put before, and another text.
  std::vector<GivenWrite> make_writes(int put) {
    std::vector<GivenWrite> given;
    for (std::uint64_t i = 0; i < of_a_put; ++i) {
      const bool again = put > 0 && i % 5 == 0;
      const std::uint64_t number = again ? next_ - of_a_put + i : next_ + i;
      given.push_back({id_of(number), entity(number, fmt::format(R"("n":{},"put":{})", below(1000), put)), ""});
    }
    next_ += of_a_put;
    return given;
  }

  static std::string lines(const std::vector<GivenWrite>& given) {
    std::string lines;
    for (const GivenWrite& write : given) {
      lines += write.text + "\n";
    }
    return lines;
  }

  void note(std::vector<GivenWrite> given, const std::string& output) {
    const std::vector<std::string> results = lines_of(output);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Json line = i < results.size() ? Json::parse(results[i], nullptr, false) : Json();
      if (line.is_object() && line.contains("status")) {  // the last line of a killed put may be incomplete
        given[i].outcome = line["status"];
      }
      writes_.push_back(std::move(given[i]));
    }
  }

  static bool goes_on(const cli::Process& process) { return !contains(process.out(), "\"schema_version\""); }

  void sleep(std::uint64_t longest) { std::this_thread::sleep_for(std::chrono::milliseconds(below(longest))); }

  // A put stops while it buffers, and then it, or another server, is killed. Returns true if it did stop.
  bool put_beside_a_dead_server(BufferVictim victim) {
    const auto down = static_cast<std::uint32_t>(below(servers));
    cluster_.sandbox().kill_server(down);
    const bool kills = victim == BufferVictim::put || victim == BufferVictim::server_beside_puts;
    const std::string stop = fmt::format("{}#{}=stop", places.at(below(places.size())), 1 + below(3));
    const std::vector<GivenWrite> given = make_writes(0), then = make_writes(1);
    cli::Process first = cluster_.start(put_, lines(given), kills ? stop : "");
    cli::Process second = cluster_.start(put_, lines(then));
    const bool counts = kills && wait_until_stopped(first);
    if (counts && victim == BufferVictim::put) {
      first.signal(SIGKILL);
    } else if (counts) {
      cluster_.sandbox().kill_server((down + 1 + static_cast<std::uint32_t>(below(2))) % servers);
      first.signal(SIGCONT);
    }
    note(given, first.wait().out);
    note(then, second.wait().out);
    return counts;
  }

  void start_servers() {
    for (std::uint32_t server = 0; server < servers; ++server) {
      cluster_.sandbox().start_server(server);
    }
  }

  // Two flushes at once, while entities are deleted. Returns true if something was killed before they ended.
  bool flush_and_delete(BufferVictim victim) {
    cli::Process first = cluster_.start(flush_), second = cluster_.start(flush_);
    sleep(300);
    const bool goes_on_still = goes_on(first) && goes_on(second);
    bool counts = false;
    if (victim == BufferVictim::flush) {
      counts = goes_on_still;
      first.signal(SIGKILL);
    }
    delete_some();
    if (victim == BufferVictim::server_beside_flushes) {
      counts = goes_on(first) || goes_on(second);
      cluster_.sandbox().kill_server(static_cast<std::uint32_t>(below(servers)));
      sleep(200);
      start_servers();
    }
    static_cast<void>(first.wait());
    static_cast<void>(second.wait());
    return counts;
  }

  // Only ids that are put once: another write of the id may be flushed later.
  void delete_some() {
    std::vector<std::string> command = {"delete", "--timeout", "20"};
    std::map<std::string, int> times;
    for (const GivenWrite& write : writes_) {
      ++times[write.id];
    }
    for (std::size_t i = 0; i < deleted_at_once; ++i) {
      const GivenWrite& write = writes_[below(writes_.size())];
      if (times[write.id] == 1) {
        command.push_back(write.id);
      }
    }
    for (const std::string& id : lines_of(cluster_.looseleaf(command).out)) {
      deleted_.insert(id);
    }
  }

  void flush_to_the_end(BufferTotals& totals) {
    const cli::ProcessResult result = cluster_.looseleaf(flush_);
    if (result.status != 0 && result.status != 1) {
      totals.problems.push_back("the last flush fails: " + result.err);
    }
  }

  void judge(BufferTotals& totals) {
    std::string asked;
    for (const GivenWrite& write : writes_) {
      asked += write.id + "\n";
    }
    std::map<std::string, std::string> store;
    for (const std::string& line : lines_of(cluster_.looseleaf({"get", "--quiet", "-"}, asked).out)) {
      store.emplace(Json::parse(line).at("id"), line);
    }
    std::set<std::string> refused;  // texts
    for (const std::string& line : lines_of(cluster_.looseleaf({"refused", "list", "--texts"}).out)) {
      refused.insert(line);
    }
    std::set<std::string> ids;
    for (const GivenWrite& write : writes_) {
      const auto entity = store.find(write.id);
      const bool is_stored = entity != store.end() && entity->second == write.text;
      const bool is_deleted = deleted_.contains(write.id);
      if (write.acknowledged() && !is_stored && !is_deleted && !refused.contains(write.text)) {
        totals.problems.push_back(fmt::format("lost ({}): {}", write.outcome, write.text));
      }
      if (is_stored && is_deleted) {
        totals.problems.push_back(fmt::format("comes back ({}): {}", write.outcome, write.text));
      }
      if ((is_stored || is_deleted) && refused.contains(write.text)) {
        totals.problems.push_back(fmt::format("refused although it took effect: {}", write.text));
      }
      if (write.outcome == "failed" && (is_stored || refused.contains(write.text))) {
        totals.problems.push_back("stored although it failed: " + write.text);
      }
      ++totals.outcomes[write.outcome.empty() ? "unknown" : write.outcome];
    }
    totals.refused += refused.size();
    totals.deleted += deleted_.size();
    check_nothing_left(totals);
  }

  void check_nothing_left(BufferTotals& totals) {
    static_cast<void>(cluster_.looseleaf({"refused", "drop", "--all"}));
    for (const char* const table : {"looseleaf_buffer", "looseleaf_receipt"}) {
      if (const std::size_t rows = rows_of(cluster_, table); rows > 0) {
        totals.problems.push_back(fmt::format("{} rows are left in {}", rows, table));
      }
    }
    if (const auto verified = cluster_.looseleaf({"clean", "--full"}); verified.status != 0) {
      totals.problems.push_back("clean --full: " + verified.err);
    }
    if (const auto verified = cluster_.looseleaf({"verify"}); verified.status != 0) {
      totals.problems.push_back("verify: " + verified.out + verified.err);
    }
  }

  const std::vector<std::string> put_ = {"put", "--buffer", "--output", "json", "--timeout", "3"};
  const std::vector<std::string> flush_ = {"flush", "--output", "json", "--timeout", "20"};
  std::mt19937_64 random_;
  TestCluster cluster_;
  std::uint64_t next_ = 0;  // number of the next new entity
  std::vector<GivenWrite> writes_;
  std::set<std::string> deleted_;
};

TEST_CASE("whatever is killed, a buffered write that was acknowledged takes effect once, or is refused" *
          needs_failpoints) {
  const std::uint64_t seed = print_run_seed();
  const int wanted = static_cast<int>(wanted_rounds(5, 200));
  BufferWorld world(seed, {});
  BufferTotals totals;
  while ((totals.all_counted() < wanted || !totals.all_kinds()) && totals.rounds < 10 * wanted) {
    world.run_round(static_cast<BufferVictim>(totals.rounds % static_cast<int>(names.size())), totals);
    for (const std::string& problem : std::exchange(totals.problems, {})) {
      FAIL_CHECK(problem);
    }
  }
  CHECK(totals.all_counted() >= wanted);
  CHECK(totals.all_kinds());
  CHECK(totals.outcomes["buffered"] > 0);
  CHECK(totals.deleted > 0);
  CHECK(totals.refused > 0);
  log_proof(
      "buffer-rounds",
      {{"rounds that hit what was under way",
        fmt::format("{} of {}: put {}, server beside puts {}, flush {}, server beside flushes {}", totals.all_counted(),
                    totals.rounds, totals.counted[0], totals.counted[1], totals.counted[2], totals.counted[3])},
       {"writes", fmt::format("stored {}, buffered {}, unknown {}, failed {}", totals.outcomes["stored"],
                              totals.outcomes["buffered"], totals.outcomes["unknown"], totals.outcomes["failed"])},
       {"afterwards", fmt::format("refused {}, deleted {}", totals.refused, totals.deleted)}});
}

TEST_CASE("control: servers that do not flush their log lose buffered writes, and that is noticed") {
  constexpr int most = 20;  // a server flushes every second of itself
  // MySQL's threads that write the log would leave hardly anything to lose.
  BufferWorld world(run_seed(), {"--innodb-flush-log-at-trx-commit=0", "--loose-innodb-log-writer-threads=OFF"});
  bool noticed = false;
  for (int i = 0; i < most && !noticed; ++i) {
    const std::vector<std::string> problems = world.lose_copies();
    noticed = std::any_of(problems.begin(), problems.end(),
                          [](const std::string& problem) { return problem.starts_with("lost (buffered): "); });
  }
  CHECK(noticed);
}

}  // namespace
}  // namespace looseleaf::test
