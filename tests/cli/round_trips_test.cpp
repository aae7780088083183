// How often a command waits for a distant server.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/support/entities.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/relayed_store.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// Two shards on servers that are distant.
class DistantStore : public RelayedStore {
 public:
  static constexpr std::chrono::milliseconds round_trip = 100ms;

  DistantStore() : RelayedStore(2, round_trip / 2) {}

  // The number of round trips, one after the other, that a command takes: those of the client library too. A machine
  // that is busy can only make it look like more, so the lowest of a few counts.
  [[nodiscard]] int round_trips(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"looseleaf", "--cluster", file()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const cli::ProcessResult result = run(command);
      shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
      CAPTURE(result.err);
      CHECK(result.status == 0);
    }
    return static_cast<int>(shortest / round_trip);
  }
};

// The client library needs four to connect. What sets the session up, and the shard's identity, need one each.
TEST_CASE_FIXTURE(DistantStore, "a command waits for a distant server only as often as it must") {
  REQUIRE(near().looseleaf({"create-index", near().directory().write("by_n.json", by_n_sharded)}).status == 0);
  REQUIRE(near().looseleaf({"put"}, entity_lines(1, R"("n":{})")).status == 0);
  CHECK(round_trips({"get", id_of(0)}) == 7);
}

}  // namespace
}  // namespace looseleaf::test
