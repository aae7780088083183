// Servers that are down, die half-way or come back: what is acknowledged is stored, what is not is said.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"
#include "tests/support/hung_server.hpp"

namespace looseleaf::test {
namespace {

using namespace std::chrono_literals;

// Every id that was printed is in the store, and they are in input order. Input was entities 0, 1, 2, …
void check_printed_is_stored(const TestCluster& cluster, const std::string& printed) {
  const std::vector<std::string> ids = lines_of(printed);
  std::string last;
  bool ordered = true;
  for (const std::string& id : ids) {
    ordered = ordered && last < id;
    last = id;
  }
  CHECK(ordered);
  const cli::ProcessResult got = cluster.looseleaf({"get", "-"}, printed);
  CHECK(got.status == 0);
  CHECK(lines_of(got.out).size() == ids.size());
}

void wait_for_output(const cli::Process& process, std::size_t bytes) {
  wait_until("it has printed so much", [&] { return process.out().size() >= bytes; });
}

// How long an action takes.
std::chrono::steady_clock::duration time_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::steady_clock::now() - begin;
}

TEST_CASE("with a shard down entities of the living shards are stored and the rest is reported and kept") {
  const TestCluster cluster = initialised_alone();
  cluster.sandbox().kill_server(1);
  const std::string rejects = cluster.directory().path() + "/rejects";
  check_run(
      cluster.looseleaf({"put", "--timeout", "2", "--rejects", rejects},
                        entity(0) + "\n" + entity(1) + "\n" + entity(2) + "\n" + entity(3, R"( "odd" :1)") + "\n"),
      3, id_of(0) + "\n" + id_of(2) + "\n",
      {"looseleaf: error: cannot connect to the server\n", "line: 2\n", "shard: 1\n", "id: " + id_of(1) + "\n",
       "hint: ", "stored 2 entities, failed 2\n"});
  CHECK(read_text(rejects) == entity(1) + "\n" + entity(3, R"( "odd" :1)") + "\n");
  cluster.sandbox().start_server(1);
  check_run(cluster.looseleaf({"put", rejects}), 0, id_of(1) + "\n" + id_of(3) + "\n");
}

TEST_CASE("a shard that is down from the start is waited for once, however long the input is") {
  const TestCluster cluster = initialised_alone();
  const std::string input = entity_lines(40'000);
  const auto undisturbed = time_of([&] { put_all(cluster, input); });
  cluster.everywhere("DELETE FROM entities");
  cluster.sandbox().kill_server(1);
  cli::ProcessResult result;
  const auto took = time_of([&] { result = cluster.looseleaf({"put", "--quiet", "--timeout", "5"}, input); });
  CHECK(took < undisturbed + 18s);  // ten batches that wait would take 50 s
  check_run(result, 3, "", {"error: cannot connect to the server\n", "19,999 more\n"});
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM entities") == "20000\n");
}

TEST_CASE("an index shard that is down fails the entities that need it and no others") {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster, by_n_sharded);
  cluster.sandbox().kill_server(2);
  check_run(cluster.looseleaf({"put", "--timeout", "2"}, entity(0, "\"n\":0") + entity(3, "\"n\":2") +
                                                             entity(6, "\"n\":1") + entity(1, "\"n\":5") + entity(4)),
            3, id_of(0) + "\n" + id_of(6) + "\n" + id_of(4) + "\n",
            {"error: cannot connect to the server\n", "shard: 2\n", "stored 3 entities, failed 2\n"});
  cluster.sandbox().start_server(2);
  check_run(cluster.looseleaf({"query", "by_n", "--ids"}), 0, id_of(0) + "\n" + id_of(6) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("get, delete, query and the jobs say which shard is down") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n_sharded);
  put_all(cluster, entity(0, "\"n\":0") + entity(1, "\"n\":1"));
  cluster.sandbox().kill_server(1);
  const std::vector<std::vector<std::string>> commands = {{"get", id_of(1)},
                                                          {"query", "by_n"},
                                                          {"verify"},
                                                          {"clean"},
                                                          {"backfill"},
                                                          {"init"},
                                                          {"drop-index", "by_n", "--yes"},
                                                          {"query", "by_n", "n=1"},
                                                          {"delete", id_of(1)}};
  for (const std::vector<std::string>& command : commands) {
    INFO(fmt::format("{}", fmt::join(command, " ")));
    const cli::ProcessResult result = cluster.looseleaf(joined(command, {"--timeout", "1"}));
    CHECK(result.status == 3);
    CHECK(times("cannot connect to the server", result.err) == 1);
    CHECK(times("shard: 1\n", result.err) == 1);
  }
  check_run(cluster.looseleaf({"get", id_of(0), "--timeout", "2"}), 0, entity(0, "\"n\":0") + "\n");
  cluster.sandbox().start_server(1);
  check_run(cluster.looseleaf({"query", "by_n", "--ids"}), 0, id_of(0) + "\n" + id_of(1) + "\n");
}

TEST_CASE("whoever waits for a shard is told after two seconds, once, and how long that lasts") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n);
  cluster.sandbox().kill_server(1);
  const std::vector<std::vector<std::string>> commands = {
      {"query", "by_n"}, {"init"}, {"put"}, {"drop-index", "by_n", "--yes"}};
  std::vector<cli::Process> processes;
  for (const std::vector<std::string>& command : commands) {
    processes.push_back(cluster.start(joined(command, {"--timeout", "6", "--quiet"}), entity(1, "\"n\":1")));
  }
  const TestCluster original = initialised();
  cli::Process copy = original.start({"copy", "--to", cluster.file(), "--timeout", "6"});
  for (std::size_t i = 0; i < commands.size(); ++i) {
    INFO(fmt::format("{}", fmt::join(commands[i], " ")));
    const cli::ProcessResult result = processes[i].wait();
    CHECK(result.status == 3);
    CHECK(times("looseleaf: warning: ", result.err) == 1);
    CHECK(times("looseleaf: error: ", result.err) == 1);
    CHECK(holds_in_order(
        result.err,
        {"looseleaf: warning: waiting for a shard\n", "reason: cannot connect to the server\n", cluster.socket(1),
         "shard: 1\n",
         "hint: run `looseleaf status` to see the other shards; this one is retried until --timeout (6 s) expires\n",
         "looseleaf: error: cannot connect to the server\n", "shard: 1\n",
         "hint: start the server, or correct its socket or address in the cluster file; retried until --timeout "
         "(6 s) expired\n"}));
  }
  check_status(
      copy.wait(), 3,
      {"looseleaf: warning: waiting for a shard\n", "  cluster_file: " + cluster.file() + "\n",
       "hint: run `looseleaf --cluster " + cluster.file() + " status` to see", "looseleaf: error: cannot connect"});
}

TEST_CASE("a command that follows tells of a shard that is down once, and that it is tried again") {
  const TestCluster cluster = initialised_alone();
  cli::Process trigger = cluster.start({"trigger", "run", "t", "--timeout", "3.5", "--", "true"});
  const std::string count = "SELECT COUNT(*) FROM looseleaf_progress WHERE job = 'trigger'";
  wait_until("the trigger exists", [&] { return cluster.everywhere(count) == "1\n1\n"; });
  cluster.sandbox().kill_server(1);
  const std::vector<std::string> list = {"trigger", "list", "--timeout", "2"};
  cli::Process text = cluster.start(list);
  cli::Process json = cluster.start(joined(list, {"--output", "json"}));
  check_status(text.wait(), 3, {"error: ", "shard: 1\n"});
  CHECK(contains(json.wait().out, R"("triggers":1,"unknown":[1]})"));
  cli::Process changes = cluster.start({"changes", "--follow", "--timeout", "3.5"});
  cli::Process cleaner = cluster.start({"clean", "--follow", "--timeout", "3.5"});
  for (cli::Process* const running : {&trigger, &changes, &cleaner}) {
    cli::Process& process = *running;
    wait_until("it tells", [&] { return contains(process.err(), "hint: "); });
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const cli::ProcessResult result = end_by(SIGTERM, process);
    check_status(result, 143,
                 {"looseleaf: error: cannot connect to the server\n", "shard: 1\n",
                  "retried until --timeout (3.5 s) expired; it is tried again until it works\n"});
    CHECK_MESSAGE(times("hint: ", result.err) == 1, result.err);
  }
}

TEST_CASE("a wait that is soon over is not worth a word") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n);
  put_all(cluster, entity(1, "\"n\":1"));
  const std::string socket = cluster.socket(1);
  cli::ProcessResult result;
  int tries = 0;
  do {  // on a busy machine this wait may last for two seconds, which are worth a word
    std::filesystem::rename(socket, socket + ".away");
    cli::Process query = cluster.start({"query", "by_n", "--ids"});
    wait_until("it is connected to the other shard", [&] {
      return contains(cluster.server_sql(0, "SELECT db FROM information_schema.processlist"),
                      cluster.database(0) + "\n");
    });
    std::this_thread::sleep_for(200ms);
    std::filesystem::rename(socket + ".away", socket);
    result = query.wait();
  } while (contains(result.err, "waiting for a shard") && ++tries < 5);
  check_run(result, 0, id_of(1) + "\n");
}

TEST_CASE("a query that may be incomplete says what is missing, and waits for no shard longer than for a connect") {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster, by_n);
  create_index(cluster, R"({"table": "on_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})");
  put_all(cluster, entity_lines(12, "\"n\":{}"));
  std::string of_two, of_one;
  for (std::uint64_t i = 0; i < 12; ++i) {
    of_two += i % 3 == 1 ? "" : id_of(i) + "\n";
    of_one += i % 3 == 2 ? id_of(i) + "\n" : "";
  }
  cluster.sandbox().kill_server(1);
  check_run(cluster.looseleaf({"query", "by_n", "--ids", "--partial", "--timeout", "1"}), 3, of_two,
            {"warning: results from shard 1 are missing\n", "hint: "});
  int alive = 0;  // a value whose row and entity are on the others
  while (cluster.looseleaf({"query", "on_n", fmt::format("n={}", alive), "--timeout", "1"}).status != 0) {
    REQUIRE(++alive < 12);
  }
  auto took = std::chrono::steady_clock::duration::max();
  for (int tries = 0; tries < 3 && took >= 3s; ++tries) {  // a busy machine may hold one of them up
    took = time_of([&] {
      check_run(cluster.looseleaf({"query", "on_n", fmt::format("n={}", alive), "--ids", "--partial"}), 0,
                id_of(static_cast<std::uint64_t>(alive)) + "\n");
    });
  }
  CHECK(took < 3s);  // a connect alone would wait for 5 s
  cluster.sandbox().kill_server(0);
  const auto begin = std::chrono::steady_clock::now();
  const cli::ProcessResult result = cluster.looseleaf({"query", "by_n", "--ids", "--partial"});
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
  check_run(result, 3, of_one,
            {"looseleaf: warning: results from shard 0 are missing\n", "shard: 0\n",
             "looseleaf: warning: results from shard 1 are missing\n", "shard: 1\n"});
  CHECK(times("waiting for a shard", result.err) == 0);
}

// Each batch of rows leads to entities on the hung shard: it is not asked for each of them again.
TEST_CASE("a shard that hangs costs a query that may be incomplete no more than a dead one") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n_sharded);
  std::string input, living;
  for (std::uint64_t i = 0; i < 700; ++i) {
    input += entity(i, fmt::format("\"n\":{}", 2 * i)) + "\n";
    living += i % 2 == 0 ? id_of(i) + "\n" : "";
  }
  put_all(cluster, input);
  const HungServer hung(cluster, 1);
  std::chrono::steady_clock::duration least = 1h;
  for (int i = 0; i < 3 && least >= 12s; ++i) {  // a busy machine may take longer
    const auto begin = std::chrono::steady_clock::now();
    check_run(cluster.looseleaf({"query", "by_n", "--ids", "--partial"}), 3, living,
              {"looseleaf: warning: results from shard 1 are missing\n", "reason: the server did not answer in time\n",
               "shard: 1\n", cluster.socket(1), "hint: "});
    least = std::min(least, std::chrono::steady_clock::now() - begin);
  }
  CHECK(least < 12s);
}

TEST_CASE("a server that is down is told of for the entities of each of its shards") {
  const TestCluster cluster({.shards = 4, .servers = 2, .extra_args = {}});
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  cluster.sandbox().kill_server(1);
  const cli::ProcessResult result = cluster.looseleaf({"put", "--timeout", "2", "--output", "json"}, entity_lines(8));
  CHECK(result.status == 3);
  CHECK(times(R"("status":"stored")", result.out) == 4);
  for (const std::uint32_t shard : {1U, 3U}) {
    CAPTURE(shard);
    const auto of_shard = [&](const std::string& line) {
      return holds_in_order(line, {R"("error":"cannot connect to the server")", fmt::format(R"("shard":{},)", shard)});
    };
    const std::vector<std::string> lines = lines_of(result.out);
    CHECK(std::count_if(lines.begin(), lines.end(), of_shard) == 2);
  }
}

TEST_CASE("a server that hangs is waited for once, however many shards it has") {
  const TestCluster cluster({.shards = 24, .servers = 2, .extra_args = {}});
  check_status(cluster.looseleaf({"init", "--quiet"}), 0);
  create_index(cluster, by_n_sharded);
  const std::string input = entity_lines(200, R"("n":{})");
  put_all(cluster, input);
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"status"}, ""},
      {{"put"}, input},
      {{"get", "-"}, id_lines(200)},
      {{"query", "by_n", "n>=0", "--partial"}, ""},
      {{"verify"}, ""}};
  // Runs all of them side by side, and returns how long that takes.
  std::vector<cli::ProcessResult> results;
  const auto run_all = [&](const std::string& timeout) {
    return time_of([&] {
      std::vector<cli::Process> processes;
      for (const auto& [command, text] : commands) {
        processes.push_back(cluster.start(joined(command, {"--timeout", timeout}), text));
      }
      results.clear();
      for (cli::Process& process : processes) {
        results.push_back(process.wait());
      }
    });
  };
  const auto undisturbed = run_all("60");
  for (const cli::ProcessResult& result : results) {
    CHECK_MESSAGE(result.status == 0, result.err);
  }
  const HungServer hung(cluster, 1);
  CHECK(run_all("3") < undisturbed + 20s);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    CAPTURE(commands[i].first.front());
    const cli::ProcessResult& result = results[i];
    CHECK(result.status == 3);
    if (commands[i].first.front() == "query") {  // each missing shard is told of with its own place
      for (std::uint32_t shard = 1; shard < cluster.shards(); shard += 2) {
        check_status(result, 3,
                     {fmt::format("warning: results from shard {} are missing\n", shard),
                      "  reason: ", fmt::format("  shard: {}\n", shard), fmt::format("_{}\n", shard)});
      }
    }
  }
}

TEST_CASE("a query that may be incomplete refuses an unknown index without waiting for a shard that is down") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n);
  cluster.sandbox().kill_server(1);
  const auto begin = std::chrono::steady_clock::now();
  check_run(cluster.looseleaf({"query", "by_m", "--partial"}), 2, "",
            {"looseleaf: error: no such index\n", "index: by_m\n", "hint: did you mean `by_n`?\n"});
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE(
    "a shard that is down is not explained as if it had been asked, and only named if something of it is missing") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, R"({"table": "all_n", "properties": [{"name": "n", "type": "int"}]})");
  create_index(cluster, by_n_sharded);
  put_all(cluster, entity(0, "\"n\":0") + entity(1, "\"n\":1") + entity(3, "\"n\":3"));
  cluster.sandbox().kill_server(0);
  const auto run = [&](const std::vector<std::string>& command) {
    return cluster.looseleaf(joined(command, {"--partial", "--timeout", "1"}));
  };
  const cli::ProcessResult text = run({"query", "all_n", "--explain"});
  check_status(text, 3, {"results from shard 0 are missing\n", "reason: cannot connect to the server\n"});
  CHECK(times("\nshard 0: ", text.out) == 0);
  CHECK(times("\nshard 1: 2 index rows, SELECT ", text.out) == 1);
  const cli::ProcessResult json = run({"query", "all_n", "--explain", "--output", "json"});
  CHECK(times("\"shard\":0", json.out) == 0);
  CHECK(times("\"unavailable\":[0]", json.out) == 1);
  check_run(run({"query", "by_n", "n=1", "--ids"}), 0, id_of(1) + "\n");
}

TEST_CASE("get with a shard down answers what it can, and says how much it could not look up and why") {
  const TestCluster cluster = initialised_alone();
  put_all(cluster, entity(0) + entity(2));
  cluster.sandbox().kill_server(1);
  const std::vector<std::string> ids = {id_of(1), id_of(2), id_of(3), id_of(4), id_of(0), id_of(5)};
  const std::vector<std::string> command = joined({"get", "--timeout", "3"}, ids);
  const std::vector<std::string> err = {"looseleaf: error: cannot connect to the server\n",
                                        "shard: 1\n",
                                        "id: " + id_of(1) + "\n",
                                        "hint: ",
                                        "looseleaf: warning: no such entity\n",
                                        "id: " + id_of(4) + "\n",
                                        "looseleaf: error: cannot connect to the server\n",
                                        "shard: 1\n",
                                        "ids: 2 more\n",
                                        "looseleaf: found 2 entities, missing 1, failed 3\n"};
  const std::string found = entity(2) + "\n" + entity(0) + "\n";
  check_run(cluster.looseleaf(command), 3, found, err);
  check_run(cluster.looseleaf({"get", "-", "--timeout", "3"}, fmt::format("{}\n", fmt::join(ids, "\n"))), 3, found,
            err);
  const std::vector<std::string> lines =
      lines_of(cluster.looseleaf(joined(command, {"--output", "json", "--quiet"})).out);
  REQUIRE(lines.size() == 3);
  CHECK(lines.back() == R"({"schema_version":1,"found":2,"missing":1,"rejected":0,"failed":3})");
}

TEST_CASE("get waits for a shard that is down once, however many ids there are") {
  const TestCluster cluster = initialised_alone();
  cluster.sandbox().kill_server(1);
  std::string ids;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ids += id_of(2 * i + 1) + "\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  check_run(cluster.looseleaf({"get", "-", "--timeout", "3"}, ids), 3, "",
            {"ids: 4,999 more\n", "looseleaf: found 0 entities, failed 5,000\n"});
  CHECK(std::chrono::steady_clock::now() - begin < 14s);
}

TEST_CASE("verify does not begin without a shard, and says so within seconds") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n);
  cluster.sandbox().kill_server(1);
  const auto begin = std::chrono::steady_clock::now();
  const cli::ProcessResult result = cluster.looseleaf({"verify"});
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
  check_run(result, 3, "",
            {"looseleaf: error: nothing was verified: every shard is needed, and one is down\n",
             "reason: cannot connect to the server\n", cluster.socket(1), "shard: 1\n", "not_verified: all indexes\n",
             "hint: start the server"});
}

TEST_CASE("status shows a shard that is down, and show-index what the others know") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n);
  cluster.sandbox().kill_server(0);
  cli::Process shown = cluster.start({"show-index", "by_n", "by_m", "--timeout", "2"});
  cli::Process as_text = cluster.start({"status", "--timeout", "2"});
  cli::Process as_json = cluster.start({"status", "--timeout", "2", "--output", "json"});
  const cli::ProcessResult index = shown.wait();
  check_status(
      index, 3,
      {"warning: no shard that answers has the index\n", "index: by_m\n", "error: cannot connect", "shard: 0\n"});
  CHECK(contains(index.out, "\nshards      1 (1 unknown)\n"));
  const cli::ProcessResult text = as_text.wait();
  check_status(text, 3, {"error: cannot connect to the server\n", "shard: 0\n", "hint: "});
  CHECK(holds_in_order(text.out, {"cluster ", cluster.socket(0), " down", cluster.socket(1), " up ", "by_n   ready",
                                  "1 (1 unknown)\n"}));
  const cli::ProcessResult json = as_json.wait();
  const std::vector<std::string> lines = lines_of(json.out);
  REQUIRE(lines.size() == 3);
  CHECK(json.status == 3);
  CHECK(times("\"state\":\"down\"", lines[0]) == 1);
  CHECK(times("\"state\":\"up\"", lines[1]) == 1);
  CHECK(times("\"down\":1", lines[2]) == 1);
  CHECK(times("\"refused\":0", lines[2]) == 1);
}

TEST_CASE("a shard that dies during a long put costs its own entities only, and what was printed is stored") {
  const TestCluster cluster = initialised_alone();
  constexpr std::uint64_t count = 60'000;
  const std::string input = entity_lines(count, "\"n\":{}");
  const std::string rejects = cluster.directory().path() + "/rejects";
  cli::Process put = cluster.start({"put", "--timeout", "5", "--rejects", rejects}, input);
  wait_for_output(put, 33 * 1'000);
  cluster.sandbox().kill_server(1);
  const cli::ProcessResult result = put.wait();
  CHECK(result.status == 3);
  CHECK(holds_in_order(result.err, {"looseleaf: error: ", "shard: 1\n", "looseleaf: stored "}));
  CHECK(times("looseleaf: error: ", result.err) < 10);
  cluster.sandbox().start_server(1);
  CHECK(lines_of(result.out).size() + lines_of(read_text(rejects)).size() == count);
  check_printed_is_stored(cluster, result.out);
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM entities") == "30000\n");
  check_status(cluster.looseleaf({"put", "--quiet", rejects}), 0);
  CHECK(rows_of(cluster, "entities") == count);
}

TEST_CASE("an outage shorter than the time-out costs time, but no entity") {
  const TestCluster cluster = initialised_alone();
  create_index(cluster, by_n_sharded);
  constexpr std::uint64_t count = 10'000;
  const std::string input = entity_lines(count, "\"n\":{}") + entity_lines(count, "\"n\":1{}");  // changes each value
  cli::Process put = cluster.start({"put"}, input);
  wait_for_output(put, 33 * 500);
  cluster.sandbox().kill_server(1);
  std::this_thread::sleep_for(7s);
  cluster.sandbox().start_server(1);
  const cli::ProcessResult result = put.wait();
  INFO(result.err);
  CHECK(result.status == 0);
  const bool all_in_order = result.out == id_lines(count) + id_lines(count);
  CHECK(all_in_order);
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"10,000 entities verified: consistent\n"});
}

TEST_CASE("put that is interrupted stores what it began and says how it ended") {
  const TestCluster cluster = initialised_alone();
  const std::string input = entity_lines(100'000, "\"n\":{}");
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    cli::Process put = cluster.start({"put"}, input);
    wait_for_output(put, 33 * 500);
    const cli::ProcessResult result = end_by(signal, put);
    CHECK(result.status == 128 + signal);
    CHECK(times("looseleaf: error: ", result.err) == 0);
    const std::size_t stored = lines_of(result.out).size();
    CHECK(stored < 100'000);
    CHECK(contains(result.err, fmt::format("; the rest of the input was not read: begin at line {}\n", stored + 1)));
    check_printed_is_stored(cluster, result.out);
  }
}

TEST_CASE("put that is interrupted names the place in the file in hand, and the files that it has not read") {
  const TestCluster cluster = initialised_alone();
  const std::string first = cluster.directory().write("first.json", entity_lines(100'000, "\"n\":{}"));
  const std::string second = cluster.directory().write("second.json", entity(100'001));
  const std::string third = cluster.directory().write("third.json", entity(100'002));
  cli::Process put = cluster.start({"put", first, second, third});
  wait_for_output(put, 33 * 500);
  const cli::ProcessResult result = end_by(SIGTERM, put);
  CHECK(contains(result.err, fmt::format("begin at line {} of {}, and then {}, {}\n", lines_of(result.out).size() + 1,
                                         first, second, third)));
}

TEST_CASE("put that is interrupted between two files says to begin with the next one" * needs_failpoints) {
  const TestCluster cluster = initialised_alone();
  put_all(cluster, entity_lines(1000));
  std::string csv = "id,n";  // as many entities as are merged at once
  for (std::uint64_t number = 0; number < 1000; ++number) {
    csv += "\n" + id_of(number) + ",1";
  }
  const std::string first = cluster.directory().write("first.csv", csv);
  const std::string second = cluster.directory().write("second.csv", csv);
  const std::string third = cluster.directory().write("third.csv", csv);
  TracedProcess put(cluster, {"put", "--csv", "--merge", "--types", "n=int", first, second, third},
                    "put.commit:before@0=sleep:4000");
  put.wait_for("put.commit:before@0");
  const cli::ProcessResult result = end_by(SIGINT, *put);
  CHECK(contains(result.err,
                 fmt::format("; the rest of the input was not read: begin with {}, and then {}\n", second, third)));
}

TEST_CASE("put that is interrupted while it waits for its input names the files that it has not read") {
  const TestCluster cluster = initialised_alone();
  const std::string second = cluster.directory().write("second.json", entity(2));
  cli::Process put =
      start({"bash", "-c", R"(exec "$0" --cluster "$1" put - "$2" < <(echo "$3"; exec sleep 20 2>/dev/null))",
             looseleaf_program(), cluster.file(), second, entity(1)});
  wait_for_output(put, 33);
  const cli::ProcessResult result = end_by(SIGINT, put);
  CHECK(contains(result.err, "; the rest of the input was not read, and nothing of " + second + "\n"));
}

TEST_CASE("put that is interrupted after it has read all does not say that the rest was not read" * needs_failpoints) {
  const TestCluster cluster = initialised_alone();
  TracedProcess put(cluster, {"put"}, "put.commit:before@0=sleep:6000", entity(0) + "\n");
  put.wait_for("put.commit:before@0");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // it notices that the input ends
  const cli::ProcessResult result = end_by(SIGINT, *put);
  check_run(result, 130, id_lines(1), {"looseleaf: stored 1 entity\n"});
}

}  // namespace
}  // namespace looseleaf::test
