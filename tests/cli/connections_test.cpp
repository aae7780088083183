// How many connections a process has to a server.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <list>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/relayed_store.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint32_t many = 32;  // shards on two servers

struct ManyShards : RelayedStore {
  ManyShards() : RelayedStore(many) {}

  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& arguments) const {
    return joined({"looseleaf", "--cluster", file(), "--quiet"}, arguments);
  }
  [[nodiscard]] std::string definition(const std::string& name, const std::string& more = {}) const {
    return near().directory().write(
        name + ".json",
        fmt::format(R"({{"table": "{0}", "properties": [{{"name": "{0}", "type": "int"}}]{1}}})", name, more));
  }
  // 2,000 entities from the number `first` on.
  [[nodiscard]] static std::string entities(int shift, std::uint64_t first = 0) {
    std::string lines;
    for (std::uint64_t number = first; number < first + 2000; ++number) {
      const auto n = static_cast<int>(number) + shift;
      lines += entity(number, fmt::format(R"("n":{},"m":{},"o":{},"p":{})", n, n / 2, n % 7, n % 5)) + "\n";
    }
    return lines;
  }

  // A life of a store, each command with these options.
  void live(const std::vector<std::string>& options) const {
    const auto check_run = [&](const std::vector<std::string>& arguments, const std::string& input = {}) {
      CAPTURE(arguments.front());
      check_status(run(command(joined(arguments, options)), input), 0);
    };
    check_run({"create-index", definition("n", R"(, "shard_on": "n")"), definition("m", R"(, "shard_on": "m")")});
    check_run({"put"}, entities(0));
    check_run({"put"}, entities(5));
    check_run({"create-index", definition("o"), definition("p", R"(, "shard_on": "p")")});
    check_run({"backfill"});
    check_run({"get", "-"}, id_lines(200));
    check_run({"query", "n", "n>=0"});
    check_run({"query", "o", "o=3"});
    check_run({"status"});
    check_run({"delete", id_of(1), id_of(2)});
    check_run({"verify", "--repair"});
    check_run({"clean", "--full"});
    check_run({"drop-index", "o", "--yes"});
    run_trigger(options);
    check_run({"trigger", "list"});
    check_run({"changes", "--after", "beginning"});
    check_run({"trigger", "drop", "t"});
    check_run({"copy", "--to", initialised(3).file(), "--finish"});
  }

  // Until it has begun on each shard.
  void run_trigger(const std::vector<std::string>& options) const {
    cli::Process trigger =
        start(command(joined(joined({"trigger", "run", "t"}, options), {"--", "sh", "-c", "cat > /dev/null"})));
    wait_until("the trigger has delivered all", [&] {
      return near().sql(many - 1, "SELECT done > 0 FROM looseleaf_progress WHERE job = 'trigger'") == "1\n";
    });
    check_status(end_by(SIGTERM, trigger), 143);
  }
};

TEST_CASE_FIXTURE(ManyShards, "a process has at most eight connections to a server, however many shards are there") {
  live({});
  CHECK(most_connections() <= 8);
  CHECK(most_connections() > 4);  // the relays count
}

TEST_CASE_FIXTURE(ManyShards, "everything works with as few connections as the limit can be") {
  live({"--max-connections", "4", "--timeout", "10"});
  CHECK(most_connections() <= 4);
}

// A server counts a session for a moment after its end, so many short ones are more than eight at a time.
TEST_CASE_FIXTURE(ManyShards, "verify opens a few sessions on a server, and not one for each shard") {
  check_status(run(command({"create-index", definition("n", R"(, "shard_on": "n")")})), 0);
  const std::uint64_t before = near().status(0, "Connections");
  check_status(run(command({"verify", "--grace", "0"})), 0);
  CHECK(near().status(0, "Connections") - before <= 9);  // one is ours
}

TEST_CASE_FIXTURE(ManyShards, "sixteen processes put side by side to many shards") {
  check_status(run(command({"create-index", definition("n", R"(, "shard_on": "n")")})), 0);
  std::list<cli::Process> puts;
  for (std::uint64_t i = 0; i < 16; ++i) {
    puts.push_back(start(command({"put"}), entities(0, 2000 * i)));
  }
  for (cli::Process& put : puts) {
    check_status(put.wait(), 0);
  }
  CHECK(most_connections() <= 16 * 8);
  check_status(run(command({"verify", "--grace", "0"})), 0);
}

}  // namespace
}  // namespace looseleaf::test
