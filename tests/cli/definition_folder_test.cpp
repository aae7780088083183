// looseleaf diff, apply and show-index: definitions in a folder and in the catalogs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr std::uint64_t entity_count = 20;

// A store with entities whose indexes are by_n, ready, and by_old, ready.
TestCluster with_old_index() {
  TestCluster cluster = initialised(2);
  create_index(cluster, by_n);
  create_index(cluster, with_table("by_old"));
  put_all(cluster, entity_lines(entity_count, "\"n\":{}"));
  return cluster;
}

TEST_CASE("diff is silent on standard output, and ends with 0, if the active indexes are as declared") {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder;
  folder.write("a.json", by_n);
  folder.write("b.json", with_table("by_old"));
  folder.write("index.schema.json", "{}");
  for (const std::string name : {".a.json", ".#a.json", "a.json~", "#a.json#"}) {  // an editor leaves these
    folder.write(name, "{");
  }
  check_run(cluster.looseleaf({"diff", folder.path()}), 0, "", {"looseleaf: 2 indexes: all are as declared\n"});
  check_run(cluster.looseleaf({"diff", folder.path(), "--quiet"}), 0, "");
}

TEST_CASE("what is not read of a folder of definitions, although it looks like them, is warned of") {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder, empty(folder.path()), old(folder.path());
  folder.write("a.json", by_n);
  folder.write("b.JSON", with_table("by_old"));
  folder.write("notes.txt", "");
  old.write("c.json", with_table("by_c"));
  const auto left_out = [](const std::string& path) {
    return fmt::format("looseleaf: warning: left out of the folder's definitions\n  path: {}\nhint: definitions are",
                       path);
  };
  const cli::ProcessResult diff = cluster.looseleaf({"diff", folder.path()});
  check_run(diff, 1, "extra by_old\n", {left_out(folder.path() + "/b.JSON"), left_out(old.path())});
  CHECK(diff.err.find("notes.txt") == std::string::npos);
  CHECK(diff.err.find(empty.path()) == std::string::npos);
}

TEST_CASE("diff names every index that is not as declared, and what differs") {
  const TestCluster cluster = with_old_index();
  create_index(cluster, with_table("by_building"));
  const TemporaryDirectory folder;
  const std::string building = folder.write("building.json", with_table("by_building"));
  const std::string missing = folder.write("m.json", with_table("by_m"));
  const std::string different = folder.write(
      "n.json", R"({"table": "by_n", "properties": [{"name": "n", "type": "double"}], "immutable": true})");
  check_run(cluster.looseleaf({"diff", folder.path()}), 1,
            fmt::format("building by_building ({})\n"
                        "missing by_m ({})\n"
                        "different by_n /properties/0/type: active \"int\", given \"double\" ({})\n"
                        "different by_n /immutable: active nothing, given true ({})\n"
                        "extra by_old\n",
                        building, missing, different, different),
            {"looseleaf: 4 of 4 indexes are not as declared\n"});
}

TEST_CASE("diff says on which shards an index is missing, and what is being dropped" * needs_failpoints) {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder;
  const std::string n = folder.write("n.json", by_n);
  const std::string m = folder.write("m.json", with_table("by_m"));
  cluster.die_at("create.publish:after@0", {"create-index", m});
  cluster.die_at("drop.stop_writers:after@0", {"drop-index", "by_old", "--yes"});
  check_run(cluster.looseleaf({"diff", folder.path()}), 1,
            fmt::format("missing by_m on shards 1 ({})\ndropping by_old\n", m),
            {"looseleaf: 2 of 3 indexes are not as declared\n"});
}

TEST_CASE("apply creates and fills what is missing, shows what is extra, and changes nothing the second time") {
  const TestCluster cluster = with_old_index();
  create_index(cluster, with_table("by_building"));
  const TemporaryDirectory folder;
  folder.write("building.json", with_table("by_building"));
  folder.write("m.json", with_table("by_m"));
  folder.write("n.json", by_n);
  const cli::ProcessResult dry_run = cluster.looseleaf({"apply", folder.path(), "--dry-run"});
  check_status(dry_run, 0, {"by_old is active, but no definition declares it; `--prune` drops it\n"});
  CHECK(holds_in_order(dry_run.out, {"by_building, active, state building\n", "CREATE TABLE by_m (",
                                     "-- then those of these indexes that are building are filled\n"}));
  CHECK(cluster.sql(0, "SHOW TABLES LIKE 'by_m'").empty());
  const TemporaryDirectory misspelt;
  misspelt.write("x.json", R"({"table": "by_x", "properties": [{"name": "mm", "type": "int"}]})");
  check_status(cluster.looseleaf({"apply", misspelt.path(), "--dry-run"}), 0,
               {"warning: an index would have no rows of these entities", "hint: check how the property is spelt"});
  check_run(cluster.looseleaf({"apply", folder.path(), "--max-rate", "100000"}), 0, "",
            {"by_building is already active: building\n", "created by_m: building\n", "by_building: ready\n",
             "by_m: ready\n", "by_old is active, but no definition declares it; `--prune` drops it\n"});
  check_run(cluster.looseleaf({"query", "by_m", "--count"}), 0, "20\n");
  check_run(cluster.looseleaf({"apply", folder.path()}), 0, "",
            {"by_old is active, but", "looseleaf: nothing to do: 3 indexes are active as declared\n"});
  check_run(cluster.looseleaf({"query", "by_old", "--count"}), 0, "20\n");
}

TEST_CASE("apply --prune drops what is extra, and asks or wants --yes") {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder;
  folder.write("n.json", by_n);
  check_run(cluster.looseleaf({"apply", folder.path(), "--prune"}), 2, "",
            {"error: refusing to drop without `--yes`: no terminal to ask on\n", "would drop: by_old\n",
             "hint: give --yes\n"});
  check_run(cluster.looseleaf({"apply", folder.path(), "--prune", "--dry-run"}), 0,
            "-- then these are dropped: by_old\n");
  CHECK(cluster.looseleaf({"query", "by_old"}).status == 0);
  check_run(cluster.looseleaf({"apply", folder.path(), "--prune", "--yes"}), 0, "", {"dropped by_old\n"});
  check_run(cluster.looseleaf({"query", "by_old"}), 2, "", {"error: no such index\n"});
  check_run(cluster.looseleaf({"apply", folder.path(), "--prune", "--yes"}), 0, "",
            {"looseleaf: nothing to do: 1 index is active as declared\n"});
  check_run(cluster.looseleaf({"diff", folder.path()}), 0, "", {"1 index: all are as declared\n"});
}

TEST_CASE("apply --prune does not drop what another process has dropped, or created again, while it filled indexes" *
          needs_failpoints) {
  const TestCluster cluster = with_old_index();
  create_index(cluster, with_table("by_older"));
  const TemporaryDirectory folder;
  folder.write("m.json", with_table("by_m"));
  folder.write("n.json", by_n);
  cli::Process apply = cluster.stop_at("backfill.publish:before@0", {"apply", folder.path(), "--prune", "--yes"});
  check_status(cluster.looseleaf({"drop-index", "by_old", "by_older", "--yes"}), 0, {"dropped by_old\n"});
  create_index(cluster, with_table("by_older"));
  const cli::ProcessResult applied = resume(apply);
  check_status(applied, 0,
               {"by_m: ready\n", "warning: not dropped, because another process has created an index of this name",
                "  index: by_older\n"});
  CHECK(!contains(applied.err, "by_old\n"));
  CHECK(contains(cluster.looseleaf({"status"}).out, "by_older"));
}

TEST_CASE("apply --prune drops nothing as long as an index that may replace it is not ready") {
  const TestCluster cluster = with_old_index();
  put_all(cluster, entity_lines(2, R"("k":1,"n":{0})"));
  const TemporaryDirectory folder;
  folder.write("n.json", by_n);
  folder.write("k.json",
               R"({"table": "by_k", "properties": [{"name": "k", "type": "int"}], "unique": true, "shard_on": "k"})");
  const std::vector<std::string> apply = {"apply", folder.path(), "--prune", "--yes"};
  check_run(cluster.looseleaf(apply), 1, "",
            {"warning: not dropped, because an index that may replace them is not ready\n", "  indexes: by_old\n",
             "hint: make it ready, as said above, and run the command again\n"});
  CHECK(cluster.looseleaf({"query", "by_old", "--count"}).status == 0);
  check_status(cluster.looseleaf({"delete", id_of(1)}), 0);
  check_run(cluster.looseleaf(apply), 0, "", {"by_k: ready\n", "dropped by_old\n"});
}

TEST_CASE("apply refuses a definition that differs before it changes anything") {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder;
  folder.write("a.json", with_table("by_a"));
  const std::string file =
      folder.write("n.json", R"({"table": "by_n", "properties": [{"name": "n", "type": "bool"}]})");
  for (const std::string option : {"--quiet", "--dry-run"}) {
    check_run(cluster.looseleaf({"apply", folder.path(), "--prune", "--yes", option}), 2, "",
              {"error: index exists with another definition; nothing was changed\n", "index: by_n\n",
               "file: " + file + "\n", "difference: /properties/0/type: active \"int\", given \"bool\"\n",
               "hint: run `looseleaf drop-index by_n` and then this command again"});
  }
  CHECK(cluster.sql(0, "SELECT table_name FROM looseleaf_index ORDER BY table_name") == "by_n\nby_old\n");
}

TEST_CASE("apply continues a creation and a drop that died" * needs_failpoints) {
  const TestCluster cluster = with_old_index();
  const TemporaryDirectory folder;
  folder.write("n.json", by_n);
  const std::string m = folder.write("m.json", with_table("by_m"));
  cluster.die_at("create.publish:after@0", {"create-index", m});
  cluster.die_at("drop.stop_writers:after@0", {"drop-index", "by_old", "--yes"});
  check_status(cluster.looseleaf({"apply", folder.path(), "--prune", "--yes"}), 0,
               {"created by_m: building\n", "by_m: ready\n", "dropped by_old\n"});
  check_run(cluster.looseleaf({"diff", folder.path()}), 0, "", {"2 indexes: all are as declared\n"});
  cluster.die_at("drop.stop_writers:after@0", {"drop-index", "by_m", "--yes"});
  check_run(cluster.looseleaf({"apply", folder.path()}), 2, "",
            {"error: an index with this name is being dropped; nothing was changed\n", "index: by_m\n",
             "hint: run `looseleaf drop-index by_m` to finish that first\n"});
}

TEST_CASE("an index whose creation or drop was interrupted is explained, and does not stop the backfill of others" *
          needs_failpoints) {
  const TestCluster cluster = with_old_index();
  put_all(cluster, entity(1, "\"n\":1"));
  const std::string by_k = R"({"table": "by_k", "properties": [{"name": "n", "type": "int"}]})";
  const std::string file = cluster.directory().write("by_k.json", by_k);
  cluster.die_at("create.intent:after", {"create-index", file});
  check_run(cluster.looseleaf({"show-index", "by_k"}), 2, "",
            {"error: a creation or a drop of the index was interrupted\n", "  index: by_k\n",
             "hint: run the interrupted command again; `looseleaf drop-index by_k` removes "});
  check_status(cluster.looseleaf({"create-index", "--quiet", file}), 0);
  cluster.die_at("drop.stop_queries:after@0", {"drop-index", "by_old", "--yes"});
  check_status(cluster.looseleaf({"backfill"}), 0,
               {"warning: an index is not filled: index is being dropped\n", "  index: by_old\n",
                "hint: run `looseleaf drop-index by_old`", "by_k: ready"});
  check_run(cluster.looseleaf({"backfill", "by_old"}), 2, "", {"error: index is being dropped\n"});
}

TEST_CASE("show-index prints the definition, the state and the place of an index") {
  const TestCluster cluster = initialised(2);
  create_index(cluster, by_n_sharded);
  create_index(cluster, with_table("by_m"));
  const std::string generation = lines_of(cluster.sql(0, "SELECT generation FROM looseleaf_index")).at(1);
  const std::string shown = check_status(cluster.looseleaf({"show-index", "by_n", "by_m"}), 0);
  CHECK(holds_in_order(shown, {"index       by_n\nstate       ready\ngeneration  " + generation + "\nsince       20",
                               " UTC\nsharding    rows are placed by `n`\ntable       by_n\nshards      0, 1\n"
                               "definition\n{\n  \"table\": \"by_n\",\n",
                               "  \"shard_on\": \"n\"\n}\n\nindex       by_m\n", "sharding    local: "}));
  const cli::ProcessResult json = cluster.looseleaf({"show-index", "by_n", "--output", "json"});
  CHECK(holds_in_order(json.out, {"{\"table\":\"by_n\",\"state\":\"ready\",\"generation\":\"" + generation + "\"",
                                  "\"shard_on\":\"n\",\"shards\":[0,1],\"unknown\":[],\"definition\":{\"table\""}));
  check_run(cluster.looseleaf({"show-index", "by_n", "by_k"}), 2, "",
            {"error: no such index\n", "index: by_k\n", "hint: did you mean `by_"});
}

}  // namespace
}  // namespace looseleaf::test
