// Standard input, standard output and the rejects file fail, at every stage: what could be stored is stored, what was
// printed is true, and the failure is said once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/proof/faulty_runs.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t many = 3'000;  // their ids are more than a pipe holds

// $0 is the cluster file, "$@" are the arguments.
cli::ProcessResult shell(const TestCluster& cluster, const std::string& script,
                         const std::vector<std::string>& arguments, std::string_view input = {}) {
  return run(joined({"bash", "-c", script, cluster.file()}, arguments), input);
}

TestCluster with_index() {
  TestCluster cluster = initialised();
  create_index(cluster, by_n);
  return cluster;
}

struct Reader {
  std::string command;  // that takes standard output
  std::size_t lines;    // that it takes
};

// One that is gone from the beginning, one that leaves after a line, one after some more.
const std::vector<Reader> leaving_readers = {{"true", 0}, {"head -n 1", 1}, {"head -n 700", 700}};

cli::ProcessResult read_by(const Reader& reader, const TestCluster& cluster, const std::vector<std::string>& arguments,
                           std::string_view input = {}) {
  const std::string begin = reader.lines == 0 ? "sleep 0.3; " : "";
  return shell(
      cluster,
      fmt::format(R"({{ {}"$LOOSELEAF_BIN" --cluster "$0" "$@"; echo "status $?" >&2; }} | {})", begin, reader.command),
      arguments, input);
}

TEST_CASE("input that fails midway is reported, and the entities before are stored" * needs_faults) {
  const std::string input = entity_lines(many, R"("n":1)");
  REQUIRE(input.size() > 2 * 65536);
  for (const std::uint64_t reading : {1U, 2U, 3U}) {
    CAPTURE(reading);
    const TestCluster cluster = initialised();
    const auto result = run_with_faults(cluster, {fmt::format("FAULTY_READ=0:{}", reading)}, {"put"}, input);
    const std::uint64_t whole = (reading - 1) * 65536 / (entity(0, R"("n":1)").size() + 1);
    check_status(result, 3,
                 {"error: the file cannot be read\n", "file: standard input\n", "reason: Input/output error\n"});
    CHECK(times("error: ", result.err) == 1);
    CHECK(result.out == id_lines(whole));
    CHECK(rows_of(cluster, "entities") == whole);
  }
}

TEST_CASE("ids that cannot be read to their end are reported" * needs_faults) {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(2, R"("n":1)"));
  for (const std::string command : {"get", "delete"}) {
    CAPTURE(command);
    const auto result = run_with_faults(cluster, {"FAULTY_READ=0:1"}, {command, "-"}, id_lines(2));
    check_status(result, 3, {"error: the file cannot be read\n", "reason: Input/output error\n"});
    CHECK(result.out.empty());
  }
}

TEST_CASE("a directory, or nothing, as standard input is reported") {
  const TestCluster cluster = initialised();
  const std::vector<std::pair<std::string, std::string>> inputs = {{"< /", "reason: Is a directory\n"},
                                                                   {"<&-", "reason: Bad file descriptor\n"}};
  for (const auto& [redirection, reason] : inputs) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"put"}, {"put", "--rejects", "rejects"}, {"get", "-"}, {"delete", "-"}}) {
      CAPTURE(redirection);
      CAPTURE(arguments[0]);
      check_run(shell(cluster,
                      fmt::format(R"sh(cd "$(dirname "$0")"; "$LOOSELEAF_BIN" --cluster "$0" "$@" {})sh", redirection),
                      arguments),
                3, "", {"error: the file cannot be read\n", "file: standard input\n", reason});
    }
  }
}

TEST_CASE("a standard output that fails is reported once by every command, and put and delete do their work" *
          needs_faults) {
  const std::string input = entity_lines(many, R"("n":1)");
  for (const std::uint64_t writing : {1U, 2U}) {
    CAPTURE(writing);
    const std::vector<std::string> fault = {fmt::format("FAULTY_WRITE=1:{}+100000", writing)};
    const TestCluster cluster = with_index();
    const auto put = run_with_faults(cluster, fault, {"put"}, input);
    check_status(
        put, 3,
        {"error: cannot write to standard output; entities are still being stored, but their ids are not printed\n",
         "reason: Input/output error\n", "hint: keep the ids", "stored "});
    CHECK(times("error: ", put.err) == 1);
    CHECK(rows_of(cluster, "by_n") == many);
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"get", "-"}, {"query", "by_n"}}) {
      CAPTURE(arguments[0]);
      const auto result = run_with_faults(cluster, fault, arguments, id_lines(many));
      check_status(result, 3, {"error: cannot write to standard output\n", "reason: Input/output error\n"});
      CHECK(times("error: ", result.err) == 1);
    }
    const auto removed = run_with_faults(cluster, fault, {"delete", "-"}, id_lines(many));
    check_status(
        removed, 3,
        {"error: cannot write to standard output; entities are still being deleted, but their ids are not printed\n"});
    CHECK(times("error: ", removed.err) == 1);
    CHECK(rows_of(cluster, "by_n") == 0);
  }
}

TEST_CASE("what is printed to a full disk is missed by every command") {
  const TestCluster cluster = with_index();
  put_all(cluster, entity_lines(1, R"("n":1)"));
  const std::string another = cluster.directory().write(
      "another.json", R"({"table": "another", "properties": [{"name": "n", "type": "int"}]})");
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"init"},
                                                    {"status"},
                                                    {"get", id_of(0)},
                                                    {"query", "by_n"},
                                                    {"query", "by_n", "--count"},
                                                    {"verify"},
                                                    {"create-index", "--dry-run", another},
                                                    {"--output", "json", "clean"},
                                                    {"get", "--help"},
                                                    {"--version"}}) {
    CAPTURE(fmt::format("{}", fmt::join(arguments, " ")));
    check_status(shell(cluster, R"("$LOOSELEAF_BIN" --cluster "$0" "$@" > /dev/full)", arguments), 3,
                 {"error", "cannot write to standard output", "reason", "No space left on device", "make space"});
  }
}

TEST_CASE("put and delete go on when their reader leaves, and say so once") {
  for (const Reader& reader : leaving_readers) {
    CAPTURE(reader.command);
    const TestCluster cluster = with_index();
    const auto put = read_by(reader, cluster, {"put"}, entity_lines(many, R"("n":1)"));
    CHECK(holds_in_order(
        put.err, {"error: standard output was closed; entities are still being stored, but their ids are not printed\n",
                  "hint: keep the ids", "stored ", "status 3\n"}));
    CHECK(times("error: ", put.err) == 1);
    CHECK(put.out == id_lines(reader.lines));
    CHECK(rows_of(cluster, "by_n") == many);
    const auto removed = read_by(reader, cluster, {"delete", "-"}, id_lines(many));
    CHECK(holds_in_order(
        removed.err,
        {"error: standard output was closed; entities are still being deleted, but their ids are not printed\n",
         "status 3\n"}));
    CHECK(times("error: ", removed.err) == 1);
    CHECK(removed.out == id_lines(reader.lines));
    CHECK(rows_of(cluster, "by_n") == 0);
  }
}

TEST_CASE("get and query end quietly when their reader leaves") {
  const TestCluster cluster = with_index();
  put_all(cluster, entity_lines(many, R"("n":1)"));
  for (const Reader& reader : leaving_readers) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"get", "-"}, {"query", "by_n"}, {"query", "by_n", "--ids"}}) {
      CAPTURE(reader.command);
      CAPTURE(arguments.back());
      const auto result = read_by(reader, cluster, arguments, id_lines(many));
      CHECK(result.err == "status 0\n");
      CHECK(lines_of(result.out).size() == reader.lines);
    }
  }
}

TEST_CASE("a disk that fills up under the rejects file is reported once, and the rest is stored") {
  const TestCluster cluster = with_index();
  const std::string rejects = cluster.directory().path() + "/rejects";
  std::string input, bad;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::string one = fmt::format(R"({{"id":"bad {}","n":1,"text":"{:1000}"}})", i, "") + "\n";
    bad += one;
    input += one + entity(i, R"("n":1)") + "\n";
  }
  // The limit, in KiB, is that of every file, so what is printed has to be shorter.
  const auto result = shell(cluster, R"(trap "" XFSZ; ulimit -f 8; "$LOOSELEAF_BIN" --cluster "$0" "$@")",
                            {"put", "--rejects", rejects}, input);
  check_status(result, 3, {"error: cannot write to the rejects file\n", "reason: File too large\n"});
  CHECK(times("cannot write to the rejects file", result.err) == 1);
  CHECK(result.out == id_lines(20));
  CHECK(rows_of(cluster, "by_n") == 20);
  const std::string kept = read_text(rejects);
  CHECK(kept.size() == 8 * 1024);
  CHECK(bad.starts_with(kept));
}

}  // namespace
}  // namespace looseleaf::test
