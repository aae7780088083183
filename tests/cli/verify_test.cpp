// looseleaf verify: its reports, definitions in a folder, and what it says when it cannot check everything.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/files/replace_file.hpp"
#include "tests/support/bad_files.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

namespace fs = std::filesystem;

const std::string by_owner =
    R"({"table": "by_owner", "properties": [{"name": "owner", "type": "string", "max_length": 20}], "immutable": true})";

constexpr std::uint64_t entities = 50;  // 25 on each shard

TestCluster with_entities() {
  TestCluster cluster = initialised(2);
  create_index(cluster, by_n);
  create_index(cluster, by_owner);
  put_all(cluster, entity_lines(entities, R"("n":{0},"owner":"o{0}")"));
  return cluster;
}

std::string row(const std::string& value, std::uint64_t number) {
  return fmt::format("({}, UNHEX('{}'))", value, id_of(number));
}

TEST_CASE("a second row of an entity in an immutable index is a duplicate, and repaired") {
  const TestCluster cluster = with_entities();
  cluster.sql(1, "INSERT INTO by_owner VALUES " + row("'other'", 4));
  const cli::ProcessResult found = cluster.looseleaf({"verify", "--grace", "0"});
  check_status(found, 1, {" rechecked, 0 were being written\n", "50 entities verified: 1 finding\n"});
  CHECK(lines_of(found.out).at(0) == "duplicate by_owner shard 1 entity " + id_of(4) + " [\"other\"]");
  CHECK(holds_in_order(found.out, {"misplaced", "duplicate\n",
                                   "by_owner      1    26        0      0       0          0          1\n"}));
  check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 0, {"consistent, 1 entity repaired\n"});
  CHECK(rows_of(cluster, "by_owner") == entities);
}

TEST_CASE("an index that was dropped and created again while it was verified is not called consistent") {
  const TestCluster cluster = with_entities();
  const std::string pause = cluster.directory().write("pause", "");
  cli::Process verify = cluster.start({"verify", "--pause-file", pause, "--grace", "0"});
  wait_until("it is paused", [&] { return contains(verify.err(), "paused"); });
  check_status(cluster.looseleaf({"drop-index", "by_n", "--yes"}), 0, {"dropped by_n\n"});
  create_index(cluster, by_n);  // building, and without rows
  fs::remove(pause);
  check_status(verify.wait(), 3, {"error: an index was dropped while it was verified\n", "  index: by_n\n"});
}

TEST_CASE("after a repair the rows are counted as the repair has left them") {
  const TestCluster cluster = with_entities();
  cluster.sql(0, "DELETE FROM by_n WHERE n = 4");
  cluster.sql(1, "INSERT INTO by_n VALUES " + row("77", 1) + ", " + row("78", 3));
  const auto counts = [&](const std::vector<std::string>& options) {
    return lines_of(cluster.looseleaf(joined({"verify", "by_n", "--grace", "0", "--output", "json"}, options)).out)
        .back();
  };
  CHECK(holds_in_order(counts({}),
                       {R"("shard":0,"rows":24,"missing":1)", R"("shard":1,"rows":27,"missing":0,"stale":2)"}));
  CHECK(holds_in_order(counts({"--repair"}),
                       {R"("shard":0,"rows":25,"missing":0)", R"("shard":1,"rows":25,"missing":0,"stale":0)"}));
}

TEST_CASE("twenty samples of a kind are shown for each index and shard, with --all and as JSON every finding") {
  const TestCluster cluster = with_entities();
  cluster.everywhere("DELETE FROM by_n");
  const std::string samples = check_status(cluster.looseleaf({"verify", "--grace", "0"}), 1, {"50 findings\n"});
  CHECK(times("missing by_n shard 0 entity", samples) == 20);
  CHECK(times("missing by_n shard 1 entity", samples) == 20);
  CHECK(times("... 5 more missing by_n shard 1\n", samples) == 1);
  const cli::ProcessResult all = cluster.looseleaf({"verify", "--grace", "0", "--all"});
  CHECK(times("missing by_n shard", all.out) == 50);
  CHECK(times("more missing", all.out) == 0);
  const cli::ProcessResult json = cluster.looseleaf({"verify", "--grace", "0", "--output", "json", "--quiet"});
  check_status(json, 1);
  CHECK(times("\"kind\":\"missing\"", json.out) == 50);
  CHECK(lines_of(json.out).size() == 51);
  CHECK(holds_in_order(lines_of(json.out).front(),
                       {R"({"kind":"missing","index":"by_n","shard":)", R"("entity_id":"018f2c4e)", R"("values":[)"}));
  CHECK(holds_in_order(lines_of(json.out).back(),
                       {"\"consistent\":false", "\"findings\":50", "\"looked_again\":50", "\"in_flight\":0"}));
}

TEST_CASE("verify says that it waits for the grace period, if it does") {
  const TestCluster cluster = with_entities();
  // The number between them is what is left of the time.
  const std::vector<std::string> waiting = {"looseleaf: waiting ", " s for changes in flight to settle (--grace)\n"};
  CHECK_FALSE(contains(cluster.looseleaf({"verify", "--grace", "1"}).err, "waiting"));
  cluster.sql(0, "DELETE FROM by_n WHERE n = 4");  // a missing row is a finding at once
  CHECK_FALSE(contains(cluster.looseleaf({"verify", "--grace", "1"}).err, "waiting"));
  cluster.sql(1, "INSERT INTO by_n VALUES " + row("77", 1));
  check_status(cluster.looseleaf({"verify", "--grace", "4"}), 1, joined(waiting, {"2 findings\n"}));
  CHECK_FALSE(contains(cluster.looseleaf({"verify", "--grace", "1", "--quiet"}).err, "waiting"));
  CHECK_FALSE(contains(cluster.looseleaf({"verify", "--grace", "0"}).err, "waiting"));
  cli::Process stopped = cluster.start({"verify", "--grace", "60"});
  wait_until("it waits", [&] { return holds_in_order(stopped.err(), waiting); });
  const std::string told = stopped.err();
  CHECK_MESSAGE((contains(told, "waiting 60 s ") || contains(told, "waiting 5")), told);
  check_status(end_by(SIGINT, stopped), 130,
               {"looseleaf: interrupted; nothing is proved; run the same command to begin again\n"});
}

TEST_CASE("verify's table has a dash for what was not checked and every kind that was found, and says what to do") {
  const TestCluster cluster = with_entities();
  create_index(cluster, R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})");  // stays building
  cluster.sql(0, fmt::format("DELETE FROM by_n WHERE n = 4; INSERT INTO by_n VALUES {}; "
                             "UPDATE entities SET body = 'x' WHERE id = UNHEX('{}')",
                             row("7", 1002), id_of(6)));
  cluster.sql(1, "ALTER TABLE by_owner ADD extra INT");
  const cli::ProcessResult found = cluster.looseleaf({"verify", "--grace", "0"});
  check_status(found, 1,
               {"warning: index is still building and was not verified\n", "50 entities verified: 4 findings\n",
                "looseleaf: missing: run `looseleaf verify --repair`; find out which program wrote",
                "looseleaf: orphan: run `looseleaf verify --repair`\n",
                "looseleaf: unreadable: the body was damaged, or another program wrote it: delete the entity",
                "looseleaf: table_differs: restore the table, or drop and create the index"});
  CHECK(contains(found.out, "unreadable shard 0 entity " + id_of(6)));
  CHECK(holds_in_order(found.out,
                       {"index     shard  rows  missing  stale  orphan  misplaced  unreadable  table_differs\n",
                        "entities      0     -        -      -       -          -           1              -\n",
                        "by_m          0     -        -      -       -          -           -              -\n",
                        "by_m          1     -        -      -       -          -           -              -\n",
                        "by_n          0    25        1      0       1          0           -              0\n",
                        "by_owner      0     -        -      -       -          -           -              -\n",
                        "by_owner      1     -        -      -       -          -           -              1\n"}));
  const cli::ProcessResult json = cluster.looseleaf({"verify", "--grace", "0", "--output", "json"});
  CHECK(holds_in_order(lines_of(json.out).back(), {R"({"index":"by_m","shard":1,"rows":0,)", R"("verified":false},)",
                                                   R"({"index":"by_n","shard":0,"rows":25,)", R"("verified":true},)",
                                                   R"({"index":"by_owner","shard":0,)", R"("verified":false},)"}));
  CHECK_FALSE(contains(cluster.looseleaf({"verify", "--quiet", "--grace", "0"}).err, "looseleaf: missing"));
}

TEST_CASE("verify --repair and clean --full repair the other indexes although a table was dropped by hand") {
  const TestCluster cluster = with_entities();
  cluster.sql(0, "DROP TABLE by_owner");
  cluster.sql(0, "DELETE FROM by_n WHERE n = 4; INSERT INTO by_n VALUES " + row("7", 1002));
  const cli::ProcessResult found = cluster.looseleaf({"verify", "--grace", "0"});
  check_status(found, 1, {"50 entities verified: 3 findings\n"});
  CHECK(holds_in_order(found.out, {"table_differs by_owner shard 0 the table does not exist\n", "missing by_n shard 0",
                                   "orphan by_n shard 0"}));
  check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 1, {"1 finding, 2 entities repaired\n"});
  cluster.sql(0, "DELETE FROM by_n WHERE n = 4");  // without the orphan, for which a sweep waits ten seconds
  check_status(cluster.looseleaf({"clean", "--full"}), 0,
               {"warning: a table is not as it should be, so not everything was swept\n", "table: by_owner\n",
                "hint: run `looseleaf verify`", "deleted 0 index rows, inserted 1"});
}

TEST_CASE("verify does not call a store consistent whose only indexes are building, and names the indexes left out") {
  const TestCluster cluster = initialised(2);
  put_all(cluster, entity_lines(10, R"("n":{0},"owner":"o{0}")"));
  create_index(cluster, by_n);
  create_index(cluster, by_owner);
  const cli::ProcessResult none = cluster.looseleaf({"verify"});
  check_status(none, 0, {"10 entities verified, but no index, because none is ready: by_n, by_owner\n"});
  CHECK_FALSE(contains(none.err, "consistent"));
  REQUIRE(cluster.looseleaf({"backfill", "by_n"}).status == 0);
  check_status(cluster.looseleaf({"verify"}), 0,
               {"10 entities verified: consistent; not checked, because not ready: by_owner\n"});
}

TEST_CASE("--repair lists what it repaired, at most twenty of a kind without --all, and as JSON each as an event") {
  TestCluster cluster = with_entities();
  const auto damage = [&] {
    cluster.sql(0, "DELETE FROM by_n");
    cluster.sql(1, "INSERT INTO by_n VALUES " + row("77", 1));
  };
  damage();
  const cli::ProcessResult samples = cluster.looseleaf({"verify", "--grace", "0", "--repair"});
  check_status(samples, 0, {"consistent, 26 entities repaired\n"});
  CHECK(times("repaired missing by_n shard 0 entity", samples.out) == 20);
  CHECK(contains(samples.out, "repaired stale by_n shard 1 entity " + id_of(1) + " [77]\n"));
  CHECK(contains(samples.out, "... 5 more repaired missing by_n shard 0\n"));
  damage();
  const cli::ProcessResult all = cluster.looseleaf({"verify", "--grace", "0", "--repair", "--all"});
  CHECK(times("repaired missing by_n shard 0 entity", all.out) == 25);
  damage();
  const cli::ProcessResult json = cluster.looseleaf({"verify", "--grace", "0", "--repair", "--output", "json"});
  CHECK(times("{\"event\":\"repaired\",\"finding\":{\"kind\":\"missing\",\"index\":\"by_n\"", json.out) == 25);
  CHECK(times("\n{\"kind\"", "\n" + json.out) == 0);  // scripts take such a line for a finding
}

TEST_CASE("a table that is not as declared is a finding that says how") {
  struct Case {
    std::string alter, difference, restore;
  };
  const std::string other = looseleaf_flavour() == "mysql" ? "utf8mb4_bin" : "utf8mb4_general_ci";
  const std::string own = looseleaf_flavour() == "mysql" ? "utf8mb4_0900_bin" : "utf8mb4_nopad_bin";
  const std::string owner = "ALTER TABLE by_owner MODIFY owner VARCHAR({}) CHARACTER SET utf8mb4 COLLATE {} {}";
  const std::string healthy = fmt::format(fmt::runtime(owner), 20, own, "NOT NULL");
  const std::vector<Case> cases = {
      {"ALTER TABLE by_n MODIFY n INT NOT NULL", "by_n shard 1 column 1 is n int",
       "ALTER TABLE by_n MODIFY n BIGINT NOT NULL"},
      {fmt::format(fmt::runtime(owner), 30, own, "NOT NULL"), "by_owner shard 1 column 1 is owner varchar(30)",
       healthy},
      {fmt::format(fmt::runtime(owner), 20, other, "NOT NULL"),
       "by_owner shard 1 column owner has collation " + other + " instead of " + own, healthy},
      {"ALTER TABLE by_n ADD extra INT", "by_n shard 1 it has 3 columns instead of 2", "ALTER TABLE by_n DROP extra"},
      {"ALTER TABLE by_n DROP KEY entity_id", "by_n shard 1 it lacks KEY (entity_id)",
       "ALTER TABLE by_n ADD KEY entity_id (entity_id)"},
      {"ALTER TABLE by_owner DROP KEY entity_id, ADD KEY entity_id (entity_id)",
       "by_owner shard 1 it lacks UNIQUE (entity_id)",
       "ALTER TABLE by_owner DROP KEY entity_id, ADD UNIQUE KEY entity_id (entity_id)"},
      {"ALTER TABLE by_n ADD UNIQUE KEY surprise (n)", "by_n shard 1 it has another unique key, surprise",
       "ALTER TABLE by_n DROP KEY surprise"},
      {"ALTER TABLE by_n DROP PRIMARY KEY, ADD PRIMARY KEY (entity_id, n)",
       "by_n shard 1 its primary key is not (n, entity_id)",
       "ALTER TABLE by_n DROP PRIMARY KEY, ADD PRIMARY KEY (n, entity_id)"},
      {"ALTER TABLE by_n ENGINE=MyISAM", "by_n shard 1 its engine is MyISAM instead of InnoDB",
       "ALTER TABLE by_n ENGINE=InnoDB"},
      {"RENAME TABLE by_n TO away", "by_n shard 1 the table does not exist", "RENAME TABLE away TO by_n"},
  };
  const TestCluster cluster = with_entities();
  for (const Case& test : cases) {
    CAPTURE(test.alter);
    cluster.sql(1, test.alter);
    const std::string found = check_status(cluster.looseleaf({"verify", "--grace", "0"}), 1, {"1 finding\n"});
    CHECK_MESSAGE(times("table_differs " + test.difference, found) == 1, found);
    cluster.sql(1, test.restore);
  }
  check_status(cluster.looseleaf({"verify"}), 0, {"consistent\n"});
}

TEST_CASE("a table whose name differs in capital letters is not that of the index") {
  const TestCluster cluster = with_entities();
  const std::string definition = R"({"table": "By_M", "properties": [{"name": "m", "type": "int"}]})";
  check_status(cluster.looseleaf({"create-index", cluster.directory().write("m.json", definition), "--backfill"}), 0,
               {"By_M: ready"});
  cluster.sql(1, "RENAME TABLE By_M TO by_m");
  const std::string found = check_status(cluster.looseleaf({"verify", "--grace", "0"}), 1, {"1 finding\n"});
  CHECK(contains(found, "table_differs By_M shard 1 the table does not exist\n"));
}

TEST_CASE("a JUnit report has a case for each index and shard and for the entities of each shard") {
  const TestCluster cluster = with_entities();
  const std::string file = cluster.directory().path() + "/verify.xml";
  check_status(cluster.looseleaf({"verify", "--report", "junit=" + file}), 0, {"consistent\n"});
  const std::string healthy = read_text(file);
  CHECK(holds_in_order(
      healthy, {"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"looseleaf verify\" "
                "tests=\"6\" failures=\"0\" errors=\"0\"",
                "<testcase classname=\"entities\" name=\"shard 0\"/>", "classname=\"entities\" name=\"shard 1\"/>",
                "classname=\"by_n\" name=\"shard 0\"/>", "classname=\"by_n\" name=\"shard 1\"/>",
                "classname=\"by_owner\" name=\"shard 1\"/>", "</testsuite>\n</testsuites>\n"}));
  cluster.sql(0, "DELETE FROM by_n WHERE n = 2; INSERT INTO by_owner VALUES " + row("'<&>'", 1001));
  cluster.sql(1, fmt::format("UPDATE entities SET body = 'x' WHERE id = UNHEX('{}')", id_of(3)));
  check_status(cluster.looseleaf({"verify", "--grace", "0", "--report", "junit=" + file}), 1, {"3 findings\n"});
  CHECK(holds_in_order(
      read_text(file),
      {"tests=\"6\" failures=\"3\" errors=\"0\"",
       "classname=\"entities\" name=\"shard 1\">\n<failure message=\"1 unreadable\">",
       "unreadable shard 1 entity " + id_of(3), "</failure>\n</testcase>\n",
       "classname=\"by_n\" name=\"shard 0\">\n<failure message=\"1 missing\">missing by_n shard 0 entity " + id_of(2),
       "classname=\"by_owner\" name=\"shard 0\">\n<failure message=\"1 orphan\">",
       "[&quot;&lt;&amp;&gt;&quot;]\n</failure>"}));
  for (const fs::directory_entry& entry : fs::directory_iterator(cluster.directory().path())) {
    CHECK(entry.path().extension() != ".new");  // nothing unfinished is left
  }
}

TEST_CASE("a report goes into a pipe or behind a link, and nothing takes their place; the umask holds for a new file") {
  const TestCluster cluster = with_entities();
  const std::string piped =
      check_status(run({"sh", "-c", R"("$0" --cluster "$1" verify --report junit=/proc/self/fd/1 | cat)",
                        looseleaf_program(), cluster.file()}),
                   0, {"consistent\n"});
  CHECK(contains(piped, "</testsuites>\n"));
  const std::string file = cluster.directory().path() + "/verify.xml", link = cluster.directory().path() + "/link.xml";
  fs::create_symlink("verify.xml", link);  // which is not there yet
  check_status(run({"sh", "-c", R"(umask 077; "$0" --cluster "$1" verify --quiet --report "junit=$3")",
                    looseleaf_program(), cluster.file(), file, link}),
               0);
  CHECK(fs::is_symlink(link));
  CHECK(contains(read_text(file), "<testsuites>"));
  CHECK((fs::status(file).permissions() & fs::perms{0077}) == fs::perms::none);
}

TEST_CASE(
    "a verification that cannot be finished is status 3, says what was not verified, and reports it as an error") {
  const TestCluster cluster = with_entities();
  const std::string file = cluster.directory().path() + "/verify.xml";
  cluster.sql(1, "RENAME TABLE entities TO away");
  const cli::ProcessResult result = cluster.looseleaf({"verify", "--report", "junit=" + file, "--timeout", "2"});
  check_run(result, 3, "",
            {"error: a table does not exist\n", "shard: 1\n", "not_verified: by_n, by_owner\n",
             "restore another table from a backup"});
  CHECK(times("consistent", result.err) == 0);
  CHECK(holds_in_order(read_text(file), {"tests=\"1\" failures=\"0\" errors=\"1\"",
                                         "<testcase classname=\"verify\" name=\"run\">\n<error message=\"",
                                         "not_verified: by_n, by_owner", "</error>"}));
}

TEST_CASE("a verification that cannot even begin leaves no report of an earlier run") {
  const TestCluster cluster = with_entities();
  const std::string file = cluster.directory().path() + "/verify.xml";
  const TemporaryDirectory broken;
  static_cast<void>(broken.write("a.json", "{"));
  for (const auto& options : {std::vector<std::string>{"--definitions", broken.path()},
                              {"--cluster", "/nowhere"},
                              {"--against", "/nowhere"}}) {
    check_status(cluster.looseleaf({"verify", "--quiet", "--report", "junit=" + file}), 0);
    REQUIRE(contains(read_text(file), "errors=\"0\""));
    CHECK(cluster.looseleaf(joined({"verify", "--report", "junit=" + file}, options)).status != 0);
    CHECK(holds_in_order(read_text(file), {"tests=\"1\" failures=\"0\" errors=\"1\"", "<error message=\""}));
  }
}

TEST_CASE("a report that cannot be written, or is of no known kind, is an error, and another file beside it stays") {
  const TestCluster cluster = with_entities();
  const std::string mine = cluster.directory().write("verify.xml.new", "mine");
  check_status(
      cluster.looseleaf({"verify", "--report", "junit=" + cluster.directory().path() + "/verify.xml", "--quiet"}), 0);
  CHECK(read_text(mine) == "mine");
  for (const std::string& file : {std::string("/nowhere/at/all.xml"), cluster.directory().path()}) {
    CAPTURE(file);  // said before the work, not after it
    check_run(cluster.looseleaf({"verify", "--report", "junit=" + file}), 3, "",
              {"error: a file cannot be written\n", "file: " + file + "\n", "reason: "});
    CHECK(!fs::exists(cli::unfinished_of(file)));
  }
  for (const std::string value : {"junit", "junit=", "html=x", "x"}) {
    CAPTURE(value);
    check_run(cluster.looseleaf({"verify", "--report", value}), 2, "",
              {"error: unknown kind of report\n", "value: " + value + "\n", "hint: write junit=FILE\n"});
  }
}

void write_all(const TemporaryDirectory& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, text] : files) {
    folder.write(name, text);
  }
}

TEST_CASE("definitions in a folder are compared with what is in force") {
  const TestCluster cluster = with_entities();
  const TemporaryDirectory agree, differ;
  write_all(agree, {{"a.json", by_n}, {"b.json", by_owner}, {"index.schema.json", "{}"}, {"notes.txt", "?"}});
  check_status(cluster.looseleaf({"verify", "--definitions", agree.path()}), 0, {"consistent\n"});
  write_all(differ, {{"n.json", R"({"table": "by_n", "properties": [{"name": "n", "type": "double"}]})"},
                     {"m.json", R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})"}});
  const cli::ProcessResult found = cluster.looseleaf({"verify", "--definitions", differ.path()});
  check_status(found, 1, {"3 findings\n"});
  for (const std::string& line :
       {"definition_differs by_n shard 0 /properties/0/type: active \"int\", given \"double\" (" + differ.path() +
            "/n.json)\n",
        "definition_differs by_m shard 0 it is declared, but does not exist (" + differ.path() + "/m.json)\n",
        std::string("definition_differs by_owner shard 0 it is active, but no definition declares it\n")}) {
    CAPTURE(line);
    CHECK(times(line, found.out) == 1);
  }
  const cli::ProcessResult json = cluster.looseleaf({"verify", "--definitions", differ.path(), "--output", "json"});
  CHECK(holds_in_order(json.out, {"\"kind\":\"definition_differs\",\"index\":\"by_n\"", "\"entity_id\":null",
                                  "\"file\":\"" + differ.path()}));
  check_status(cluster.looseleaf({"verify", "by_n", "--definitions", differ.path()}), 1, {"1 finding\n"});
  check_status(cluster.looseleaf({"verify", "by_owner", "--definitions", agree.path()}), 0, {"consistent\n"});
}

TEST_CASE("--definitions-only checks definitions and tables, and reads no entity") {
  const TestCluster cluster = with_entities();
  cluster.sql(0, "DELETE FROM by_n; UPDATE entities SET body = 'x'");  // which a full verification would find
  const TemporaryDirectory declared;
  write_all(declared, {{"a.json", by_n}, {"b.json", by_owner}});
  const std::string junit = cluster.directory().path() + "/definitions.xml";
  const auto verify = [&](const std::vector<std::string>& options) {
    return cluster.looseleaf(joined({"verify", "--definitions", declared.path(), "--definitions-only"}, options));
  };
  check_run(verify({"--report", "junit=" + junit}), 0, "", {"looseleaf: definitions verified: consistent\n"});
  CHECK(holds_in_order(read_text(junit), {"tests=\"4\"", "classname=\"by_n\" name=\"shard 0\"/>",
                                          "classname=\"by_owner\" name=\"shard 1\"/>"}));
  create_index(cluster, with_table("by_m"));
  check_run(verify({}), 1, "definition_differs by_m shard 0 it is active, but no definition declares it\n",
            {"warning: index is still building\n", "index: by_m\n", "definitions verified: 1 finding\n"});
  cluster.sql(1, "ALTER TABLE by_n ADD extra INT");
  check_run(verify({"by_n"}), 1, "table_differs by_n shard 1 it has 3 columns instead of 2\n", {"1 finding\n"});
  check_run(cluster.looseleaf({"verify", "--definitions-only"}), 2, "", {"--definitions-only needs --definitions\n"});
  check_run(verify({"--repair"}), 2, "", {"--definitions-only and --repair cannot be combined\n", "hint: "});
}

TEST_CASE("a folder of definitions that cannot be what was meant is refused") {
  const TestCluster cluster = with_entities();
  const TemporaryDirectory empty, twice, broken;
  write_all(empty, {{"index.schema.json", "{}"}});
  write_all(twice, {{"a.json", by_n}, {"b.json", by_n}});
  write_all(broken, {{"a.json", "{\"table\": 1}"}});
  check_run(
      cluster.looseleaf({"verify", "--definitions", "/nowhere"}), 2, "",
      {"error: cannot read the folder of definitions\n", "folder: /nowhere\n", "reason: ", "hint: name a folder"});
  check_run(cluster.looseleaf({"verify", "--definitions", empty.path()}), 2, "",
            {"error: the folder contains no definitions\n", "folder: " + empty.path(), "hint: "});
  check_run(cluster.looseleaf({"verify", "--definitions", twice.path()}), 2, "",
            {"error: two files declare the same index\n", "index: by_n\n", "/a.json\n", "/b.json\n"});
  check_run(cluster.looseleaf({"verify", "--definitions", broken.path()}), 2, "",
            {"error: ", "file: " + broken.path() + "/a.json"});
}

}  // namespace
}  // namespace looseleaf::test
