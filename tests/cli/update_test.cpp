// looseleaf update: a command makes the new text, and no change of another process is lost.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

// A shell script that adds 1 to `n`, the last member of the entity.
const std::string add_1 = R"(read -r line; n=${line##*:}; n=${n%\}}; echo "${line%:*}:$((n + 1))}")";

std::string with_n(int n) {
  return entity(1, fmt::format(R"("n":{})", n));
}

TestCluster with_counter() {
  TestCluster cluster = initialised();
  REQUIRE(cluster.looseleaf({"put"}, with_n(0)).status == 0);
  return cluster;
}

std::vector<std::string> update(const std::string& script) {
  return {"update", id_of(1), "--", "sh", "-c", script};
}

TEST_CASE("no update of an entity is lost, however many processes update it") {
  const TestCluster cluster = with_counter();
  constexpr int processes = 20, times = 25;
  const std::string loop = fmt::format(R"(i=0
while [ $i -lt {} ]; do
  "$LOOSELEAF_BIN" --cluster "$0" update --quiet {} -- sh -c "$1" || exit 9; i=$((i + 1))
done)",
                                       times, id_of(1));
  std::vector<cli::Process> running;
  for (int process = 0; process < processes; ++process) {
    running.push_back(start({"sh", "-c", loop, cluster.file(), add_1}));
  }
  for (cli::Process& process : running) {
    check_run(process.wait(), 0, "");
  }
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(processes * times) + "\n");
}

TEST_CASE("an entity that another process changes while the command runs is given to the command again") {
  const TestCluster cluster = with_counter();
  const std::string runs = cluster.directory().write("runs", "");
  const std::string put_first =
      fmt::format(R"([ -s {0} ] || echo '{1}' | "$LOOSELEAF_BIN" --cluster {2} put > /dev/null; echo run >> {0}; )",
                  runs, with_n(10), cluster.file());
  check_run(cluster.looseleaf(update(put_first + add_1)), 0, id_of(1) + "\n");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(11) + "\n");
  CHECK(read_text(runs) == "run\nrun\n");
}

TEST_CASE("an entity that changes each time while the command runs is given up after the timeout, and named") {
  const TestCluster cluster = with_counter();
  const std::string put_first = fmt::format(R"(echo '{}"n":'$$'}}' | "$LOOSELEAF_BIN" --cluster {} put > /dev/null; )",
                                            entity(1).substr(0, entity(1).size() - 1) + ",", cluster.file());
  std::vector<std::string> command = update(put_first + add_1);
  command.insert(command.begin() + 1, {"--timeout", "1"});
  check_status(cluster.looseleaf(command), 3,
               {"error: the entity changed each time before its new text was stored\n", "  id: " + id_of(1) + "\n",
                "  tries: ", "hint: retry when it changes less often"});
}

// The command restores what a server has that dies before it has written the last version to its disk.
TEST_CASE("a text that the command prints again is stored if the server has forgotten it meanwhile") {
  const TestCluster cluster = initialised(1);
  put_all(cluster, with_n(1));
  cluster.sql(0, "CREATE TABLE earlier AS SELECT * FROM entities");
  put_all(cluster, with_n(2));
  const std::string once = cluster.directory().path() + "/once";
  const std::string forget = fmt::format(
      R"(mkdir {0} 2> /dev/null && "{1}" --defaults-file={2} --socket={3} {4} -e 'UPDATE entities NATURAL JOIN (SELECT id, updated AS u, body AS b FROM earlier) e SET updated = u, body = b'; )",
      once, cluster.client(), cluster.defaults_file(), cluster.socket(0), cluster.database(0));
  check_run(cluster.looseleaf(update(forget + "echo '" + with_n(2) + "'")), 0, id_of(1) + "\n");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(2) + "\n");
}

TEST_CASE("updates of one entity wait for one another, so that a command seldom runs in vain") {
  const TestCluster cluster = with_counter();
  const std::string runs = cluster.directory().write("runs", "");
  std::vector<cli::Process> running;
  for (int process = 0; process < 4; ++process) {  // the last one waits for longer than one try to get the lock
    running.push_back(cluster.start(update(fmt::format("echo run >> {}; sleep 0.8; ", runs) + add_1)));
  }
  for (cli::Process& process : running) {
    check_run(process.wait(), 0, id_of(1) + "\n");
  }
  CHECK(times("run", read_text(runs)) == 4);
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(4) + "\n");
}

TEST_CASE("an update stores nothing unless the command prints another text of this entity") {
  const TestCluster cluster = with_counter();
  const std::string stamp = cluster.looseleaf({"get", "--stamps", id_of(1)}).out;
  struct Case {
    std::string script;
    int status;
    std::string out, error;
  };
  const std::vector<Case> cases = {
      {"cat", 0, id_of(1) + "\n", ""},
      {"true", 1, "", "error: there is no new text for the entity\n"},
      {"cat; echo '{}'", 1, "", "error: syntax error\n"},
      {"echo nonsense", 1, "", "  printed by: sh\n"},
      {"echo '{\"n\":1}'", 1, "", "error: the new text has another id\n  new_id: none\n"},
      {"echo '" + entity(2) + "'", 1, "", "error: the new text has another id\n  new_id: " + id_of(2)},
      {add_1 + "; exit 4", 3, "", "error: the command failed\n  status: 4\n"},
      {"kill -9 $$", 3, "", "error: the command was ended by a signal\n  signal: 9\n"},
      {"yes", 3, "", "error: the command prints too much\n"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.script);
    const cli::ProcessResult result = cluster.looseleaf(update(test.script));
    CHECK(result.status == test.status);
    CHECK(result.out == test.out);
    CHECK_MESSAGE(contains(result.err, test.error), result.err);
    CHECK(cluster.looseleaf({"get", "--stamps", id_of(1)}).out == stamp);
  }
  check_status(cluster.looseleaf({"update", "--command-timeout", "1", id_of(1), "--", "sleep", "60"}), 3,
               {"error: the command took too long and was killed\n", "hint: the entity stays as it is;"});
  check_status(cluster.looseleaf({"update", id_of(1), "--", "/no/such/program"}), 3,
               {"error: the command cannot be started\n"});
  check_status(cluster.looseleaf({"update", id_of(1)}), 2, {"error: the command is missing\n"});
  check_status(cluster.looseleaf({"update", "--", "cat"}), 2, {"error: an argument is missing\n  argument: ID\n"});
  CHECK(cluster.looseleaf({"get", "--stamps", id_of(1)}).out == stamp);
}

TEST_CASE("each entity is updated in turn, and one that does not exist is named") {
  const TestCluster cluster = with_counter();
  REQUIRE(cluster.looseleaf({"put"}, entity(3, R"("n":7)")).status == 0);
  const cli::ProcessResult result = cluster.looseleaf(
      {"update", "--output", "json", id_of(1), id_of(2), id_of(3), "--", "sh", "-c", add_1 + "; [ $n != 7 ]"});
  check_status(result, 3,
               {R"("what":"no such entity","context":{"id":")" + id_of(2), R"("what":"the command failed")"});
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == fmt::format(R"({{"id":"{}","status":"stored"}})", id_of(1)));
  CHECK(lines[1] == fmt::format(R"({{"id":"{}","status":"not_found","error":"no such entity"}})", id_of(2)));
  CHECK(lines[2] ==
        fmt::format(R"({{"id":"{}","status":"failed","error":"the command failed","exit_status":"1"}})", id_of(3)));
  CHECK(lines[3] ==
        R"({"schema_version":1,"stored":1,"unchanged":0,"not_found":1,"rejected":0,"failed":1,"unknown":0})");
  check_run(cluster.looseleaf({"get", id_of(1), id_of(3)}), 0, with_n(1) + "\n" + entity(3, R"("n":7)") + "\n");
}

TEST_CASE("ids are read from standard input, which the command does not see") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1, R"("n":1)") + "\n" + entity(2, R"("n":2)"));
  const std::vector<std::string> update = {"update", "-", "--", "sed", "s/}/,\"seen\":true}/"};
  check_run(cluster.looseleaf(update, id_of(1) + "\nno id\n" + id_of(3) + "\n" + id_of(2)), 1,
            id_of(1) + "\n" + id_of(2) + "\n",
            {"error: not an id\n", "  line: 2\n", "warning: no such entity\n", "  line: 3\n",
             "stored 2 entities, not found 1, rejected 1\n"});
  check_run(cluster.looseleaf({"get", id_of(1), id_of(2)}), 0,
            entity(1, R"("n":1,"seen":true)") + "\n" + entity(2, R"("n":2,"seen":true)") + "\n");
  check_run(cluster.looseleaf(update, ""), 0, "");
}

TEST_CASE("a process that a command leaves behind with its output is not waited for") {
  const TestCluster cluster = with_counter();
  const auto begin = std::chrono::steady_clock::now();
  check_run(cluster.looseleaf(update("sleep 30 2> /dev/null & " + add_1)), 0, id_of(1) + "\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(1) + "\n");
}

TEST_CASE("a command ignores no signal because looseleaf does") {
  const TestCluster cluster = with_counter();
  const std::string unless_some = R"([ $((0x$(sed -n 's/^SigIgn:.//p' /proc/self/status) & 0x7fffffff)) -eq 0 ] && )";
  check_run(cluster.looseleaf(update(unless_some + add_1)), 0, id_of(1) + "\n");
}

TEST_CASE("the signal of `timeout`, which comes twice at once, lets the command finish") {
  const TestCluster cluster = with_counter();
  const std::string begun = cluster.directory().path() + "/begun";
  cli::Process process = start({"timeout", "600", looseleaf_program(), "--cluster", cluster.file(), "update", id_of(1),
                                "--", "sh", "-c", "touch " + begun + "; sleep 5; " + add_1});
  wait_until("the command has begun", [&] { return std::filesystem::exists(begun); });
  // What `timeout` is told it tells its process, and then its process group, as it does when the time is up.
  check_run(end_by(SIGTERM, process), 143, id_of(1) + "\n", {"stored 1 entity; stopped\n"});
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(1) + "\n");
}

// Neither side may wait for the other with a full pipe.
TEST_CASE("a command may print a large entity before it reads one") {
  const TestCluster cluster = with_counter();
  const std::string a(3 << 20, 'a'), b(3 << 20, 'b');
  const auto print = [&](const std::string& name, const std::string& member) {
    const std::string file = cluster.directory().write(name, entity(1, member));
    check_run(cluster.looseleaf(update("cat " + file + "; cat > /dev/null")), 0, id_of(1) + "\n");
  };
  print("a", fmt::format(R"("a":"{}")", a));
  print("b", fmt::format(R"("b":"{}")", b));
  print("n", R"("n":1)");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, with_n(1) + "\n");
}

}  // namespace
}  // namespace looseleaf::test
