// looseleaf put --merge: members are merged into what is stored, and no change of another process is lost.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

TEST_CASE("put --merge changes the members that are given, and leaves the others byte for byte") {
  const TestCluster cluster = initialised();
  const std::string digits(400, '7');
  const std::string old = R"("n": 1.10, "big":0.)" + digits;
  REQUIRE(cluster.looseleaf({"put"}, entity(1, old + R"(,"o":{"a":1, "b":"x"})")).status == 0);
  check_run(cluster.looseleaf({"put", "--merge"}, entity(1, R"("o":{"b":null,"c":[null]},"new":1.50)")), 0,
            id_of(1) + "\n");
  check_run(cluster.looseleaf({"get", id_of(1)}), 0, entity(1, old + R"(,"o":{"a":1, "c":[null]},"new":1.50)") + "\n");
}

// A program that is told that nothing had to change relies on what another writer may not have on disk yet.
TEST_CASE("a merge that changes nothing waits until what it has found is durable" * needs_failpoints) {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1, R"("n":1)"));
  const auto [result, steps] = run_traced(cluster, {"put", "--merge"}, entity(1, R"("n":1)"));
  check_status(result, 0);
  CHECK(contains(steps, "durable.commit:after@1\n"));
}

TEST_CASE("put --merge stores nothing for an entity that does not exist, is not named, or would stay the same") {
  const TestCluster cluster = initialised();
  REQUIRE(cluster.looseleaf({"put"}, entity(1, R"("n":1)")).status == 0);
  const std::string stamp = cluster.looseleaf({"get", "--stamps", id_of(1)}).out;
  const std::string rejects = cluster.directory().write("rejects", "");
  const std::string input = entity(1, R"("n":1)") + "\n" + entity(2) + "\n{\"n\":2}\n" + entity(1) + "\n";
  const cli::ProcessResult result =
      cluster.looseleaf({"put", "--merge", "--output", "json", "--rejects", rejects}, input);
  check_status(result, 1,
               {R"("what":"no such entity","context":{"line":2)", R"("what":"there is no id to merge with")"});
  const std::vector<std::string> lines = lines_of(result.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == fmt::format(R"({{"id":"{}","status":"unchanged"}})", id_of(1)));
  CHECK(holds_in_order(lines[1], {id_of(2), R"("status":"not_found")"}));
  CHECK(holds_in_order(lines[2], {R"("id":null,"status":"rejected")"}));
  CHECK(lines[3] == lines[0]);
  CHECK(lines[4] ==
        R"({"schema_version":1,"stored":0,"unchanged":2,"not_found":1,"rejected":1,"failed":0,"unknown":0})");
  CHECK(read_text(rejects) == entity(2) + "\n{\"n\":2}\n");
  CHECK(cluster.looseleaf({"get", "--stamps", id_of(1)}).out == stamp);
  check_status(cluster.looseleaf({"put", "--merge", "--if-absent"}), 2, {"error: --merge and --if-absent exclude"});
}

TEST_CASE("a stored text that another program wrote, and that put would not accept, is named as the problem") {
  const TestCluster cluster = initialised();
  struct Case {
    std::string planted, reason, correction;
  };
  const std::vector<Case> cases = {
      {"\xEF\xBB\xBF" + entity(1, R"("n":1)"), "  detail: a byte order mark\n", R"(s/^\xEF\xBB\xBF//)"},
      {entity(1, R"("a":{"b":1,"b":2},"n":1)"), "  reason: duplicate key\n", R"(s/"b":1,//)"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.planted);
    put_all(cluster, entity(1));
    cluster.sql(1, fmt::format("UPDATE entities SET body = COMPRESS('{}') WHERE id = x'{}'", test.planted, id_of(1)));
    check_run(
        cluster.looseleaf({"put", "--merge", "--timeout", "5"}, entity(1, R"("n":2)")), 3, "",
        {"error: the stored text is not one that put accepts, so nothing can be merged into it\n", test.reason,
         "hint: put the whole entity instead, or correct what is stored with `looseleaf update`\n", "failed 1\n"});
    check_run(cluster.looseleaf({"update", id_of(1), "--", "sed", test.correction}), 0, id_of(1) + "\n");
    check_run(cluster.looseleaf({"put", "--merge"}, entity(1, R"("n":2)")), 0, id_of(1) + "\n");
    CHECK(contains(cluster.looseleaf({"get", id_of(1)}).out, R"("n":2})"));
  }
}

TEST_CASE("texts for one entity are merged in their order") {
  const TestCluster cluster = initialised();
  REQUIRE(cluster.looseleaf({"put"}, entity(1)).status == 0);
  std::string input;
  for (int i = 1; i <= 5; ++i) {
    input += entity(1, fmt::format(R"("last":{},"m{}":true)", i, i)) + "\n";
  }
  REQUIRE(cluster.looseleaf({"put", "--merge"}, input).status == 0);
  check_run(cluster.looseleaf({"get", id_of(1)}), 0,
            entity(1, R"("last":5,"m1":true,"m2":true,"m3":true,"m4":true,"m5":true)") + "\n");
}

TEST_CASE("what came in is merged while the input waits for more") {
  const TestCluster cluster = initialised();
  REQUIRE(cluster.looseleaf({"put"}, entity(1)).status == 0);
  const std::string out = cluster.directory().write("out", "");
  const std::string script = fmt::format(
      "{{ echo '{}'; for i in $(seq 100); do if grep -q {} {}; then exit; fi; sleep 0.1; done; echo '{{}}'; }} | "
      "{} --cluster {} put --merge > {}",
      entity(1, R"("n":1)"), id_of(1), out, looseleaf_program(), cluster.file(), out);
  check_run(start({"sh", "-c", script}).wait(), 0, "");  // {} has no id, and so the status would be 1
  CHECK(read_text(out) == id_of(1) + "\n");
}

TEST_CASE("no merge is lost when several processes merge into the same entities") {
  const TestCluster cluster = initialised();
  constexpr int entities = 30, processes = 4, rounds = 10;
  REQUIRE(cluster.looseleaf({"put"}, entity_lines(entities)).status == 0);
  std::vector<cli::Process> running;
  for (int process = 0; process < processes; ++process) {
    std::string input;
    for (int round = 1; round <= rounds; ++round) {
      input += entity_lines(entities, fmt::format(R"("p{}":{})", process, round));
    }
    running.push_back(cluster.start({"put", "--merge", "--quiet"}, input));
  }
  for (cli::Process& process : running) {
    check_run(process.wait(), 0, "");
  }
  for (int number = 0; number < entities; ++number) {
    const std::string text = cluster.looseleaf({"get", id_of(number)}).out;
    for (int process = 0; process < processes; ++process) {
      CHECK_MESSAGE(contains(text, fmt::format(R"("p{}":{})", process, rounds)), text);
    }
  }
}

}  // namespace
}  // namespace looseleaf::test
