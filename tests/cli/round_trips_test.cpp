// How often a command waits for a distant server.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <vector>

#include "tests/support/entities.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/relay.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// A store with an index by_n over two shards, on servers that are as distant as this.
class DistantStore {
 public:
  static constexpr std::chrono::milliseconds round_trip = 100ms;

  DistantStore() : near_(initialised()) {
    std::string shards;
    for (std::uint32_t shard = 0; shard < near_.shards(); ++shard) {
      const Relay& relay = relays_.emplace_back(near_.socket(shard), round_trip / 2);
      shards += fmt::format(R"({}"localhost:{}/{}")", shard == 0 ? "" : ", ", relay.port(), near_.database(shard));
    }
    file_ = near_.directory().write("distant.json", fmt::format(R"({{"shards": [{}], "user": "root",
        "ssl_mode": "disabled", "defaults_file": "{}"}})",
                                                                shards, near_.defaults_file()));
  }

  [[nodiscard]] const TestCluster& near() const { return near_; }

  // The number of round trips, one after the other, that a command takes: those of the client library too. A machine
  // that is busy can only make it look like more, so the lowest of a few counts.
  [[nodiscard]] int round_trips(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"looseleaf", "--cluster", file_};
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

 private:
  TestCluster near_;
  std::list<Relay> relays_;
  std::string file_;
};

// The client library needs four to connect. What sets the session up, and the shard's identity, need one each.
TEST_CASE_FIXTURE(DistantStore, "a command waits for a distant server only as often as it must") {
  REQUIRE(near().looseleaf({"create-index", near().directory().write("by_n.json", by_n_sharded)}).status == 0);
  REQUIRE(near().looseleaf({"put"}, entity_lines(1, R"("n":{})")).status == 0);
  CHECK(round_trips({"get", id_of(0)}) == 7);
}

}  // namespace
}  // namespace looseleaf::test
