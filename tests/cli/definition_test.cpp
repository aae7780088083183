// Index definitions that are refused, each with its place and a hint, before any server is asked.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

TEST_CASE("a definition that is wrong is refused with its place and a hint") {
  const TestCluster cluster = initialised(1);
  for (const BadFile& bad : bad_definitions()) {
    CAPTURE(bad.text);
    const std::string file = cluster.directory().write("definition.json", bad.text);
    for (const std::string option : {"--dry-run", "--quiet"}) {
      check_run(cluster.looseleaf({"create-index", option, file}), 2, "", printed_of(bad, file));
    }
  }
  CHECK(cluster.sql(0, "SELECT COUNT(*) FROM looseleaf_index") == "0\n");
}

TEST_CASE("the largest definitions are accepted by the servers") {
  const TestCluster cluster = initialised(1);
  std::vector<std::string> eight;
  for (int i = 0; i < 8; ++i) {
    eight.push_back(fmt::format(R"({{"name": "p{}", "type": "string", "max_length": 95}})", i));
  }
  create_index(cluster,
               fmt::format(R"({{"table": "{}", "properties": [{}]}})", std::string(64, 't'), fmt::join(eight, ", ")));
  create_index(cluster, R"({"table": "full_key", "properties": [{"name": "s", "type": "string"},
                            {"name": "u", "type": "string", "max_length": 27}, {"name": "n", "type": "int"}]})");
  create_index(cluster, "{\"table\": \"long_path\", \"properties\": [{\"name\": \"" + std::string(64, 'p') +
                            "\", \"type\": \"int\"}]}");
  create_index(cluster, R"({"table": "select", "properties": [{"name": "a`b", "type": "int"},
                            {"name": "größe.from", "type": "int"}], "shard_on": "a`b"})");
  put_all(cluster, entity(1, R"("a`b":1,"größe":{"from":2})"));
  check_run(cluster.looseleaf({"query", "select", "a`b=1", "größe.from>1", "--ids"}), 0, id_of(1) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("a definition file that is not there, or one bad file among several, creates nothing") {
  const TestCluster cluster = initialised(1);
  const std::string good = cluster.directory().write("good.json", with_table("by_n"));
  const std::string bad = cluster.directory().write("bad.json", "{}");
  check_run(cluster.looseleaf({"create-index", good, "/nonexistent.json"}), 2, "",
            {"error: the file cannot be read\n", "file: /nonexistent.json\n", "hint: name definition files"});
  check_run(cluster.looseleaf({"create-index", good, bad}), 2, "", {"error: definition has no table\n", bad});
  check_run(cluster.looseleaf({"query", "by_n"}), 2, "", {"error: no such index\n"});
  check_run(cluster.looseleaf({"create-index", "--dry-run", "--backfill", good}), 2, "",
            {"error: --dry-run and --backfill cannot be combined\n"});
}

TEST_CASE("create-index takes a folder for all its definition files") {
  const TestCluster cluster = initialised(1);
  const TemporaryDirectory folder, twice;
  folder.write("m.json", with_table("by_m"));
  folder.write("n.json", with_table("by_n"));
  folder.write("index.schema.json", "{}");
  folder.write("notes.txt", "?");
  const std::string other = cluster.directory().write("other.json", with_table("by_o"));
  check_run(cluster.looseleaf({"create-index", folder.path(), other}), 0, "",
            {"created by_m: ready\n", "created by_n: ready\n", "created by_o: ready\n"});
  const cli::ProcessResult again = cluster.looseleaf({"create-index", folder.path(), folder.path() + "/m.json"});
  check_status(again, 0, {"by_m is already active", "by_n is already active"});
  CHECK(times("by_m", again.err) == 1);  // a definition that is given twice counts once
  twice.write("a.json", with_table("by_p"));
  twice.write("b.json", with_table("by_p"));
  check_run(cluster.looseleaf({"create-index", twice.path()}), 2, "",
            {"error: two files declare the same index\n", "index: by_p\n", "/a.json\n", "/b.json\n"});
  const std::string sharded =
      twice.write("b.json", R"({"table": "by_p", "properties": [{"name": "p", "type": "int"}]})");
  check_run(cluster.looseleaf({"create-index", twice.path() + "/a.json", sharded}), 2, "",
            {"error: two files declare the same index\n", "index: by_p\n", "/a.json\n", "/b.json\n"});
}

}  // namespace
}  // namespace looseleaf::test
