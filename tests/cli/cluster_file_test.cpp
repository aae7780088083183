// Cluster files that are wrong, and servers that are not the ones they name: nothing is read or written.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

std::string shard_object(const TestCluster& cluster, std::uint32_t shard) {
  return fmt::format(R"({{"socket": "{}", "database": "{}"}})", cluster.socket(shard), cluster.database(shard));
}

// A cluster file beside the right one, which logs in as that does.
std::string write_cluster(const TestCluster& cluster, const std::vector<std::string>& shards,
                          const std::string& more = {}) {
  return cluster.directory().write("other.json",
                                   fmt::format(R"({{"shards": [{}], {}"user": "root", "defaults_file": "{}"}})",
                                               fmt::join(shards, ", "), more, cluster.defaults_file()));
}

cli::ProcessResult looseleaf_with(const std::string& cluster_file, std::vector<std::string> arguments,
                                  std::string_view input = {}) {
  arguments.insert(arguments.begin(), {"looseleaf", "--cluster", cluster_file});
  return run(std::move(arguments), input);
}

// Every command that touches entities or indexes refuses the file, and nothing changes.
void check_refused(const TestCluster& cluster, const std::string& file, const std::vector<std::string>& err) {
  const std::string definition = cluster.directory().write("by_n.json", by_n);
  const std::vector<std::vector<std::string>> commands = {{"put"},
                                                          {"get", id_of(0), id_of(1)},
                                                          {"delete", id_of(0), id_of(1)},
                                                          {"query", "by_id"},
                                                          {"backfill"},
                                                          {"verify"},
                                                          {"clean"},
                                                          {"create-index", definition},
                                                          {"init"},
                                                          {"drop-index", "by_id", "--yes"}};
  for (const auto& command : commands) {
    CAPTURE(command[0]);
    const std::size_t before = rows_of(cluster, "entities");
    check_run(looseleaf_with(file, command, entity(10) + "\n" + entity(11) + "\n"), 2, "", err);
    CHECK(rows_of(cluster, "entities") == before);
  }
}

TestCluster with_index() {
  TestCluster cluster = initialised(2);
  create_index(cluster, R"({"table": "by_id", "properties": [{"name": "id", "type": "uuid"}]})");
  put_all(cluster, entity(0) + entity(1));
  return cluster;
}

TEST_CASE("shards in another order are refused, and status shows those that the file names and blames the file") {
  const TestCluster cluster = with_index();
  const std::string file = write_cluster(cluster, {shard_object(cluster, 1), shard_object(cluster, 0)});
  check_refused(cluster, file,
                {"looseleaf: error: shard is at the wrong place in the cluster file\n", "shard: ", "hint: "});
  const cli::ProcessResult result = looseleaf_with(file, {"status"});
  check_status(result, 2, {"shard is at the wrong place", "shard: 0\n", "shard is at the wrong place", "shard: 1\n"});
  CHECK(holds_in_order(result.out, {cluster.socket(1), " refused", cluster.socket(0), " refused"}));
  CHECK(times(" down", result.out) == 0);
}

TEST_CASE("status tells a shard of another cluster and one that was not initialised from one that is up") {
  const TestCluster cluster = with_index();
  const TestCluster foreign = initialised(2);
  const TestCluster fresh = TestCluster::shared(2);
  const std::string id = lines_of(cluster.looseleaf({"init", "--quiet"}).out).at(0);
  struct Case {
    const TestCluster* other;
    const char* state;
    const char* what;
  };
  for (const auto& [other, state, what] : {Case{&foreign, "refused", "shard belongs to another cluster"},
                                           Case{&fresh, "uninitialised", "shard is not initialised"}}) {
    CAPTURE(what);
    const std::string file = write_cluster(cluster, {shard_object(cluster, 0), shard_object(*other, 1)},
                                           fmt::format(R"("cluster_id": "{}", )", id));
    const cli::ProcessResult text = looseleaf_with(file, {"status"});
    check_status(text, 2, {"looseleaf: error: ", what, "shard: 1\n", "hint: "});
    CHECK(holds_in_order(text.out,
                         {"cluster " + id, cluster.socket(0), " up ", other->socket(1), std::string(" ") + state}));
    const std::string json = check_status(looseleaf_with(file, {"status", "--output", "json"}), 2, {what});
    const std::vector<std::string> lines = lines_of(json);
    REQUIRE(lines.size() == 3);
    CHECK(times("\"state\":\"up\"", lines[0]) == 1);
    CHECK(times(fmt::format("\"state\":\"{}\"", state), lines[1]) == 1);
    CHECK(times(what, lines[1]) == 1);
    CHECK(times("\"down\":0", lines[2]) == 1);
    CHECK(times("\"refused\":", lines[2]) == 1);
    CHECK(times(fmt::format("\"{}\":1", state), lines[2]) == 1);
  }
}

TEST_CASE("status shows the other shards, and who may be at work there, when shard 0 is gone") {
  const TestCluster cluster = with_index();
  cluster.sql(1,
              "INSERT INTO looseleaf_progress (job, table_name, generation, token, holder, since, heartbeat) VALUES "
              "('clean', '', 0, 1, 'somebody pid 7', NOW(6), NOW(6))");
  cluster.server_sql(cluster.server_of(0), "DROP DATABASE " + cluster.database(0));
  const cli::ProcessResult result = cluster.looseleaf({"status"});
  check_status(result, 2, {"looseleaf: error: shard is not initialised\n", "shard: 0\n"});
  CHECK(holds_in_order(result.out, {cluster.socket(0), " uninitialised", cluster.socket(1), " up ", "somebody pid 7"}));
}

TEST_CASE("one shard too few, and one of another cluster, are refused") {
  const TestCluster cluster = with_index(), foreign = initialised(2);
  check_refused(cluster, write_cluster(cluster, {shard_object(cluster, 0)}),
                {"error: cluster file and cluster have different numbers of shards\n", "2 shards\n", "hint: "});
  check_refused(cluster, write_cluster(cluster, {shard_object(cluster, 0), shard_object(foreign, 1)}),
                {"error: shard belongs to another cluster\n", "expected: ", "found: "});
  CHECK(rows_of(foreign, "entities") == 0);
}

TEST_CASE("one shard too many is refused") {
  const TestCluster cluster = with_index();
  const std::string more =
      fmt::format(R"({{"socket": "{}", "database": "{}_new"}})", cluster.socket(0), cluster.database(0));
  // Wherever it stands, and whichever shard is asked: `init` and --accept-empty-shard were advised before.
  const std::string first = write_cluster(cluster, {more, shard_object(cluster, 0), shard_object(cluster, 1)});
  const std::string last = cluster.directory().write(
      "last.json", fmt::format(R"({{"shards": [{}, {}, {}], "user": "root", "defaults_file": "{}"}})",
                               shard_object(cluster, 0), shard_object(cluster, 1), more, cluster.defaults_file()));
  const std::vector<std::string> err = {"error: cluster file and cluster have different numbers of shards\n",
                                        "  expected: 2 shards\n", "  found: 3 in the cluster file\n", "shard: ",
                                        "hint: delete from the cluster file the shards that are not in this store; "};
  for (const std::string& file : {first, last}) {
    CAPTURE(file);
    for (const std::uint64_t number : {0U, 1U, 2U}) {
      for (const std::string command : {"get", "delete"}) {
        check_run(looseleaf_with(file, {command, id_of(number)}), 2, "", err);
      }
      check_run(looseleaf_with(file, {"put"}, entity(number)), 2, "", err);
    }
    check_run(looseleaf_with(file, {"init"}), 2, "", err);
    check_run(looseleaf_with(file, {"init", "--accept-empty-shard", file == first ? "0" : "2"}), 2, "", err);
    const cli::ProcessResult status = looseleaf_with(file, {"status"});
    check_status(status, 2, err);
    CHECK_FALSE(contains(status.err, "looseleaf init"));
  }
  CHECK(rows_of(cluster, "entities") == 2);
  CHECK(cluster.server_sql(0, fmt::format("SHOW DATABASES LIKE '{}\\_new'", cluster.database(0))).empty());
}

TEST_CASE("a cluster id in the file must match") {
  const TestCluster cluster = with_index();
  const std::vector<std::string> shards{shard_object(cluster, 0), shard_object(cluster, 1)};
  const std::string id = lines_of(cluster.looseleaf({"init"}).out).at(0);
  const std::string right = write_cluster(cluster, shards, fmt::format(R"("cluster_id": "{}", )", id));
  check_run(looseleaf_with(right, {"get", id_of(0)}), 0, entity(0) + "\n");
  check_refused(cluster, write_cluster(cluster, shards, fmt::format(R"("cluster_id": "{}", )", id_of(1))),
                {"error: shard belongs to another cluster\n", id_of(1)});
}

TEST_CASE("shards that were never initialised are refused with a hint, and status says so of the cluster, once") {
  const TestCluster cluster = TestCluster::shared(2);
  for (const bool databases : {false, true}) {
    CAPTURE(databases);
    if (databases) {
      cluster.create_databases();
    }
    const std::vector<std::string> err = {
        "error: shard is not initialised\n",
        "hint: run `looseleaf init` first; if the other shards are initialised, check the name of this database\n"};
    check_run(cluster.looseleaf({"get", id_of(0)}), 2, "", err);
    check_run(cluster.looseleaf({"put"}, entity(0)), 2, "", err);
    check_run(cluster.looseleaf({"query", "by_id"}), 2, "", err);
    check_run(cluster.looseleaf({"verify"}), 2, "", err);
    const cli::ProcessResult status = cluster.looseleaf({"status"});
    CHECK(status.status == 2);
    CHECK(status.err == "looseleaf: error: this cluster is not initialised\nhint: run `looseleaf init`\n");
    CHECK(holds_in_order(status.out, {cluster.socket(0), " uninitialised", cluster.socket(1), " uninitialised"}));
  }
}

TEST_CASE("init prints the cluster's id, again and again the same") {
  const TestCluster cluster = TestCluster::shared(3);
  const std::string first = check_status(cluster.looseleaf({"init"}), 0, {"created the tables of 3 shards\n"});
  REQUIRE(first.size() == 33);
  check_run(cluster.looseleaf({"init"}), 0, first, {"the tables already exist on 3 shards\n"});
  check_run(cluster.looseleaf({"init", "--quiet"}), 0, first);
  check_run(cluster.looseleaf({"init", "--output", "json", "--quiet"}), 0,
            "{\"schema_version\":1,\"cluster_id\":\"" + first.substr(0, 32) + "\",\"created\":false}\n");
}

TEST_CASE("init refuses an empty shard beside shards that hold entities unless it is told to accept it") {
  const TestCluster cluster = with_index();
  const std::string id = cluster.looseleaf({"init", "--quiet"}).out;
  cluster.server_sql(cluster.server_of(1), "DROP DATABASE " + cluster.database(1));
  check_run(cluster.looseleaf({"init"}), 2, "",
            {"error: shard is empty, but other shards hold entities\n", "shard: 1\n", "--accept-empty-shard 1"});
  check_run(cluster.looseleaf({"init", "--accept-empty-shard", "0"}), 2, "", {"error: shard is empty", "shard: 1\n"});
  check_run(cluster.looseleaf({"init", "--accept-empty-shard", "2"}), 2, "",
            {"error: there is no such shard\n", "shard: 2\n"});
  check_run(cluster.looseleaf({"init", "--accept-empty-shard", "1"}), 0, id, {"created the tables"});
  check_run(cluster.looseleaf({"get", id_of(0), id_of(1)}), 1, entity(0) + "\n", {"no such entity\n", id_of(1)});
}

TEST_CASE("an empty shard that joins leaves no index ready, even if no entity is left that the index could miss") {
  const TestCluster cluster = initialised();
  const std::string id = cluster.looseleaf({"init", "--quiet"}).out;
  create_index(cluster, by_n_sharded);
  cluster.server_sql(cluster.server_of(1), "DROP DATABASE " + cluster.database(1));
  const std::vector<std::string> told = {"warning: index is building, because a shard lacks it\n", "  index: by_n\n",
                                         "hint: run `looseleaf create-index`"};
  check_run(cluster.looseleaf({"init"}), 0, id, joined({"created the tables of 1 shard\n"}, told));
  put_all(cluster, entity(0) + entity(1, R"("n":2)"));
  CHECK(cluster.looseleaf({"query", "by_n", "n=2", "--ids"}).status != 0);
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "1"}), 0, told);  // the first one may have died
  const std::string file = cluster.directory().write("again.json", by_n_sharded);
  check_status(cluster.looseleaf({"create-index", file, "--backfill", "--quiet"}), 0);
  check_run(cluster.looseleaf({"query", "by_n", "n=2", "--ids"}), 0, id_of(1) + "\n");
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "1"}), 0,
               {"warning: shard is not empty, so nothing was accepted\n", "  shard: 1\n", "hint: check the number\n"});
}

TEST_CASE("several shards that were lost are accepted together") {
  const TestCluster cluster = initialised(3);
  put_all(cluster, entity_lines(3));
  for (const std::uint32_t shard : {1, 2}) {
    cluster.server_sql(cluster.server_of(shard), "DROP DATABASE " + cluster.database(shard));
  }
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "1"}), 2, {"error: shard is empty", "shard: 2\n"});
  check_status(cluster.looseleaf({"init", "--accept-empty-shard", "1", "--accept-empty-shard", "2"}), 0,
               {"created the tables of 2 shards\n"});
}

TEST_CASE("init leaves a foreign table called entities alone") {
  const TestCluster cluster = TestCluster::shared(1);
  cluster.create_databases();
  cluster.sql(0, "CREATE TABLE entities (a INT)");
  for (const char* const contents : {"INSERT INTO entities VALUES (1)", "DELETE FROM entities"}) {
    cluster.sql(0, contents);
    for (const std::vector<std::string>& init :
         {std::vector<std::string>{"init"}, {"init", "--accept-empty-shard", "0"}}) {
      check_run(cluster.looseleaf(init), 2, "", {"error: ", "entities", "hint: choose another database"});
    }
  }
  CHECK(cluster.sql(0, "SHOW TABLES") == "entities\n");
  cluster.sql(0, "RENAME TABLE entities TO Entities");  // another name on both vendors
  check_status(cluster.looseleaf({"init"}), 0, {"created the tables of 1 shard\n"});
}

TEST_CASE("a cluster file that is wrong is refused with its place") {
  const TemporaryDirectory directory;
  for (const BadFile& bad : bad_cluster_files()) {
    CAPTURE(bad.text);
    const std::string file = directory.write("cluster.json", bad.text);
    const cli::ProcessResult result = looseleaf_with(file, {"status"});
    check_run(result, 2, "", printed_of(bad, file));
    CHECK(result.err.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a cluster file that is not there is named, and without one the places are") {
  check_run(looseleaf_with("/nonexistent.json", {"status"}), 2, "",
            {"error: the file cannot be read\n", "file: /nonexistent.json\n",
             "reason: ", "hint: name the cluster file with --cluster or LOOSELEAF_CLUSTER\n"});
  check_run(run({"sh", "-c", "LOOSELEAF_CLUSTER= \"$LOOSELEAF_BIN\" status"}), 2, "",
            {"error: LOOSELEAF_CLUSTER is empty\n", "hint: set it to the path of a cluster file, or unset it"});
  check_run(run({"sh", "-c", "cd / && unset LOOSELEAF_CLUSTER && \"$LOOSELEAF_BIN\" status"}), 2, "",
            {"error: no cluster file\n", "hint: ", "--cluster", "LOOSELEAF_CLUSTER", "./looseleaf.json",
             "/etc/looseleaf/cluster.json"});
}

TEST_CASE("an option file or password file that is not there is named once, with the reason and by whom it is named") {
  const TestCluster cluster = with_index();
  const std::string empty = cluster.directory().write("empty.cnf", "");
  const std::string including = cluster.directory().write("including.cnf", "[client]\n!include /nonexistent.cnf\n");
  const auto with_file = [&](const std::string& file) {
    return cluster.write_file("named.json", fmt::format(R"("defaults_file": "{}")", file));
  };
  const std::string what = "looseleaf: error: an option file cannot be read\n  file: /nonexistent.cnf\n";
  const std::string reason = "  reason: No such file or directory\n";
  for (const std::string command : {"status", "verify"}) {
    CAPTURE(command);
    check_run(looseleaf_with(with_file("/nonexistent.cnf"), {command}), 2, "",
              {what + reason + "hint: correct defaults_file in the cluster file, or the file's permissions\n"});
    const cli::ProcessResult named = looseleaf_with(with_file(empty), {command, "--defaults-file", "/nonexistent.cnf"});
    CHECK(named.err == what + reason + "hint: correct --defaults-file, or the file's permissions\n");
    check_run(looseleaf_with(with_file(including), {command}), 2, "",
              {what + reason + "  included by: " + including +
               ", line 2\nhint: correct the !include, or the file's permissions\n"});
    for (const auto& [file, why] : {std::pair<std::string, std::string>{"/nonexistent", "No such file or directory"},
                                    {cluster.directory().path(), "Is a directory"}}) {
      const cli::ProcessResult result =
          run({"env", "LOOSELEAF_PASSWORD_FILE=" + file, looseleaf_program(), "--cluster", with_file(empty), command});
      CHECK(result.status == 2);
      CHECK(result.err == "looseleaf: error: the password file cannot be read\n  file: " + file + "\n  reason: " + why +
                              "\nhint: correct LOOSELEAF_PASSWORD_FILE, or the file's permissions\n");
    }
  }
}

TEST_CASE("the cluster file is found by the variable and in the working directory") {
  const TestCluster cluster = with_index();
  const char* by_variable = R"(cd / && LOOSELEAF_CLUSTER="$0" "$LOOSELEAF_BIN" get "$1")";
  check_run(run({"sh", "-c", by_variable, cluster.file(), id_of(1)}), 0, entity(1) + "\n");
  const char* by_place = R"(unset LOOSELEAF_CLUSTER; cd "$0" && "$LOOSELEAF_BIN" get "$1")";
  check_run(run({"sh", "-c", by_place, cluster.directory().path(), id_of(1)}), 0, entity(1) + "\n");
  const char* beaten = R"(LOOSELEAF_CLUSTER=/nonexistent "$LOOSELEAF_BIN" --cluster "$0" get "$1")";
  check_run(run({"sh", "-c", beaten, cluster.file(), id_of(1)}), 0, entity(1) + "\n");
}

TEST_CASE("the timeout comes from the option, else from the variable, else from the cluster file") {
  const TemporaryDirectory directory;
  const std::string file = directory.write("c.json", R"({"shards": [{"socket": "none.sock"}], "timeout": 0.125})");
  const auto check = [&](const std::string& variable, const std::string& option, const std::string& seconds) {
    CAPTURE(seconds);
    const std::string get = R"("$LOOSELEAF_BIN" --cluster "$0" get "$1" )" + option;
    check_run(run({"sh", "-c", variable + get, file, id_of(1)}), 3, "",
              {"cannot connect", fmt::format("retried until --timeout ({} s) expired", seconds)});
  };
  check("", "", "0.125");
  check("LOOSELEAF_TIMEOUT=0.25 ", "", "0.25");
  check("LOOSELEAF_TIMEOUT=0.25 ", "--timeout 0.5", "0.5");
  check("LOOSELEAF_TIMEOUT= ", "", "0.125");
  check_run(run({"env", "LOOSELEAF_TIMEOUT=soon", looseleaf_program(), "--cluster", file, "get", id_of(1)}), 2, "",
            {"error: not a number of seconds\n", "  variable: LOOSELEAF_TIMEOUT\n", "  value: soon\n",
             "hint: give a number from 0.001 to 31622400, or unset the variable\n"});
  const std::string never = directory.write("n.json", R"({"shards": ["a"], "timeout": 0})");
  check_run(looseleaf_with(never, {"status"}), 2, "",
            {"error: timeout is out of range\n", "hint: use a number of seconds from 0.001 to 31622400\n"});
}

}  // namespace
}  // namespace looseleaf::test
