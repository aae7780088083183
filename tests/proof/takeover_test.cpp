// A run of create-index or drop-index that was only asleep while another one took its place changes nothing any more.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* narrow = by_n_sharded;
constexpr const char* wide =
    R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}], "shard_on": "n"})";

struct Lifecycle {
  Lifecycle() : cluster(initialised()) {
    narrow_file = cluster.directory().write("narrow.json", narrow);
    wide_file = cluster.directory().write("wide.json", wide);
  }

  void must(std::vector<std::string> arguments, std::string_view input = {}) const {
    const cli::ProcessResult result = cluster.looseleaf(std::move(arguments), input);
    REQUIRE_MESSAGE(result.status == 0, result.err);
  }

  // Both shards hold the index of `definition` as the last command made it, maintained and complete.
  void check_wide_index() const {
    must({"create-index", wide_file});  // in force
    must({"put", "--quiet"}, R"({"n": 1, "s": "a"}{"n": 2, "s": "b"})");
    must({"verify"});
    CHECK(cluster.looseleaf({"query", "by_n", "n=1", "s=a", "--count"}).out == "1\n");
    CHECK(cluster.looseleaf({"query", "by_n", "n=2", "s=b", "--count"}).out == "1\n");
    CHECK(cluster.everywhere("SELECT job FROM looseleaf_progress WHERE job IN ('create', 'drop')").empty());
  }

  TestCluster cluster;
  std::string narrow_file, wide_file;
};

void check_gave_up(cli::Process& sleeper) {
  sleeper.signal(SIGCONT);
  check_status(sleeper.wait(), 3, {"another process has begun to create or drop this index"});
}

TEST_CASE("a create-index that slept while its index was dropped and made anew gives up" * needs_failpoints) {
  for (const char* place : {"create.intent:before@1", "create.table:before@0", "create.table:before@1",
                            "create.publish:before@0", "create.publish:before@1", "create.ready:before@1"}) {
    CAPTURE(place);
    const Lifecycle test;
    cli::Process sleeper = test.cluster.stop_at(place, {"create-index", test.narrow_file});
    test.cluster.kill_sessions();
    test.must({"drop-index", "by_n", "--yes"});
    test.must({"create-index", test.wide_file});
    check_gave_up(sleeper);
    test.check_wide_index();
  }
}

TEST_CASE("a create-index of another definition drops nothing that was put in force after it had looked" *
          needs_failpoints) {
  const Lifecycle test;
  cli::Process first = test.cluster.stop_at("create.publish:before@0", {"create-index", test.narrow_file});
  test.cluster.kill_sessions();
  cli::Process second = test.cluster.stop_at("create.intent:before@0#1", {"create-index", test.wide_file});
  first.signal(SIGCONT);
  REQUIRE(first.wait().status == 0);
  test.must({"put", "--quiet"}, R"({"n": 1, "s": "a"})");
  second.signal(SIGCONT);
  check_status(second.wait(), 2, {"index exists with another definition"});
  test.must({"create-index", test.narrow_file});  // ends what the refused one left of its intent
  test.must({"verify"});
  CHECK(test.cluster.looseleaf({"query", "by_n", "n=1", "--count"}).out == "1\n");
}

TEST_CASE("a create-index that claims an index which was half dropped since it had looked leaves it to drop-index" *
          needs_failpoints) {
  const Lifecycle test;
  test.cluster.die_at("create.publish:before@1", {"create-index", test.narrow_file});
  cli::Process sleeper = test.cluster.stop_at("create.intent:before@0#1", {"create-index", test.narrow_file});
  test.cluster.kill_sessions();
  test.cluster.die_at("drop.table:before@0", {"drop-index", "by_n", "--yes"});
  sleeper.signal(SIGCONT);
  check_status(sleeper.wait(), 2, {"an index with this name is being dropped"});
  CHECK(test.cluster.looseleaf({"create-index", test.narrow_file}).status == 2);  // although the drop's intent is gone
  test.must({"drop-index", "by_n", "--yes"});
  test.must({"create-index", test.wide_file});
  test.check_wide_index();
}

TEST_CASE("a drop-index that slept while another one finished, and the index was made anew, gives up" *
          needs_failpoints) {
  for (const char* place : {"drop.intent:after@0", "drop.stop_queries:before@0", "drop.stop_queries:before@1",
                            "drop.stop_writers:before@0", "drop.stop_writers:before@1", "drop.table:before@0",
                            "drop.table:before@1", "drop.catalog:before@0", "drop.catalog:before@1"}) {
    CAPTURE(place);
    const Lifecycle test;
    test.must({"create-index", test.narrow_file});
    cli::Process sleeper = test.cluster.stop_at(place, {"drop-index", "by_n", "--yes"});
    test.cluster.kill_sessions();
    test.must({"drop-index", "by_n", "--yes"});
    test.must({"create-index", test.wide_file});
    check_gave_up(sleeper);
    test.check_wide_index();
  }
}

TEST_CASE("nobody takes the place of a run whose statement may still be under way" * needs_failpoints) {
  const Lifecycle test;
  test.must({"create-index", test.narrow_file});
  cli::Process sleeper = test.cluster.stop_at("drop.table:before@1", {"drop-index", "by_n", "--yes"});
  check_status(test.cluster.looseleaf({"drop-index", "by_n", "--yes", "--timeout", "20"}), 3,
               {"another process is running this job", fmt::format("pid {}", sleeper.pid())});
  // Its lock on shard 0 is lost, but shard 1 knows better.
  test.cluster.kill_sessions(0);
  check_status(test.cluster.looseleaf({"drop-index", "by_n", "--yes", "--timeout", "4"}), 3,
               {"another process keeps changing this index's table"});
  sleeper.signal(SIGCONT);
  CHECK(sleeper.wait().status == 3);
  test.must({"drop-index", "by_n", "--yes"});
  test.must({"create-index", test.wide_file});
  test.check_wide_index();
}

}  // namespace
}  // namespace looseleaf::test
