// What the measuring programs share: their arguments, the servers, other programs run under the clock, and records of
// what came out, as lines of JSON on standard output that bench_report reads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/datastore.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/generator.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::bench {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::uint64_t entities = 1'000'000;
  int runs = 5;
  std::string pool = "512M";  // of each server
  std::string redo;           // its redo log; empty: the 96 MiB of a sandbox
  std::string debian;         // a file of the Debian package list as entities, one a line; empty: not measured
};

// Reads `--entities N --runs N --pool SIZE --redo SIZE --debian FILE`. Throws std::runtime_error.
[[nodiscard]] Settings parse_settings(int argc, char** argv);

// Index definitions for the generator's entities: by user, by feed and time, by link.
[[nodiscard]] const std::vector<std::string>& definitions();

void require(bool condition, const std::string& what);

// What some work cost.
struct Usage {
  double seconds = 0;                     // by the clock
  double client_cpu = 0, server_cpu = 0;  // seconds on processors; 0: not known
  std::uint64_t max_rss_kib = 0;          // of the largest process, not of the servers
  std::uint64_t connections = 0;          // the most that a server had at once; 0: not measured
};

// A program to run, and the files that are its input and its output.
struct Program {
  std::vector<std::string> command;
  std::string input = "/dev/null";
  std::string output = "/dev/null";
};

// Two servers with durable defaults and any number of clusters on them.
class Servers {
 public:
  explicit Servers(const Settings& settings);

  [[nodiscard]] const test::TestCluster& cluster() const { return cluster_; }
  [[nodiscard]] std::string path(const std::string& name) const { return cluster_.directory().path() + "/" + name; }
  // Writes a file of entities, one a line, and returns its path. For `revision` see Generator.
  [[nodiscard]] std::string write_entities(const std::string& name, std::uint64_t entities, std::uint64_t seed = 1,
                                           std::uint64_t revision = 0) const;
  // Writes the ids of such a file, one a line, and returns its path.
  [[nodiscard]] std::string write_ids(const std::string& entities) const;
  // Writes the definitions as files, the first `count` of them, and returns their paths.
  [[nodiscard]] std::vector<std::string> write_definitions(std::size_t count) const;
  // The server's own client program, as root on one server, in a database unless that is empty.
  [[nodiscard]] std::vector<std::string> client(std::uint32_t server, const std::string& database) const;

  // Runs programs side by side to their ends. Throws std::runtime_error with what one said that failed.
  Usage run(const std::vector<Program>& programs) const;
  // Runs programs one after the other and adds up what they used.
  Usage run_in_turn(const std::vector<Program>& programs) const;
  // The most connections that a server had at once since this was forgotten.
  void forget_connections() const;
  [[nodiscard]] std::uint64_t most_connections() const;
  // Runs a program that prints how many seconds it took: with what it prepared before that, the whole took longer.
  Usage run_with_own_clock(Program program) const;
  // The same of something in this process; its memory is not measured.
  template <typename Work>
  Usage timed(const Work& work) const {
    const double client = own_cpu(), server = server_cpu();
    const auto start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return {seconds, own_cpu() - client, server_cpu() - server, 0};
  }

 private:
  [[nodiscard]] static double own_cpu();
  [[nodiscard]] double server_cpu() const;

  test::TestCluster cluster_;
};

// A cluster on databases of its own, which are dropped at the end.
class Databases {
 public:
  // With `indexes` files of definitions, after init; without init if `indexes` is null. `sockets`, unless it is empty,
  // has for each server the socket by which the cluster file reaches it.
  Databases(const Servers& servers, std::uint32_t shards, const std::vector<std::string>* indexes,
            const std::vector<std::string>& sockets = {});
  Databases(const Databases&) = delete;
  Databases& operator=(const Databases&) = delete;
  ~Databases();

  [[nodiscard]] const std::string& file() const { return file_; }  // the cluster file
  [[nodiscard]] std::string name(std::uint32_t shard) const;
  [[nodiscard]] std::uint32_t server_of(std::uint32_t shard) const;
  // `looseleaf --cluster FILE --quiet ARGUMENTS…`
  [[nodiscard]] Program looseleaf(std::vector<std::string> arguments, const std::string& input = "/dev/null") const;

 private:
  const Servers& servers_;
  std::uint32_t shards_;
  std::string prefix_, file_;
};

// The table `native`: JSON with generated columns, of which `user_id` has an index.
void create_native(const Servers& servers, const Databases& databases);

// A program that was built beside this one.
[[nodiscard]] std::string sibling(const std::string& name);

// One measurement: of what work, in which of its variants, done by whom, in which run.
struct Label {
  std::string work, variant, by;
  int run = 0;
};
void record(const Label& label, std::uint64_t count, const Usage& usage);
// Latencies in seconds. `usage`: what all of them took together, if that was measured.
void record(const Label& label, std::vector<double> latencies, const std::optional<Usage>& usage = {});
// An operation by each of those that are compared; they take turns at it, and at coming before each of the others: who
// comes first finds what he asks for in no cache of the processor yet, perhaps not even in the server's pool.
using Contenders = std::vector<std::pair<std::string, std::function<void(std::size_t)>>>;
// Does it `times` times by each, with the number of the time, and records what each took under the label.
void take_turns(const Servers& servers, const Label& label, std::size_t times, const Contenders& contenders);
// Says on standard error what is being done.
void note(const std::string& text);

// Runs main()'s work; what it throws becomes the program's complaint and status 1.
int run_main(std::string_view program, int argc, char** argv, void (*work)(const Settings&));

}  // namespace looseleaf::bench
