// What commands report while a server is replaced by its replica: nothing is lost, and nothing that is not so is found.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <string>

#include "tests/proof/faulty_servers.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// A replicated store with entities and an index.
struct Filled : Replicated {
  explicit Filled(std::uint64_t count) {
    check_status(looseleaf({"init", "--quiet"}), 0);
    check_status(looseleaf({"create-index", write("by_n.json", by_n_sharded), "--quiet"}), 0);
    check_run(looseleaf({"put"}, entity_lines(count, R"("n":{})")), 0, id_lines(count));
  }

  // What comes after the replica has taken over is on the new server alone.
  void fail_over() {
    demote();
    promote();
  }
};

// The age that clean reports of a shard's oldest record, in seconds.
int lag(const std::string& metrics, int shard) {
  const std::string text = read_text(metrics);
  const std::string name = fmt::format("watermark_lag_seconds{{shard=\"{}\"}} ", shard);
  const std::size_t at = text.find(name);
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
}

// The entity is on shard 1, its rows are on shard 0. A put of it that died has left a row, which the command looks at.
TEST_CASE("rows that only the new server has are not missing" * needs_failpoints) {
  Filled replicated(10);
  check_status(replicated.looseleaf({"put", "--quiet"}, entity(1, "\"n\":2")), 0);
  CHECK(replicated.start({"put", "--quiet"}, entity(1, "\"n\":4"), "put.commit:after=kill").wait().status != 0);
  std::vector<std::string> command = {"verify", "--grace", "0"};
  SUBCASE("verify") {}
  SUBCASE("clean") {
    command = {"clean"};
  }
  SUBCASE("clean --full") {
    command = {"clean", "--full"};
  }
  cli::Process job = replicated.start(command, {}, "reconcile.fence:before#1=stop");  // its sessions are open
  REQUIRE(wait_until_stopped(job));
  replicated.fail_over();
  check_status(replicated.looseleaf({"put", "--quiet"}, entity(1, "\"n\":6")), 0);
  job.signal(SIGCONT);
  const cli::ProcessResult result = job.wait();
  CHECK_MESSAGE(result.out.find("missing by_n") == std::string::npos, result.out);
  CHECK_MESSAGE(result.err.find("missing") == std::string::npos, result.err);
  check_status(replicated.looseleaf({"clean", "--full", "--quiet"}), 0);
  check_status(replicated.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
}

// An orphan row is swept while its entity comes, as by replication, when the server was demoted and promoted again: no
// fence keeps it out. Returns how many rows are left.
std::size_t rows_after_sweep(const std::string& failpoints, int status) {
  const TestCluster cluster = TestCluster::shared(2);
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  create_index(cluster, by_n_sharded);
  put_all(cluster, entity(0, "\"n\":1"));
  cluster.sql(0,
              "CREATE TABLE other_server LIKE entities; INSERT INTO other_server SELECT * FROM entities; "
              "DELETE FROM entities");
  cli::Process sweep = cluster.start({"verify", "--repair", "--grace", "0", "--quiet"}, {},
                                     "reconcile.change_index_rows:before#1=stop" + failpoints);
  REQUIRE(wait_until_stopped(sweep));
  cluster.sql(0, "INSERT INTO entities SELECT * FROM other_server; DROP TABLE other_server");
  sweep.signal(SIGCONT);
  check_status(sweep.wait(), status);
  return rows_of(cluster, "by_n");
}

TEST_CASE("a sweep looks again whether the entity is absent, and deletes no row otherwise" * needs_failpoints) {
  CHECK(rows_after_sweep("", 0) == 1);
}

TEST_CASE("control: without a second look it deletes the row" * needs_failpoints) {
  CHECK(rows_after_sweep(",sweep.look_again=skip", 1) == 0);  // and then finds that it is missing
}

TEST_CASE("a server that is written to although it is a replica is warned about") {
  Filled replicated(10);
  check_status(replicated.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
  replicated.lead_to_replica();
  check_status(replicated.looseleaf({"verify", "--grace", "0", "--quiet"}), 0,
               {"warning: a server that is written to is itself a replica"});
}

TEST_CASE("clean --follow does not take a replaced server's silence for rest") {
  Filled replicated(100);
  const std::string metrics = replicated.write("metrics", "");
  cli::Process clean = replicated.start({"clean", "--follow", "--timeout", "2", "--metrics-file", metrics});
  wait_until("a pass is done", [&] {
    const std::string text = read_text(metrics);
    return contains(text, "passes_total{result=\"success\"}") &&
           !contains(text, "passes_total{result=\"success\"} 0\n");
  });
  replicated.demote();
  wait_until("the silence lasts", [&] { return lag(metrics, 0) >= 2; });
  replicated.promote();
  wait_until("the lag is gone", [&] { return lag(metrics, 0) < 2; });
  clean.signal(SIGTERM);
  const cli::ProcessResult result = clean.wait();
  CHECK_MESSAGE(result.err.find("the server is read-only") != std::string::npos, result.err);
}

}  // namespace
}  // namespace looseleaf::test
