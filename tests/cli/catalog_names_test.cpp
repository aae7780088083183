// Completions that ask the catalog: quickly, silently, or not at all.
#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

// What is offered for the last of these words on a cluster.
std::string offered(const TestCluster& cluster, const std::vector<std::string>& words) {
  const cli::ProcessResult result = run(joined({"looseleaf", "__complete", "--cluster", cluster.file()}, words));
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

// How long an answer may take. Our servers answer in time however busy the machine is.
struct Patience {
  explicit Patience(const char* seconds) { ::setenv("LOOSELEAF_COMPLETION_TIMEOUT", seconds, 1); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  ~Patience() { ::unsetenv("LOOSELEAF_COMPLETION_TIMEOUT"); }
};

constexpr auto by_feed =
    R"({"table":"by_feed","properties":[{"name":"feed","type":"int"},{"name":"title","type":"string"}]})";
constexpr auto names = "words\t\nby_feed\tready: feed, title\n";
constexpr auto nothing = "words\t\n";

TEST_CASE("index names and an index's properties come from the catalog") {
  const Patience patience("20");
  const TestCluster cluster = initialised();
  CHECK(offered(cluster, {"query", ""}) == nothing);
  create_index(cluster, by_feed);
  CHECK(offered(cluster, {"query", ""}) == names);
  CHECK(offered(cluster, {"verify", "by_feed", ""}) == nothing);
  CHECK(offered(cluster, {"query", "by_feed", "f"}) == "words\t\nfeed=\tint\ntitle=\tstring\n");
  CHECK(offered(cluster, {"query", "by_food", ""}) == nothing);
}

TEST_CASE("a property whose name a condition has in quotes is not offered without them") {
  const Patience patience("20");
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table":"odd","properties":[{"name":"a=b","type":"int"},{"name":"c","type":"int"},
                            {"name":"d!","type":"int"},{"name":"\"e\"","type":"int"}]})");
  CHECK(offered(cluster, {"query", "odd", ""}) == "words\t\nc=\tint\n");
}

TEST_CASE("nothing is offered, and nothing said, where there is no cluster, or none that can be used") {
  const TestCluster fresh = TestCluster::shared();
  CHECK(offered(fresh, {"query", ""}) == nothing);
  CHECK(offered(fresh, {"--cluster", "/nonexistent", "query", ""}) == nothing);
  CHECK(offered(fresh, {"--cluster", fresh.directory().write("bad.json", "{"), "query", ""}) == nothing);
}

TEST_CASE("a server that is silent is not waited for: another one may answer, or else nobody does") {
  TestCluster cluster({.shards = 2, .servers = 2, .extra_args = {}});
  REQUIRE(cluster.looseleaf({"init"}).status == 0);
  create_index(cluster, by_feed);
  const auto servers = cluster.sandbox().status().servers;
  REQUIRE(::kill(servers[0].pid, SIGSTOP) == 0);
  {
    const Patience patience("20");
    CHECK(offered(cluster, {"query", ""}) == names);
  }
  REQUIRE(::kill(servers[1].pid, SIGSTOP) == 0);
  auto taken = Clock::duration::max();
  for (int tries = 0; tries < 3 && taken >= std::chrono::seconds(4); ++tries) {  // a busy machine may hold one up
    const auto begun = Clock::now();
    CHECK(offered(cluster, {"query", ""}) == nothing);
    taken = Clock::now() - begun;
  }
  for (const auto& server : servers) {
    ::kill(server.pid, SIGCONT);
  }
  CHECK(taken >= std::chrono::milliseconds(300));
  CHECK(taken < std::chrono::seconds(4));  // a connect alone would wait for 5 s
}

}  // namespace
}  // namespace looseleaf::test
