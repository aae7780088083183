// create-index, backfill and drop-index when something goes wrong half-way, and what an operator sees of them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

void put_entities(const TestCluster& cluster, std::uint64_t count) {
  put_all(cluster, entity_lines(count, "\"n\":{}"));
}

TEST_CASE("create-index with a shard down leaves a store that works, says what is missing, and is finished later") {
  const TestCluster cluster = initialised_alone(3);
  put_entities(cluster, 30);
  const std::string file = cluster.directory().write("by_n.json", by_n_sharded);
  cluster.sandbox().kill_server(2);
  check_run(cluster.looseleaf({"create-index", file, "--timeout", "1"}), 3, "",
            {"error: cannot connect to the server\n", "shard: 2\n", "hint: "});
  CHECK(cluster.looseleaf({"query", "by_n", "n=3", "--timeout", "1"}).status == 3);  // the dead shard may know it
  put_all(cluster, entity(0, "\"n\":100"));
  cluster.sandbox().start_server(2);
  check_status(cluster.looseleaf({"create-index", file, "--backfill"}), 0, {"by_n: ready\n"});
  CHECK(rows_of(cluster, "by_n") == 30);
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("create-index that died between two shards is shown by status and --dry-run, and finished by repeating it" *
          needs_failpoints) {
  const TestCluster cluster = initialised(3);
  put_entities(cluster, 30);
  const std::string file = cluster.directory().write("by_n.json", by_n_sharded);
  cluster.die_at("create.table:after@0", {"create-index", file});
  const std::string plan = check_status(cluster.looseleaf({"create-index", "--dry-run", file}), 0);
  CHECK(times("CREATE TABLE by_n (", plan) == 2);  // not on shard 0
  CHECK(times("INSERT INTO " + cluster.database(0), plan) + times("INSERT INTO `" + cluster.database(0), plan) == 1);
  CHECK(plan.ends_with("-- shards 0, 1, 2: by_n, will be registered as `building`\n"));
  CHECK(holds_in_order(cluster.looseleaf({"status"}).out, {"create", "by_n"}));
  cluster.die_at("create.publish:after@1", {"create-index", file});
  const std::string rest = check_status(cluster.looseleaf({"create-index", "--dry-run", file}), 0);
  CHECK(rest.starts_with("-- shards 0, 1: by_n, active, state building\n"));
  CHECK(times("CREATE TABLE", rest) == 0);
  CHECK(rest.ends_with("-- shard 2: by_n, will be registered as `building`\n"));
  CHECK(holds_in_order(cluster.looseleaf({"status"}).out, {"by_n", "building", "0, 1\n"}));
  put_all(cluster, entity(1, "\"n\":101") + entity(2, "\"n\":102"));
  check_run(
      cluster.looseleaf({"backfill", "by_n"}), 2, "",
      {"error: index is not created on every shard\n", "index: by_n\n", "shard: 2\n", "hint: run `looseleaf create"});
  const cli::ProcessResult all = cluster.looseleaf({"backfill"});
  check_run(all, 1, "", {"error: index is not created on every shard\n", "index: by_n\n"});
  CHECK(times("no index is building", all.err) == 0);
  check_status(cluster.looseleaf({"create-index", file, "--backfill"}), 0, {"created by_n: building", "by_n: ready\n"});
  CHECK(rows_of(cluster, "by_n") == 30);
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM looseleaf_progress") == "0\n");
}

TEST_CASE("create-index by somebody who may not create tables on one shard is finished once he may") {
  const TestCluster cluster = initialised(2);
  put_entities(cluster, 10);
  cluster.everywhere(
      "CREATE USER IF NOT EXISTS maker@localhost; "
      "GRANT SELECT, INSERT, UPDATE, DELETE, LOCK TABLES ON * TO maker@localhost");
  const std::string let_create = "GRANT CREATE, DROP ON * TO maker@localhost";
  cluster.sql(0, let_create);
  const std::string empty = cluster.directory().write("empty.cnf", "");
  const std::string as_maker =
      cluster.write_file("maker.json", fmt::format(R"("user": "maker", "defaults_file": "{}")", empty));
  const std::string file = cluster.directory().write("by_n.json", by_n_sharded);
  const cli::ProcessResult refused = run({"looseleaf", "--cluster", as_maker, "create-index", file});
  check_status(refused, 3, {"error: ", "shard: 1\n", "hint: grant"});
  check_run(cluster.looseleaf({"query", "by_n", "n=3"}), 2, "", {"error: no such index\n"});
  put_all(cluster, entity(0, "\"n\":100"));
  cluster.sql(1, let_create);
  check_status(run({"looseleaf", "--cluster", as_maker, "create-index", file, "--backfill"}), 0, {"by_n: ready\n"});
  CHECK(rows_of(cluster, "by_n") == 10);
  cluster.everywhere("DROP USER IF EXISTS maker@localhost");
}

TEST_CASE("catalogs that differ are shown, and converge") {
  const TestCluster cluster = initialised(3);
  create_index(cluster, by_n_sharded);
  put_entities(cluster, 9);
  const std::string file = cluster.directory().write("by_n.json", by_n_sharded);
  const auto verify_compares_no_rows = [&] {
    const cli::ProcessResult verify = cluster.looseleaf({"verify"});
    check_status(verify, 1, {"1 finding\n"});
    CHECK(verify.out.starts_with("catalog_differs by_n shard 1 "));
  };
  SUBCASE("a shard that lacks the index gets it again, and it is filled anew") {
    cluster.sql(1, "DELETE FROM looseleaf_index; UPDATE looseleaf_shard SET epoch = epoch + 1; DROP TABLE by_n");
    verify_compares_no_rows();
    CHECK(holds_in_order(cluster.looseleaf({"status"}).out, {"by_n", "ready", "0, 2\n"}));
    check_status(cluster.looseleaf({"create-index", file, "--backfill"}), 0,
                 {"created by_n: building", "by_n: ready\n"});
  }
  SUBCASE("another generation on one shard is dropped with the rest") {
    cluster.sql(1,
                "UPDATE looseleaf_index SET generation = 1; UPDATE looseleaf_shard SET epoch = epoch + 1;"
                "ALTER TABLE by_n COMMENT = 'looseleaf generation 0000000000000001'");
    verify_compares_no_rows();
    check_status(cluster.looseleaf({"create-index", file}), 2,
                 {"error: shards have different generations of this index\n",
                  "hint: run `looseleaf drop-index by_n` and create it again\n"});
    check_status(cluster.looseleaf({"backfill", "by_n"}), 2,
                 {"error: shards have different generations of this index\n", "  shard: 1\n",
                  "hint: run `looseleaf drop-index by_n` and create it again\n"});
    check_status(
        cluster.looseleaf({"query", "by_n"}), 2,
        {"error: index was dropped during the query\n",
         "hint: run the query again; if that fails, too, `looseleaf status` shows which shards have another index"});
    const std::string folder = cluster.directory().path() + "/definitions";
    std::filesystem::create_directory(folder);
    std::filesystem::copy(file, folder);
    check_run(
        cluster.looseleaf({"diff", folder}), 1,
        fmt::format("different by_n shard 1 has another index of this name than the shards before it: drop it and "
                    "create it again ({}/by_n.json)\n",
                    folder),
        {"looseleaf: 1 of 1 index is not as declared\n"});
    check_status(cluster.looseleaf({"apply", folder}), 2,
                 {"  difference: shard 1 has another index of this name", "hint: run `looseleaf drop-index by_n`"});
    check_status(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 0, {"dropped by_n\n"});
    CHECK(rows_of(cluster, "information_schema.tables WHERE table_name = 'by_n' AND table_schema = DATABASE()") == 0);
    check_status(cluster.looseleaf({"create-index", file, "--backfill"}), 0, {"by_n: ready\n"});
  }
  CHECK(rows_of(cluster, "by_n") == 9);
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

// A store with an index in state building.
TestCluster with_building_index() {
  TestCluster cluster = initialised();
  put_entities(cluster, 400);
  create_index(cluster, by_n_sharded);
  return cluster;
}

const std::vector<std::string> backfill_by_n = {"backfill", "by_n"};

TEST_CASE("the first Ctrl-C lets a backfill finish its chunk, the second ends it at once, and both are safe" *
          needs_failpoints) {
  const TestCluster cluster = with_building_index();
  TracedProcess job(cluster, backfill_by_n, "backfill.insert_index_rows:before=sleep:30000");
  wait_until("the first chunk is under way",
             [&] { return contains(job.steps(), "backfill.insert_index_rows:before@"); });
  std::this_thread::sleep_for(300ms);
  job->signal(SIGINT);
  std::this_thread::sleep_for(500ms);
  CHECK_FALSE(cli::is_gone(job->pid()));
  job->signal(SIGINT);
  const auto begin = Clock::now();
  CHECK(job->wait().status == 130);
  CHECK(Clock::now() - begin < 20s);  // the chunk would take 30 s
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready\n"});
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

// The shards are scanned side by side: this one waits until the other has said who works there.
constexpr const char* asleep_before_its_cursor_moves = "backfill.fence:before@1#1=sleep:5000,backfill.fence:after@1#1";

TEST_CASE("a backfill that was only asleep writes nothing once another has taken its place" * needs_failpoints) {
  const TestCluster cluster = with_building_index();
  cli::Process asleep = cluster.stop_at(asleep_before_its_cursor_moves, backfill_by_n);
  check_status(cluster.looseleaf({"backfill", "--timeout", "2"}), 3,
               {"error: another process is running this job\n", fmt::format("pid {}\n", asleep.pid()),
                "since: ", "heartbeat: "});
  cluster.kill_sessions();  // its named lock is lost
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready\n"});
  const std::string before = cluster.sql(1, "SELECT * FROM looseleaf_index");
  const cli::ProcessResult woken = resume(asleep);
  check_status(woken, 3,
               {"error: another process has filled the index meanwhile, or has set it back", "  index: by_n\n",
                "hint: run `looseleaf status`; if the index is still building, run "});
  CHECK(cluster.sql(1, "SELECT * FROM looseleaf_index") == before);
  CHECK(rows_of(cluster, "by_n") == 400);
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("a backfill that was only asleep moves no cursor, and publishes nothing, while another is at its work" *
          needs_failpoints) {
  const TestCluster cluster = with_building_index();
  std::string where, message = "error: index was dropped or its backfill was taken over before it became ready\n";
  int status = 2;
  SUBCASE("it would move a cursor") {
    where = asleep_before_its_cursor_moves;
    message = "error: another process took over the backfill\n";
    status = 3;
  }
  SUBCASE("it would publish the index on the first shard") {
    where = "backfill.publish:before@0";
  }
  SUBCASE("it would publish the index on the second shard") {
    where = "backfill.publish:before@1";
  }
  cli::Process asleep = cluster.stop_at(where, backfill_by_n);
  cluster.kill_sessions();  // its named lock is lost
  cli::Process other = cluster.stop_at("backfill.prove:before", backfill_by_n);
  const auto seen = [&] {
    return cluster.sql(1, "SELECT state, generation, since FROM looseleaf_index") +
           cluster.sql(1, "SELECT position, barrier, done, token, holder FROM looseleaf_progress");
  };
  const std::string before = seen();
  CHECK(before.find("building") != std::string::npos);
  check_status(resume(asleep), status, {message});
  CHECK(seen() == before);
  check_status(resume(other), 0, {"by_n: ready"});
  CHECK(rows_of(cluster, "by_n") == 400);
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("a backfill that waited while another one filled its index reads nothing" * needs_failpoints) {
  const auto wait_for_another = [](const TestCluster& cluster) {
    cli::Process first = cluster.stop_at("backfill.publish:before@0", backfill_by_n);
    cli::Process second = cluster.start({"backfill", "by_n", "--output", "json"});
    wait_until("the second one waits for the lock, or has waited in vain", [&] {
      return cli::is_gone(second.pid()) ||
             cluster.sql(0,
                         "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT GET_LOCK%' "
                         "AND state LIKE 'User%lock%'") != "0\n";
    });
    check_status(resume(first), 0, {"by_n: ready"});
    return second.wait();
  };
  cli::ProcessResult result;
  int busy = 0;
  do {  // it waits for the lock for a second, which may be too short
    const TestCluster cluster = with_building_index();
    result = wait_for_another(cluster);
    CHECK(cluster.everywhere("SELECT job FROM looseleaf_progress").empty());
  } while (contains(result.err, "another process is running this job") && ++busy < 5);
  check_status(result, 0, {"by_n: ready, there was nothing to fill"});
  const auto summary = nlohmann::json::parse(lines_of(result.out).back());
  CHECK(summary["ready"] == nlohmann::json::array({"by_n"}));
  CHECK(summary["entities"] == 0);
}

TEST_CASE("a backfill of an index whose table was altered ends before it reads, and says how to create it again") {
  const TestCluster cluster = with_building_index();
  cluster.sql(1, "ALTER TABLE by_n ADD extra INT");
  check_run(cluster.looseleaf(backfill_by_n), 3, "",
            {"error: a table is not as it should be\n", "table: by_n\n", "shard: 1\n",
             "hint: run `looseleaf drop-index by_n`, then create the index again; nothing was filled\n"});
  CHECK(cluster.everywhere("SELECT job FROM looseleaf_progress").empty());
}

TEST_CASE("each step of a drop has the whole timeout, however long the steps before it took" * needs_failpoints) {
  const TestCluster cluster = with_building_index();
  cli::Process drop = cluster.stop_at("drop.table:before@0", {"drop-index", "by_n", "--yes", "--timeout", "5"});
  std::this_thread::sleep_for(5100ms);
  const std::jthread reader([&] { cluster.sql(1, "SELECT SLEEP(1.5) FROM by_n RIGHT JOIN (SELECT 1) one ON TRUE"); });
  wait_until("the other reader has the table", [&] {
    return cluster.sql(1, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'") !=
           "0\n";
  });
  check_status(resume(drop), 0, {"dropped by_n"});
}

TEST_CASE("a backfill deletes a row of an older body and inserts a missing one before it makes the index ready" *
          needs_failpoints) {
  const TestCluster cluster = with_building_index();
  cli::Process backfill = cluster.stop_at("backfill.prove:before", backfill_by_n);
  cluster.sql(0, fmt::format("INSERT INTO by_n (n, entity_id) VALUES (77777, x'{}')", id_of(2)));
  cluster.sql(1, "DELETE FROM by_n LIMIT 1");
  check_status(resume(backfill), 0, {"by_n: ready"});
  CHECK(rows_of(cluster, "by_n WHERE n = 77777") == 0);
  CHECK(rows_of(cluster, "by_n") == 400);
}

TEST_CASE("a backfill of a store without writers inserts every row itself, so that its proof has nothing to repair" *
          needs_failpoints) {
  const TestCluster cluster = initialised(1);
  const std::string tags = fmt::format("{}", fmt::join(std::views::iota(0, 500), ","));
  put_all(cluster, entity_lines(30, "\"tags\":[" + tags + "]"));
  std::vector<std::string> create = {"create-index", "--quiet"};
  for (const char* const table : {"by_a", "by_b", "by_c"}) {  // so many rows that a transaction does not take them all
    create.push_back(cluster.directory().write(
        fmt::format("{}.json", table),
        fmt::format(R"({{"table": "{}", "properties": [{{"name": "tags", "type": "int", "each": true}}]}})", table)));
  }
  check_status(cluster.looseleaf(create), 0);
  const auto [filled, steps] = run_traced(cluster, {"backfill", "--quiet"});
  check_status(filled, 0);
  CHECK(times("backfill.commit:before", steps) >= 2);
  CHECK(times("reconcile.change_index_rows", steps) == 0);
  CHECK(rows_of(cluster, "by_c") == 15'000);
}

}  // namespace
}  // namespace looseleaf::test
