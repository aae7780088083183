// Memory, threads or descriptors run out anywhere: the program ends with a message or does its work, nothing
// acknowledged is lost, and no row of an index is missing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <looseleaf/datastore.hpp>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "tests/proof/faulty_runs.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/observed_store.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// Statements that a server has executed prepared.
std::uint64_t executed_prepared(const TestCluster& cluster) {
  const std::string line = cluster.server_sql(0, "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
  return std::stoull(line.substr(line.find('\t') + 1));
}

TestCluster with_indexes() {
  TestCluster cluster = initialised();
  create_index(cluster, by_n_sharded);
  create_index(cluster, R"({"table": "by_t", "properties": [{"name": "t", "type": "string"}]})");
  return cluster;
}

// Puts that are made to fail, what they acknowledged, and what the store must hold in the end.
class FaultyPuts {
 public:
  explicit FaultyPuts(const TestCluster& cluster) : cluster_(cluster) { put_all(cluster_, batch(0)); }

  // Two entities that every batch changes, indexed values included, and two new ones.
  static std::string batch(std::uint64_t number) {
    std::string lines;
    for (const std::uint64_t id : ids(number)) {
      lines += line(id, number) + "\n";
    }
    return lines;
  }

  void put(std::uint64_t number, const std::string& setting) {
    ++round_;
    const cli::ProcessResult result = run_with_faults(cluster_, {setting}, {"put"}, batch(round_));
    CAPTURE(number);
    if (client_library_crashed(result)) {
      ++crashes;
    } else {
      check_ending(result);
    }
    const std::vector<std::string> printed = lines_of(result.out);
    const std::vector<std::uint64_t> given = ids(round_);
    REQUIRE(printed.size() <= given.size());
    CHECK((result.status != 0 || printed.size() == given.size()));
    completed += result.status == 0 ? 1U : 0U;
    // In input order; those before one that failed, and those behind it, may be there.
    for (const std::string& id : printed) {
      const auto found = std::find_if(given.begin(), given.end(), [&](std::uint64_t one) { return id_of(one) == id; });
      REQUIRE(found != given.end());
      acknowledged_[*found] = round_;
    }
  }

  void check_nothing_lost() const {
    std::string wanted;
    for (const auto& [id, round] : acknowledged_) {
      wanted += id_of(id) + "\n";
    }
    const cli::ProcessResult result = cluster_.looseleaf({"get", "-"}, wanted);
    INFO(result.err);
    REQUIRE(result.status == 0);
    const std::vector<std::string> found = lines_of(result.out);
    REQUIRE(found.size() == acknowledged_.size());
    std::size_t at = 0;
    for (const auto& [id, round] : acknowledged_) {
      CHECK(holds(id, round, found[at++]));
    }
    CHECK(missing_rows(Observer(cluster_).observe()).empty());
  }

  std::uint64_t crashes = 0;    // of the client library
  std::uint64_t completed = 0;  // puts that were done in spite of the fault
  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_.size(); }

 private:
  static constexpr std::uint64_t shared = 2;

  static std::vector<std::uint64_t> ids(std::uint64_t round) {
    return {0, 1, shared + 2 * round, shared + 2 * round + 1};
  }
  static std::string line(std::uint64_t id, std::uint64_t round) {
    return entity(id, fmt::format(R"("n":{},"t":"t{}")", round, round));
  }

  // A later batch may have been stored without having been acknowledged; an earlier one must not come back.
  [[nodiscard]] bool holds(std::uint64_t id, std::uint64_t round, const std::string& found) const {
    bool right = found == line(id, round);
    for (std::uint64_t later = round + 1; id < shared && !right && later <= round_; ++later) {
      right = found == line(id, later);
    }
    return right;
  }

  const TestCluster& cluster_;
  std::uint64_t round_ = 0;
  std::map<std::uint64_t, std::uint64_t> acknowledged_;  // the round by entity
};

bool is_nothing(const std::string& out, const std::string& /*expected*/) {
  return out.empty();
}

bool is_beginning(const std::string& out, const std::string& expected) {
  return expected.starts_with(out);
}

// Are these some lines of those, in their order?
bool is_part(const std::string& out, const std::string& expected) {
  const std::vector<std::string> lines = lines_of(out), all = lines_of(expected);
  auto line = lines.begin();
  for (auto next = all.begin(); next != all.end() && line != lines.end(); ++next) {
    line += *line == *next ? 1 : 0;
  }
  return line == lines.end();
}

// Reads that are made to fail: what they print `may_be` printed of the right answer, and is all of it if they succeed.
std::uint64_t check_reads(const TestCluster& cluster, const std::vector<std::string>& arguments,
                          std::chrono::seconds budget,
                          const std::function<bool(const std::string& out, const std::string& expected)>& may_be,
                          std::size_t lines = 4, const std::string& program = looseleaf_program()) {
  const std::string expected = run_with_faults(cluster, {}, arguments, {}, program).out;
  REQUIRE(lines_of(expected).size() == lines);
  const std::uint64_t calls = count_calls(cluster, arguments, {}, program).allocations;
  std::uint64_t refused = 0;
  const std::uint64_t done = for_each_number(calls, budget, [&](std::uint64_t number) {
    const auto result = run_with_faults(cluster, {fmt::format("FAULTY_ALLOCATION={}", number)}, arguments, {}, program);
    if (!client_library_crashed(result)) {
      check_ending(result);
      refused += result.status == 0 ? 0 : 1;
    }
    CHECK((result.status == 0 ? result.out == expected : may_be(result.out, expected)));
  });
  CHECK(refused > 0);
  return done;
}

TEST_CASE("whichever allocation of a put finds no memory, nothing acknowledged is lost and no row is missing" *
          needs_faults) {
  const TestCluster cluster = with_indexes();
  FaultyPuts puts(cluster);
  const std::uint64_t calls = count_calls(cluster, {"put"}, FaultyPuts::batch(0)).allocations;
  const std::uint64_t done = for_each_number(
      calls, 30s, [&](std::uint64_t number) { puts.put(number, fmt::format("FAULTY_ALLOCATION={}", number)); });
  puts.check_nothing_lost();
  CHECK(puts.completed < done);
  CHECK(puts.acknowledged() > 0);
  log_proof("resource-faults",
            {{"allocations of a put of four entities", std::to_string(calls)},
             {"made to fail, one in each put", std::to_string(done)},
             {"puts done all the same", std::to_string(puts.completed)},
             {"crashes inside the client library", std::to_string(puts.crashes)},
             {"entities acknowledged, and looked for with their rows", std::to_string(puts.acknowledged())}});
}

TEST_CASE("whichever allocation of a get or a query finds no memory, what is printed is right" * needs_faults) {
  const TestCluster cluster = with_indexes();
  put_all(cluster, FaultyPuts::batch(0));
  // If one shard cannot be asked get prints what the others have.
  CHECK(check_reads(cluster, {"get", id_of(0), id_of(1), id_of(2), id_of(3)}, 7s, is_part) > 0);
  CHECK(check_reads(cluster, {"query", "by_n", "n=0"}, 7s, is_beginning) > 0);
}

TEST_CASE("whichever allocation of reads by prepared statements finds no memory, what is printed is right" *
          needs_faults) {
  const TestCluster cluster = with_indexes();
  put_all(cluster, FaultyPuts::batch(0));
  const std::uint64_t before = executed_prepared(cluster);
  CHECK(check_reads(cluster, {id_of(0), id_of(1), id_of(2), id_of(3)}, 15s, is_nothing, 8, LOOSELEAF_READS_AGAIN) > 0);
  CHECK(executed_prepared(cluster) > before);
}

TEST_CASE("a put that gets too few threads ends with a message, and what it acknowledged is stored" * needs_faults) {
  const TestCluster cluster = with_indexes();
  FaultyPuts puts(cluster);
  const std::uint64_t threads = count_calls(cluster, {"put"}, FaultyPuts::batch(0)).threads;
  REQUIRE(threads > 4);
  for (std::uint64_t number = 1; number <= threads; ++number) {
    puts.put(number, fmt::format("FAULTY_THREAD={}", number));
    puts.put(number, fmt::format("FAULTY_THREAD={}+1000", number));
  }
  puts.check_nothing_lost();
  check_status(run_with_faults(cluster, {"FAULTY_THREAD=1+1000"}, {"put"}, FaultyPuts::batch(1)), 3,
               {"looseleaf: error: this process ran out of memory or threads\n", "hint: "});
}

TEST_CASE("get and query need no thread but their own" * needs_faults) {
  const TestCluster cluster = with_indexes();
  put_all(cluster, FaultyPuts::batch(0));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"get", id_of(0), id_of(1)}, {"query", "by_t", "t=t0"}}) {
    const cli::ProcessResult result = run_with_faults(cluster, {"FAULTY_THREAD=1+1000"}, arguments);
    CHECK(result.status == 0);
    CHECK(result.out == cluster.looseleaf(arguments).out);
  }
}

TEST_CASE("with too few file descriptors the program says so or does its work" * needs_faults) {
  const TestCluster cluster = with_indexes();
  std::string acknowledged, stored;
  std::size_t failures = 0, successes = 0;
  for (int descriptors = 3; descriptors <= 24; ++descriptors) {
    CAPTURE(descriptors);
    const auto number = static_cast<std::uint64_t>(descriptors);
    const std::string written = entity(number, fmt::format(R"("n":{},"t":"x")", descriptors));
    const cli::ProcessResult result =
        run({"sh", "-c", R"(ulimit -n "$1"; exec "$LOOSELEAF_BIN" --timeout 2 --cluster "$0" put)", cluster.file(),
             std::to_string(descriptors)},
            written);
    // The loader needs some before the program begins.
    const bool began = result.err.find("error while loading shared libraries") == std::string::npos;
    if (began) {
      check_ending(result);
      (result.status == 0 ? successes : failures) += 1;
      CHECK((result.status == 0) == (result.out == id_of(number) + "\n"));
      acknowledged += result.out;
      stored += result.out.empty() ? "" : written + "\n";
    }
  }
  CHECK(failures > 0);
  CHECK(successes > 0);
  check_run(cluster.looseleaf({"get", "-"}, acknowledged), 0, stored);
  CHECK(missing_rows(Observer(cluster).observe()).empty());
}

TEST_CASE("an option file, a cluster file or a definition that cannot be read to its end is refused") {
  const TestCluster cluster = with_indexes();
  const std::string unreadable = "/proc/self/mem";  // can be opened, and reading it fails
  check_status(cluster.looseleaf({"--defaults-file", unreadable, "get", id_of(1)}), 2,
               {"error: an option file cannot be read completely\n", "file: " + unreadable + "\n"});
  for (const std::string& file : {unreadable, cluster.directory().path()}) {
    check_status(run({"looseleaf", "--cluster", file, "get", id_of(1)}), 2,
                 {"error: the file cannot be read\n", "file: " + file + "\n"});
  }
  check_status(cluster.looseleaf({"create-index", unreadable}), 2,
               {"error: the file cannot be read\n", "file: " + unreadable + "\n"});
}

TEST_CASE("a write stream whose caller cannot take a result gives no more, and says why") {
  const TestCluster cluster = with_indexes();
  Datastore store = Datastore::open(Cluster::load(cluster.file()));
  std::uint64_t taken = 0;
  WriteStream stream(store, [&](const WriteResult&) {
    if (++taken == 3) {
      throw std::bad_alloc();
    }
  });
  for (std::uint64_t i = 0; i < 3; ++i) {
    stream.put(entity(i));
  }
  CHECK_THROWS_AS(stream.flush(), std::bad_alloc);
  CHECK_THROWS_AS(stream.put(entity(4)), std::bad_alloc);
  CHECK_THROWS_AS(stream.finish(), std::bad_alloc);
  CHECK(taken == 3);
}

TEST_CASE("a flushed write stream has given every result, and goes on") {
  const TestCluster cluster = with_indexes();
  Datastore store = Datastore::open(Cluster::load(cluster.file()));
  std::uint64_t taken = 0;
  WriteStream stream(store,
                     [&](const WriteResult& result) { taken += result.status == WriteStatus::stored ? 1U : 0U; });
  for (std::uint64_t round = 1; round <= 20; ++round) {
    stream.put(entity(2 * round));
    stream.put(entity(2 * round + 1));
    stream.flush();
    REQUIRE(taken == 2 * round);
  }
}

}  // namespace
}  // namespace looseleaf::test
