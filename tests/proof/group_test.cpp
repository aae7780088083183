// A shard on MySQL's group replication: three servers, of which one is the primary. MariaDB has no group replication.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <string>

#include "tests/proof/failover_rounds.hpp"
#include "tests/proof/faulty_servers.hpp"
#include "tests/proof/server_group.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// A cleaner reads a body from the primary, which is cut off then. The others elect one on which the old value is put
// back, and the cleaner goes on: it deletes the row of that value. Returns whether the row is there in the end.
bool row_survives(ServerGroup& group, const std::string& failpoints) {
  check_status(group.looseleaf({"put", "--quiet"}, entity(0, "\"n\":1")), 0);
  CHECK(group.start({"put", "--quiet"}, entity(0, "\"n\":3"), "put.commit:after=kill").wait().status != 0);
  cli::Process cleaner =
      group.start({"clean", "--quiet"}, {}, "reconcile.change_index_rows:before#1=stop" + failpoints);
  REQUIRE(wait_until_stopped(cleaner));
  group.signal(0, SIGSTOP);
  group.follow_primary({1, 2});
  check_status(group.looseleaf({"put", "--quiet"}, entity(0, "\"n\":1")), 0);
  group.signal(0, SIGCONT);
  cleaner.signal(SIGCONT);
  static_cast<void>(cleaner.wait());
  return group.looseleaf({"query", "by_n", "n=1", "--ids"}).out == id_of(0) + "\n";
}

TEST_CASE("a primary that is cut off in a minority lets nothing be deleted" * needs_failpoints) {
  if (!on_mysql()) {
    return;
  }
  ServerGroup group;
  check_status(group.looseleaf({"init", "--quiet"}), 0);
  check_status(group.looseleaf({"create-index", group.write("by_n.json", by_n_sharded), "--quiet"}), 0);
  SUBCASE("") {
    CHECK(row_survives(group, ""));
    check_status(group.looseleaf({"verify", "--grace", "0", "--quiet"}), 0);
  }
  SUBCASE("control: without reconcile.prove") {
    CHECK_FALSE(row_survives(group, ",reconcile.prove=skip,reconcile.commit:after=kill"));
  }
}

TEST_CASE("a group whose new primary may answer before it has everything is refused") {
  if (!on_mysql()) {
    return;
  }
  const TestCluster cluster({.shards = 1, .servers = 0, .extra_args = {"--plugin-load-add=group_replication.so"}});
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  cluster.server_sql(0, "SET GLOBAL group_replication_consistency = 'EVENTUAL'");
  check_status(cluster.looseleaf({"get", id_of(0)}), 1, {"no such entity"});  // it is in no group
  cluster.server_sql(0, "SET GLOBAL group_replication_group_name = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa'");
  check_run(
      cluster.looseleaf({"put"}, entity(0, "\"n\":1")), 3, "",
      {"looseleaf: error: a new primary of the server's group answers before it has what the old one acknowledged\n",
       "hint: set group_replication_consistency to BEFORE_ON_PRIMARY_FAILOVER on every member, with SET PERSIST\n"});
}

TEST_CASE("while a group loses its primary again and again, nothing is lost and nothing false is reported") {
  if (on_mysql()) {
    failover::run_rounds<ServerGroup>("group-rounds");
  }
}

}  // namespace
}  // namespace looseleaf::test
