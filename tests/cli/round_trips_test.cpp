// How often a command waits for a distant server.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/relayed_store.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// Two shards on servers that are distant.
class DistantStore : public RelayedStore {
 public:
  DistantStore() : RelayedStore(2, 50ms) {}

  // Checks the number of round trips, one after the other, that a command takes: those of the client library too. On a
  // busy machine, threads may start late and make it look like more, so the lowest of some runs counts. `input` returns
  // the input of each.
  void check_round_trips(
      int expected, const std::vector<std::string>& arguments,
      const std::function<std::string(int run)>& input = [](int) { return std::string(); }, int status = 0) const {
    const std::vector<std::string> command = joined({"looseleaf", "--cluster", file()}, arguments);
    int least = std::numeric_limits<int>::max();
    for (int i = 0; i < 5 || (least > expected && i < 15); ++i) {
      static_cast<void>(take_round_trips());
      const cli::ProcessResult result = run(command, input(i));
      CAPTURE(result.err);
      CHECK(result.status == status);
      least = std::min(least, take_round_trips());
    }
    CHECK(least == expected);
  }
};

// The client library needs four to connect. What sets the session up, and the shard's identity, need one each.
TEST_CASE_FIXTURE(DistantStore, "a command waits for a distant server only as often as it must") {
  REQUIRE(near().looseleaf({"create-index", near().directory().write("by_n.json", by_n_sharded)}).status == 0);
  REQUIRE(near().looseleaf({"put"}, entity_lines(2, R"("n":{})")).status == 0);
  check_round_trips(7, {"get", id_of(0)});
  check_round_trips(
      8, {"get", id_of(2)}, [](int) { return std::string(); }, 1);  // no row says that the server counts
  check_round_trips(8, {"query", "by_n", "n=0"});
  // Rows can move between the servers, so it looks again, and then asks what has changed.
  check_round_trips(10, {"query", "by_n", "n>=0"});
  // The entity is on the first server, its index rows are on the second.
  check_round_trips(10, {"put"}, [](int run) { return entity(2 * (run + 1), R"("n":1)"); });
  check_round_trips(15, {"put"}, [](int run) { return entity(0, fmt::format(R"("n":{})", 2 * run + 1)); });
}

}  // namespace
}  // namespace looseleaf::test
