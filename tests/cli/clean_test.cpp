// clean as it runs beside a store for good, and what it must not pass over.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <chrono>
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

constexpr const char* lacked_rows = "warning: rows were missing from a ready index and were inserted\n";

// With an index, and so many entities whose n is 0.
TestCluster with_entities(std::uint64_t count) {
  TestCluster cluster = initialised();
  create_index(cluster, by_n);
  put_all(cluster, entity_lines(count, "\"n\":0"));
  return cluster;
}

// Changes n of an entity and dies once that is committed: the row of the old value stays.
void put_and_die(const TestCluster& cluster, std::uint64_t number, int n,
                 const std::vector<std::string>& options = {}) {
  cluster.die_at("put.commit:after", joined({"put"}, options), entity(number, fmt::format("\"n\":{}", n)));
}

// The number behind the name of a metric; 0 if it is not there.
std::int64_t number_in(const std::string& metrics, const std::string& name) {
  const std::string line = "looseleaf_clean_" + name + " ";
  const std::size_t at = metrics.find(line);
  return at == std::string::npos ? 0 : std::stoll(metrics.substr(at + line.size()));
}

cli::Process start_cleaner(const TestCluster& cluster, const std::vector<std::string>& options) {
  return cluster.start(joined({"clean", "--follow"}, options));
}

void stop(cli::Process& cleaner) {
  check_status(end_by(SIGTERM, cleaner), 143, {"interrupted; run the same command to resume\n"});
}

std::string holders(const TestCluster& cluster) {
  return cluster.sql(0, "SELECT holder FROM looseleaf_progress WHERE job = 'clean'");
}

// A record on each shard of the first entities, so that clean looks at them in the order of their numbers.
void leave_records(const TestCluster& cluster, std::uint64_t count) {
  for (std::uint32_t shard = 0; shard < cluster.shards(); ++shard) {
    std::vector<std::string> ids;
    for (std::uint64_t number = shard; number < count; number += cluster.shards()) {
      ids.push_back(id_of(number));
    }
    cluster.sql(shard, cleanup_record(ids));
  }
}

TEST_CASE("clean --follow heals what a put left that died after its commit, within five seconds" * needs_failpoints) {
  const TestCluster cluster = with_entities(100);
  cli::Process cleaner = start_cleaner(cluster, {"--output", "json"});
  wait_until("it has begun", [&] { return contains(holders(cluster), fmt::format("pid {}", cleaner.pid())); });
  int died = 0, soon = 0;
  while (soon < 2 && died < 6) {  // a busy machine may hold some of them up
    put_and_die(cluster, static_cast<std::uint64_t>(2 + died++), 7);
    const auto begin = Clock::now();
    wait_until("the old row is gone", [&] { return rows_of(cluster, "by_n") == 100; });
    soon += Clock::now() - begin < 5s ? 1 : 0;
  }
  CHECK(soon == 2);
  const std::string mended = fmt::format(R"("mended":{{"stale":{}}}}})", died);
  wait_until("it says so", [&] { return contains(cleaner.out(), mended + "\n"); });
  check_status(end_by(SIGTERM, cleaner), 143, {R"("what":"interrupted")", R"("exit_status":143})"});
  CHECK(holders(cluster) == "\n");
}

TEST_CASE(
    "many superfluous rows are deleted a few thousand at a time, and a put that dies between leaves the rest to clean" *
    needs_failpoints) {
  const TestCluster cluster = initialised();
  create_index(cluster, R"({"table": "by_tag", "properties": [{"name": "tags", "type": "int", "each": true}]})");
  const std::string tags = fmt::format("{}", fmt::join(std::views::iota(0, 4000), ","));
  std::string entities, ids;
  for (const std::uint64_t number : {0, 2}) {  // of shard 0
    entities += entity(number, "\"tags\":[" + tags + "]") + "\n";
    ids += id_of(number) + "\n";
  }
  put_all(cluster, entities);
  const auto rows = [&] { return cluster.sql(0, "SELECT COUNT(*) FROM by_tag"); };
  SUBCASE("it lives") {
    check_run(cluster.looseleaf({"delete", "-"}, ids), 0, ids);
    CHECK(rows_of(cluster, "looseleaf_cleanup") == 0);
  }
  SUBCASE("it dies before the second part") {
    std::string cleaned;
    for (int tries = 0; tries < 10 && !contains(cleaned, "checked 2 entities"); ++tries) {
      if (tries > 0) {  // a busy machine has deleted them in two batches
        put_all(cluster, entities);
      }
      cluster.die_at("reconcile.lock_entities:before#2", joined({"delete"}, lines_of(ids)));
      CHECK(rows() == "4000\n");
      const cli::ProcessResult clean = cluster.looseleaf({"clean"});
      CHECK(clean.status == 0);
      cleaned = clean.err;
    }
    CHECK_MESSAGE(contains(cleaned, "checked 2 entities"), cleaned);
  }
  CHECK(rows() == "0\n");
}

TEST_CASE("one process cleans at a time; others wait, unless they are stopped, and one takes over when it is killed") {
  const TestCluster cluster = with_entities(10);
  cli::Process first = start_cleaner(cluster, {});
  wait_until("it has begun", [&] { return contains(holders(cluster), fmt::format("pid {}", first.pid())); });
  check_run(
      cluster.looseleaf({"clean"}), 3, "",
      {"error: another process is running this job\n", "job: clean\n", fmt::format("pid {}\n", first.pid()), "hint: "});
  const std::string file = cluster.directory().path() + "/second.prom";
  const auto is_active = [&](int active) {
    return contains(read_text(file), fmt::format("looseleaf_clean_active {}\n", active));
  };
  cli::Process second = start_cleaner(cluster, {"--metrics-file", file});
  wait_until("it waits", [&] { return contains(second.err(), fmt::format("pid {}\n", first.pid())); });
  CHECK((is_active(0) && !contains(read_text(file), "looseleaf_clean_watermark_lag_seconds{")));
  CHECK(holds_in_order(second.err(), {"warning: waiting to clean\n", "reason: another process is running this job\n"}));
  cli::Process third = start_cleaner(cluster, {});
  wait_until("it waits too", [&] { return contains(third.err(), "waiting to clean"); });
  check_status(end_by(SIGTERM, third), 143, {"waiting to clean", "interrupted; run the same command to resume"});
  end_by(SIGKILL, first);
  wait_until("it took over", [&] { return contains(holders(cluster), fmt::format("pid {}", second.pid())); });
  wait_until("its metrics say so", [&] { return is_active(1); });
  cluster.sql(0, fmt::format("INSERT INTO by_n VALUES (9, x'{}'); ", id_of(2)) + cleanup_record({id_of(2)}));
  wait_until("it cleans", [&] { return rows_of(cluster, "by_n") == 10; });
  check_status(end_by(SIGTERM, second), 143, {"waiting to clean", "interrupted; run the same command to resume"});
}

// A cleaner with a metrics file, on servers of its own.
struct Measured {
  void wait_for_metric(const std::string& part) const {
    wait_until(part, [&] { return contains(read_text(file), part); });
  }
  // Until so many passes have failed, or more.
  void wait_for_failures(std::int64_t count) const {
    wait_until(fmt::format("{} passes have failed", count),
               [&] { return number_in(read_text(file), "passes_total{result=\"failure\"}") >= count; });
  }
  void wait_until_works_again() const {
    wait_until("it says so", [&] { return contains(cleaner.err(), "clean works again\n"); });
  }
  cli::ProcessResult check_works_again(const std::string& shard) {
    wait_until_works_again();
    const cli::ProcessResult result = end_by(SIGTERM, cleaner);
    check_status(result, 143, {"error: ", shard, "clean works again\n", "interrupted; run the same command to resume"});
    return result;
  }

  TestCluster cluster = initialised_alone();
  std::string file = cluster.directory().path() + "/clean.prom";
  cli::Process cleaner = start_cleaner(cluster, {"--metrics-file", file, "--timeout", "3"});
};

TEST_CASE("clean --follow outlives a server, says so once, and counts it") {
  Measured test;
  const std::string no_lag = "looseleaf_clean_watermark_lag_seconds{shard=\"1\"} 0\n";
  test.wait_for_metric(no_lag);
  test.cluster.sandbox().kill_server(1);
  test.wait_for_failures(2);
  test.wait_for_metric("looseleaf_clean_errors_total{number=\"20");  // 2002, 2006 or 2013
  CHECK(!contains(read_text(test.file), no_lag));
  test.cluster.sandbox().start_server(1);
  test.wait_for_metric(no_lag);
  const cli::ProcessResult result = test.check_works_again("shard: 1\n");
  CHECK(times("hint: ", result.err) <= 2);  // lost, then not to be reached
}

TEST_CASE("clean --follow outlives the server that has its lock, and takes the lock anew") {
  Measured test;
  test.wait_for_metric("looseleaf_clean_watermark_lag_seconds{shard=\"0\"} 0\n");
  test.cluster.sandbox().kill_server(0);
  // It tries to take the lock again and again.
  test.wait_for_failures(4);
  test.cluster.sandbox().start_server(0);
  test.wait_until_works_again();
  check_run(test.cluster.looseleaf({"clean"}), 3, "", {"error: another process is running this job\n"});
  static_cast<void>(test.check_works_again("shard: 0\n"));
}

TEST_CASE("a cleaner shows life while a shard is down") {
  const TestCluster cluster = initialised_alone();
  cluster.sandbox().kill_server(1);
  cli::Process cleaner = start_cleaner(cluster, {"--timeout", "1"});
  wait_until("it shows life", [&] {
    return cluster.sql(0, "SELECT heartbeat > since FROM looseleaf_progress WHERE job = 'clean'") == "1\n";
  });
  check_status(end_by(SIGTERM, cleaner), 143, {"interrupted; run the same command to resume\n"});
}

TEST_CASE("a purge that fails is reported once for each server, fails no pass, and works again only when it does") {
  const TestCluster cluster = with_entities(10);
  cluster.everywhere("RENAME TABLE entities TO hidden");
  const std::string file = cluster.directory().path() + "/clean.prom";
  const auto begin = Clock::now();
  cli::Process cleaner = start_cleaner(cluster, {"--metrics-file", file});
  wait_until("it says so", [&] { return times("error: a table does not exist\n", cleaner.err()) == 2; });
  wait_until("three passes succeed",
             [&] { return number_in(read_text(file), "passes_total{result=\"success\"}") >= 3; });
  const std::string text = read_text(file);
  CHECK(holds_in_order(text, {"looseleaf_clean_passes_total{result=\"failure\"} 0\n",
                              "looseleaf_clean_last_success_timestamp_seconds 1"}));
  // One of each shard each time, which is after five seconds again.
  CHECK(number_in(text, "errors_total{number=\"1146\"}") <= 2 * (1 + (Clock::now() - begin) / 5s));
  CHECK(times("works again", cleaner.err()) == 0);
  cluster.everywhere("RENAME TABLE hidden TO entities");
  wait_until("it purges", [&] { return contains(cleaner.err(), "clean works again\n"); });
  const cli::ProcessResult result = end_by(SIGTERM, cleaner);
  check_status(result, 143, {"interrupted; run the same command to resume\n"});
  CHECK(times("error: ", result.err) == 2);
}

TEST_CASE("status names a cleaner as long as it runs, and none that ended, however it ended") {
  const TestCluster cluster = with_entities(10);
  const auto status = [&] { return cluster.looseleaf({"status"}).out; };
  check_status(cluster.looseleaf({"clean", "--quiet"}), 0);
  check_status(cluster.looseleaf({"verify", "--quiet", "--grace", "0"}), 0);
  CHECK(!contains(status(), "job "));
  cli::Process cleaner = start_cleaner(cluster, {});
  const std::string name = fmt::format(" pid {} ", cleaner.pid());
  wait_until("it is named on both shards", [&] { return times(name, status()) >= 2; });
  end_by(SIGKILL, cleaner);
  CHECK(contains(holders(cluster), "pid "));
  wait_until("it is named no more", [&] { return !contains(status(), name); });
  const std::string text = status();
  CHECK(!contains(text, "job "));
  CHECK(!contains(cluster.looseleaf({"status", "--output", "json"}).out, "\"holder\""));
}

TEST_CASE("a sweep that fails beside passes that succeed is reported once, and works again only when it does") {
  const TestCluster cluster = with_entities(10);
  const std::string file = cluster.directory().path() + "/clean.prom";
  // The program waits longer for an answer than a server for a lock.
  cli::Process cleaner =
      start_cleaner(cluster, {"--full", "--full-every", "1", "--quiet", "--timeout", "5", "--metrics-file", file});
  wait_until("it has begun", [&] { return contains(holders(cluster), "pid "); });
  cli::Process holder = start({cluster.client(), "--defaults-file=" + cluster.defaults_file(), "-S", cluster.socket(0),
                               cluster.database(0), "-e", "LOCK TABLES by_n WRITE; SELECT SLEEP(99)"});
  wait_until("two sweeps have failed",
             [&] { return number_in(read_text(file), "errors_total{number=\"1205\"}") >= 2; });
  CHECK_MESSAGE(times("error: ", cleaner.err()) == 1, cleaner.err());
  CHECK(times("works again", cleaner.err()) == 0);
  cluster.sql(
      0, "KILL " +
             lines_of(cluster.sql(0, "SELECT id FROM information_schema.processlist WHERE info = 'SELECT SLEEP(99)'"))
                 .at(0));
  static_cast<void>(holder.wait());
  wait_until(
      "it sweeps", [&] { return contains(cleaner.err(), "the full sweep works again\n"); }, 30s);
  check_status(end_by(SIGTERM, cleaner), 143,
               {"error: ", "the full sweep works again\n", "interrupted; run the same command to resume"});
}

TEST_CASE("while a server is down, a cleaner purges the others no more often, and is stopped by a signal as ever") {
  const TestCluster cluster = initialised_alone();
  cli::Process cleaner = start_cleaner(cluster, {"--timeout", "1"});
  wait_until("it has begun", [&] { return contains(holders(cluster), fmt::format("pid {}", cleaner.pid())); });
  const std::string purged = "SELECT COUNT(*) FROM looseleaf_progress WHERE job = 'purge'";
  wait_until("it has purged", [&] { return cluster.sql(0, purged) == "1\n"; });
  cluster.sandbox().kill_server(1);
  wait_until("it says so", [&] { return contains(cleaner.err(), "shard: 1\n"); });
  const auto replaced = [&] { return cluster.sql(0, "SHOW GLOBAL STATUS LIKE 'Com_replace'"); };
  const std::string before = replaced();
  std::this_thread::sleep_for(3s);
  CHECK(replaced() == before);
  check_status(end_by(SIGTERM, cleaner), 143, {"error: ", "shard: 1\n", "interrupted; run the same command to resume"});
}

// The row of the first entity is repaired long before the others were looked at.
TEST_CASE("a pass that is stopped tells what it has done") {
  const TestCluster cluster = with_entities(4000);
  leave_records(cluster, 4000);
  const std::string file = cluster.directory().path() + "/clean.prom";
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"--follow"}}) {
    CAPTURE(how.size());
    cluster.sql(1, fmt::format("DELETE FROM by_n WHERE entity_id = x'{}'", id_of(1)));
    cli::Process clean = cluster.start(joined({"clean", "--max-rate", "1000", "--metrics-file", file}, how));
    wait_until("the row is back", [&] { return rows_of(cluster, "by_n") == 4000; });
    const cli::ProcessResult result = end_by(SIGTERM, clean);
    check_status(result, 143,
                 {lacked_rows, "index: by_n\n", "shard: 1\n", "hint: ", "looseleaf: checked ",
                  " entities, deleted 0 index rows, inserted 1, purged 0 tombstones\n",
                  "interrupted; run the same command to resume\n"});
    CHECK(times("checked 0 ", result.err) == 0);
    CHECK(times("checked 4,000 ", result.err) == 0);
    CHECK(holds_in_order(read_text(file), {"looseleaf_clean_rows_repaired_total{kind=\"missing\"} 1\n",
                                           "looseleaf_clean_passes_total{result=\"failure\"} 0\n"}));
  }
}

TEST_CASE("a pass that follows leaves the rest of many cleanup records to the next one after some seconds") {
  const TestCluster cluster = with_entities(2000);
  std::vector<std::string> records;
  for (std::uint64_t number = 0; number < 2000; number += 2) {  // of shard 0
    records.push_back(fmt::format("({}, NOW(6) - INTERVAL 1 MINUTE, x'{}')", number + 1, id_of(number)));
  }
  cluster.sql(0, fmt::format("INSERT INTO looseleaf_cleanup (token, since, ids) VALUES {}", fmt::join(records, ", ")));
  const std::string file = cluster.directory().path() + "/clean.prom";
  cli::Process cleaner = start_cleaner(cluster, {"--max-rate", "100", "--metrics-file", file});
  wait_until("a pass has ended",
             [&] { return contains(read_text(file), "looseleaf_clean_passes_total{result=\"success\"} 1\n"); });
  const std::size_t left = rows_of(cluster, "looseleaf_cleanup");
  CHECK(left > 0);
  CHECK(left < 1000);
  check_status(end_by(SIGTERM, cleaner), 143, {"interrupted; run the same command to resume\n"});
}

TEST_CASE("a cleaner that dies has deleted the large cleanup records that it was done with" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  create_index(cluster, by_n);
  const std::vector<std::string> ids = lines_of(id_lines(2200));
  cluster.sql(0, cleanup_record({ids.begin(), ids.begin() + 2000}));
  cluster.sql(0, cleanup_record({ids.begin() + 2000, ids.end()}));
  cluster.die_at("cleanup.delete:after", {"clean"});
  CHECK(rows_of(cluster, "looseleaf_cleanup") == 1);
  check_status(cluster.looseleaf({"clean"}), 0, {"checked 200 entities"});
}

TEST_CASE("an index that lacked rows is worth a warning if it was ready, but not while it is building") {
  const TestCluster cluster = with_entities(10);
  create_index(cluster, R"({"table": "building", "properties": [{"name": "n", "type": "int"}]})");
  leave_records(cluster, 10);
  const cli::ProcessResult filled = cluster.looseleaf({"clean", "--output", "json"});
  check_run(filled, 0,
            R"({"schema_version":1,"checked":10,"deleted":0,"inserted":10,"purged":0,"flushed":0,"refused":0,)"
            R"("mended":{}})"
            "\n",
            {"inserted 10"});
  CHECK(times("warning: ", filled.err) == 0);
  cluster.sql(1, "DELETE FROM by_n LIMIT 2");
  const cli::ProcessResult swept = cluster.looseleaf({"clean", "--full"});
  check_status(swept, 0, {lacked_rows, "index: by_n\n", "shard: 1\n", "hint: ", "inserted 2, "});
  CHECK(times(lacked_rows, swept.err) == 1);
}

TEST_CASE("a sweep that is stopped tells what it has repaired" * needs_failpoints) {
  const TestCluster cluster = with_entities(10);
  cluster.everywhere("DELETE FROM by_n");
  // Of each shard's entities: the suspects are looked at, and then repaired and looked at again.
  cli::Process sweep = cluster.stop_at("reconcile.fence:before@1#2", {"clean", "--full"});
  sweep.signal(SIGTERM);
  check_status(resume(sweep), 143, {lacked_rows, "index: by_n\n", "shard: 0\n", "checked 0 entities", "inserted "});
}

TEST_CASE("a flush by clean that is stopped tells what it has stored" * needs_failpoints) {
  const TestCluster cluster = initialised();
  for (const std::uint64_t number : {40U, 41U}) {
    cluster.sql(1, fmt::format("INSERT INTO looseleaf_buffer VALUES ({}, NOW(6), x'{}', 1, NULL, COMPRESS('{}'))",
                               number, id_of(number), entity(number)));
  }
  cli::Process clean = cluster.stop_at("put.commit:before@1", {"clean"});
  clean.signal(SIGTERM);
  check_status(resume(clean), 143, {"stored 2 buffered writes\n"});
}

TEST_CASE("entities whose bodies are too large to be held together are cleaned a few at a time") {
  const TestCluster cluster = with_entities(0);
  std::string lines;
  std::vector<std::string> ids;
  for (std::uint64_t number = 0; number < 80; number += 2) {  // of shard 0
    lines += entity(number, fmt::format(R"("n":0,"text":"{}")", noise(600'000))) + "\n";
    ids.push_back(id_of(number));
  }
  put_all(cluster, lines);
  cluster.sql(1, fmt::format("DELETE FROM by_n; INSERT INTO by_n VALUES (9, x'{}')", ids.front()));
  cluster.sql(0, "DELETE FROM by_n;" + cleanup_record(ids));
  check_status(cluster.looseleaf({"clean"}), 0, {"checked 40 entities, deleted 1 index row, inserted 40, "});
}

TEST_CASE("there may be more cleanup records than are listed at once, also if those of another shard fail") {
  const TestCluster cluster = with_entities(10);
  cluster.sql(1, cleanup_record({id_of(1)}) + "; RENAME TABLE entities TO hidden");
  cluster.sql(0, cleanup_record({id_of(2)}));
  for (int i = 0; i < 12; ++i) {
    cluster.sql(0, "INSERT INTO looseleaf_cleanup SELECT UUID_SHORT(), since, ids FROM looseleaf_cleanup");
  }
  check_status(cluster.looseleaf({"clean"}), 3, {"a table does not exist\n"});
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM looseleaf_cleanup") == "0\n");
}

TEST_CASE("a sweep warns of what it cannot repair") {
  const TestCluster cluster = with_entities(10);
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'damaged' WHERE id = x'{}'", id_of(4)));
  cluster.sql(1, fmt::format("UPDATE entities SET id = x'{}' WHERE id = x'{}'", id_of(2), id_of(3)));
  check_status(cluster.looseleaf({"clean", "--full"}), 0,
               {"warning: an entity cannot be read; its index rows were not checked\n", "id: " + id_of(4) + "\n"});
  check_status(cluster.looseleaf({"clean", "--full"}), 0,
               {"warning: the sweep has found what it cannot repair\n", "finding: wrong", "shard: 1\n",
                "hint: run `looseleaf verify`"});
}

TEST_CASE("metrics are in the text format of Prometheus, and a file that cannot be written is an error") {
  const TestCluster cluster = with_entities(10);
  cluster.sql(0, fmt::format("INSERT INTO by_n VALUES (9, x'{}'); DELETE FROM by_n WHERE entity_id = x'{}'", id_of(2),
                             id_of(4)));
  leave_records(cluster, 10);
  const std::string file = cluster.directory().path() + "/clean.prom";
  check_status(cluster.looseleaf({"clean", "--quiet", "--metrics-file", file}), 0, {lacked_rows});
  const std::string text = read_text(file);
  CHECK(holds_in_order(
      text,
      {"# HELP looseleaf_clean_entities_checked_total ", "# TYPE looseleaf_clean_entities_checked_total counter\n",
       "looseleaf_clean_entities_checked_total 10\n", "looseleaf_clean_rows_repaired_total{kind=\"missing\"} 1\n",
       "looseleaf_clean_rows_repaired_total{kind=\"stale\"} 1\n",
       "looseleaf_clean_rows_repaired_total{kind=\"orphan\"} 0\n",
       "looseleaf_clean_passes_total{result=\"success\"} 1\n", "looseleaf_clean_watermark_lag_seconds{shard=\"0\"} 0\n",
       "looseleaf_clean_last_success_timestamp_seconds 1"}));
  for (const std::string& line : lines_of(text)) {
    CHECK((line.starts_with("# ") || line.starts_with("looseleaf_clean_")));
  }
  const auto last_success = [&] {
    return read_text(file).substr(read_text(file).find("\nlooseleaf_clean_last_success"));
  };
  const std::string before = last_success();
  cluster.sql(0, "RENAME TABLE looseleaf_cleanup TO gone");
  CHECK(cluster.looseleaf({"clean", "--quiet", "--metrics-file", file}).status == 3);
  CHECK(last_success() == before);  // so that an alert sees how old it is
  check_run(cluster.looseleaf({"clean", "--metrics-file", "/nowhere/clean.prom"}), 3, "",
            {"error: a file cannot be written\n", "file: /nowhere/clean.prom\n", "No such file or directory\n"});
}

TEST_CASE("a sweep and a backfill say which table kept them from their work") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(0, "\"n\":1"));
  create_index(cluster, by_n);
  cluster.sql(1, "ALTER TABLE entities ADD extra INT");
  const std::string report = cluster.directory().path() + "/verify.xml";
  check_status(cluster.looseleaf({"verify", "--report", "junit=" + report}), 1, {"1 finding\n"});
  CHECK(contains(read_text(report), "tests=\"1\" failures=\"1\""));  // nothing was read, so nothing has passed
  check_status(cluster.looseleaf({"clean", "--full"}), 0,
               {"warning: a table is not as it should be, so not everything was swept\n", "table: entities\n",
                "shard: 1\n", "hint: run `looseleaf verify` to see what differs\n"});
  check_run(cluster.looseleaf({"backfill"}), 3, "",
            {"error: a table is not as it should be\n", "table: entities\n", "shard: 1\n",
             "detail: it has 6 columns instead of 5\n",
             "hint: run `looseleaf verify` to see what differs, and repair it; nothing was filled\n"});
}

TEST_CASE("clean --follow --full sweeps at intervals what a put left that died before its commit" * needs_failpoints) {
  const TestCluster cluster = with_entities(10);
  cli::Process cleaner = start_cleaner(cluster, {"--full", "--full-every", "1", "--quiet"});
  cluster.die_at("put.commit:before", {"put"}, entity(100, "\"n\":1"));
  REQUIRE(rows_of(cluster, "by_n") == 11);
  bool soon = false;
  for (std::uint64_t number = 2; !soon && number < 8; ++number) {  // a busy machine may hold some of them up
    put_and_die(cluster, number, 7);
    const auto died = Clock::now();
    const std::string old_row = fmt::format("by_n WHERE n = 0 AND entity_id = x'{}'", id_of(number));
    wait_until("a pass comes between", [&] { return rows_of(cluster, old_row) == 0; });
    soon = Clock::now() - died < 5s;
  }
  CHECK(soon);
  wait_until("the orphan is gone", [&] { return rows_of(cluster, "by_n") == 10; });
  stop(cleaner);
  check_run(cluster.looseleaf({"clean", "--full-every", "5"}), 2, "",
            {"error: --full-every needs --full and --follow\n", "hint: "});
}

TEST_CASE("a pass looks at no more entities a second than it may") {
  const TestCluster cluster = with_entities(2000);
  leave_records(cluster, 2000);
  const auto started = Clock::now();
  check_status(cluster.looseleaf({"clean", "--quiet", "--max-rate", "1000"}), 0);
  CHECK(Clock::now() - started > 1s);
}

std::uint64_t count(const TestCluster& cluster, const std::string& condition) {
  return rows_of(cluster, "entities WHERE " + condition);
}

// A clock that is set back must not give a stamp to another version.
TEST_CASE("no stamp that was purged can recur") {
  const TestCluster cluster = with_entities(2);
  REQUIRE(cluster.looseleaf({"delete", id_of(0), id_of(1)}).status == 0);
  cluster.everywhere(
      "UPDATE entities SET updated = NOW(6) - INTERVAL 3 DAY; "
      "UPDATE looseleaf_shard SET clock_floor = NOW(6) - INTERVAL 9 DAY");
  check_status(cluster.looseleaf({"clean"}), 0, {"purged 2 tombstones\n"});
  CHECK(cluster.everywhere("SELECT clock_floor > NOW(6) - INTERVAL 3 DAY FROM looseleaf_shard") == "1\n1\n");
}

TEST_CASE("a purge purges nothing while the clock floor is below its age limit, because a failover lost the barrier" *
          needs_failpoints) {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(0));
  REQUIRE(cluster.looseleaf({"delete", id_of(0)}).status == 0);
  cluster.sql(0, "UPDATE entities SET updated = NOW(6) - INTERVAL 3 DAY");
  cli::Process job = cluster.stop_at("purge.fence:before", {"clean"});
  cluster.sql(0, "UPDATE looseleaf_shard SET clock_floor = NOW(6) - INTERVAL 9 DAY");
  check_status(resume(job), 0, {"purged 0 tombstones\n"});
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM entities") == "1\n");
}

TEST_CASE("tombstones are found however many entities stand between them, also where all have one stamp") {
  const TestCluster cluster = with_entities(9000);
  REQUIRE(cluster.looseleaf({"delete", id_of(0), id_of(1), id_of(4500), id_of(8998), id_of(8999)}).status == 0);
  cluster.sql(0, "UPDATE entities SET updated = NOW(6) - INTERVAL 3 DAY");
  cluster.sql(1, "UPDATE entities SET updated = NOW(6) - INTERVAL 3 DAY + INTERVAL added_id MICROSECOND");
  check_status(cluster.looseleaf({"clean"}), 0, {"purged 5 tombstones\n"});
  CHECK(count(cluster, "body IS NULL") == 0);
  CHECK(count(cluster, "body IS NOT NULL") == 8995);
}

// As if everything had been written two days ago.
void age(const TestCluster& cluster) {
  cluster.everywhere("UPDATE entities SET updated = NOW(6) - INTERVAL 2 DAY + INTERVAL added_id SECOND");
}

TEST_CASE("a purge looks at no more entities a second than it may, and at none while it is to pause") {
  const TestCluster cluster = with_entities(3000);
  REQUIRE(cluster.looseleaf({"delete", id_of(0), id_of(2000)}).status == 0);
  age(cluster);
  const std::string pause = cluster.directory().write("pause", "");
  const auto started = Clock::now();
  cli::Process job = cluster.start({"clean", "--max-rate", "1000", "--pause-file", pause});
  wait_until("it cleans", [&] { return contains(holders(cluster), "pid "); });
  std::this_thread::sleep_for(500ms);
  CHECK(count(cluster, "body IS NULL") == 2);
  REQUIRE(std::remove(pause.c_str()) == 0);
  check_status(job.wait(), 0, {"purged 2 tombstones\n"});
  CHECK(Clock::now() - started > 2s);
  check_status(cluster.looseleaf({"clean", "--pause-file", pause}), 0, {"purged 0 tombstones\n"});
}

TEST_CASE("what was put and deleted again while a purge waited is not purged" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity(0) + entity(1));
  REQUIRE(cluster.looseleaf({"delete", id_of(0), id_of(1)}).status == 0);
  age(cluster);
  cli::Process job = cluster.stop_at("purge.fence:before#1", {"clean", "--timeout", "60"});
  put_all(cluster, entity(0) + entity(1));
  REQUIRE(cluster.looseleaf({"delete", id_of(0)}).status == 0);
  check_status(resume(job), 0, {"purged 0 tombstones\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1) + "\n");
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM entities WHERE body IS NULL") == "1\n");
  // Both were dealt with: the next purge looks at what comes behind them.
  CHECK(cluster.sql(0, "SELECT barrier > NOW(6) - INTERVAL 25 HOUR FROM looseleaf_progress WHERE job = 'purge'") ==
        "1\n");
}

TEST_CASE("a purge ends at a signal, and goes on from there") {
  constexpr std::uint64_t tombstones = 3000;
  const TestCluster cluster = with_entities(tombstones);
  REQUIRE(cluster.looseleaf({"delete", "-"}, id_lines(tombstones)).status == 0);
  age(cluster);
  cli::Process job = cluster.start({"clean", "--max-rate", "400"});
  wait_until("something is purged", [&] { return count(cluster, "body IS NULL") < tombstones; });
  job.signal(SIGTERM);
  const auto purged = [](const cli::ProcessResult& result, std::uint64_t number) {
    std::string err = result.err;
    std::erase(err, ',');  // of thousands
    return contains(err, fmt::format("purged {} tombstones\n", number));
  };
  const cli::ProcessResult stopped = job.wait();
  check_status(stopped, 143, {"interrupted; run the same command to resume\n"});
  const std::uint64_t left = count(cluster, "body IS NULL");
  CHECK(left > tombstones / 3);
  CHECK_MESSAGE(purged(stopped, tombstones - left), stopped.err);
  CHECK(purged(cluster.looseleaf({"clean"}), left));
  CHECK(count(cluster, "body IS NULL") == 0);
}

TEST_CASE("clean does not wait for a transaction that is in flight, and finds it later" * needs_failpoints) {
  const TestCluster cluster = with_entities(10);
  // With its stamp and its record, uncommitted.
  cli::Process put = cluster.start({"put"}, entity(2, "\"n\":7"), "put.commit:before=stop,put.commit:after=kill");
  wait_until("the put has its new row", [&] { return rows_of(cluster, "by_n") == 11; });
  REQUIRE(wait_until_stopped(put));
  put_all(cluster, entity(3, "\"n\":0"));
  check_status(cluster.looseleaf({"clean"}), 0, {"checked 0 entities"});
  resume(put);
  check_status(cluster.looseleaf({"clean"}), 0, {"checked 1 entity, deleted 1 index row, inserted 0"});
  CHECK(rows_of(cluster, "by_n") == 10);
}

// Servers whose clock, as everybody but root sees it, can be set.
class Clocks {
 public:
  explicit Clocks(const TestCluster& cluster) : cluster_(cluster) {
    cluster.everywhere(
        "CREATE USER IF NOT EXISTS app@localhost; GRANT SELECT, INSERT, UPDATE, DELETE ON * TO app@localhost");
    file_ = cluster.write_file(
        "app.json", fmt::format(R"("user": "app", "defaults_file": "{}")", cluster.directory().write("empty.cnf", "")));
  }
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;
  ~Clocks() { set_back(); }

  // What is connected from now on sees this instead of the time.
  void set(const std::string& hours) const {
    cluster_.everywhere("SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 3600 * " + hours + "'");
  }
  void set_back() const { cluster_.everywhere("SET GLOBAL init_connect = ''"); }
  [[nodiscard]] cli::ProcessResult clean() const { return run({"looseleaf", "--cluster", file_, "clean"}); }
  void put_and_die(std::uint64_t number, int n) const {
    looseleaf::test::put_and_die(cluster_, number, n, {"--cluster", file_});
  }

 private:
  const TestCluster& cluster_;
  std::string file_;
};

TEST_CASE("nothing is passed over when a clock steps back" * needs_failpoints) {
  const TestCluster cluster = with_entities(10);
  const Clocks clocks(cluster);
  clocks.set("-5");
  clocks.put_and_die(2, 7);
  clocks.put_and_die(3, 7);
  check_status(clocks.clean(), 0, {"checked 2 entities, deleted 2 index rows"});
  check_status(clocks.clean(), 0, {"checked 0 entities"});
  clocks.set_back();
  clocks.put_and_die(4, 7);
  check_status(clocks.clean(), 0, {"checked 1 entity, deleted 1 index row"});
  CHECK(rows_of(cluster, "by_n") == 10);
}

TEST_CASE("nothing is passed over, or put off, when a clock jumps ahead and is corrected" * needs_failpoints) {
  const TestCluster cluster = with_entities(10);
  const Clocks clocks(cluster);
  clocks.set("50");
  clocks.put_and_die(2, 7);
  SUBCASE("with a clean meanwhile") {
    check_status(clocks.clean(), 0, {"checked 1 entity, deleted 1 index row"});
  }
  SUBCASE("before anybody cleaned") {
    clocks.set_back();
    check_status(clocks.clean(), 0, {"checked 1 entity, deleted 1 index row"});
  }
  clocks.set_back();
  clocks.put_and_die(2, 8);
  clocks.put_and_die(4, 8);
  check_status(clocks.clean(), 0, {"checked 2 entities, deleted 2 index rows"});
  check_status(clocks.clean(), 0, {"checked 0 entities"});
  CHECK(rows_of(cluster, "by_n") == 10);
}

}  // namespace
}  // namespace looseleaf::test
