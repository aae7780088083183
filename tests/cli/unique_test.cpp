// Unique indexes as users see them: their tables, what is said of values that are taken, and duplicates that backfill
// and verify find.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* by_m = R"({"table": "by_m", "properties": [{"name": "m", "type": "int"}]})";

// The entities 0, 1 and 2, with n = number.
TestCluster with_values(TestCluster cluster = initialised()) {
  create_index(cluster, by_n_unique);
  put_all(cluster, entity_lines(3, R"("n":{})"));
  return cluster;
}

std::vector<std::string> taken(std::uint64_t number, std::uint64_t holder, int value) {
  return {"error: another entity has the same values in a unique index\n",
          "  id: " + id_of(number) + "\n",
          "  index: by_n\n",
          fmt::format("  values: [{}]\n", value),
          "  holder: " + id_of(holder) + "\n",
          "hint: give this entity other values, or change or delete the one that has them"};
}

std::string row(std::int64_t n, std::uint64_t number) {
  return fmt::format("INSERT INTO by_n VALUES ({}, x'{}')", n, id_of(number));
}

TEST_CASE("the values alone are the primary key of a unique index, and another key is reported") {
  const TestCluster cluster = initialised();
  const std::string file = cluster.directory().write(
      "two.json", R"({"table": "two", "properties": [{"name": "a", "type": "int"}, {"name": "b", "type": "bool"}],
                      "shard_on": "a", "unique": true, "immutable": true})");
  const std::string dry = check_status(cluster.looseleaf({"create-index", "--dry-run", file}), 0);
  CHECK(holds_in_order(dry, {"  a BIGINT NOT NULL,\n", "  entity_id BINARY(16) NOT NULL UNIQUE,\n",
                             "  PRIMARY KEY (a, b)\n) ENGINE=InnoDB"}));
  create_index(cluster, by_n_unique);
  CHECK(holds_in_order(cluster.sql(0, "SHOW CREATE TABLE by_n"),
                       {"PRIMARY KEY (`n`),", "KEY `entity_id` (`entity_id`)"}));
  cluster.sql(1, "ALTER TABLE by_n DROP PRIMARY KEY, ADD PRIMARY KEY (n, entity_id)");
  check_status(cluster.looseleaf({"verify"}), 1, {"1 finding\n", "table_differs: "});
  CHECK(contains(cluster.looseleaf({"verify"}).out, "by_n shard 1 its primary key is not (n)"));
  check_status(cluster.looseleaf({"create-index", cluster.directory().write("plain.json", by_n_sharded)}), 2,
               {"/unique: active true, given nothing"});
}

TEST_CASE("a value that is taken is reported with its holder, and the entity is among the rejects") {
  const TestCluster cluster = with_values();
  const std::string rejects = cluster.directory().write("rejects", "");
  const std::string taking = entity(4, R"("n":1)");
  std::vector<std::string> expected = taken(4, 1, 1);
  expected.insert(expected.begin() + 1, "  line: 2\n");
  expected.emplace_back("stored 1 entity, rejected 1");
  check_run(cluster.looseleaf({"put", "--rejects", rejects}, entity(6, R"("n":6)") + "\n" + taking + "\n"), 1,
            id_of(6) + "\n", expected);
  CHECK(read_text(rejects) == taking + "\n");
  const cli::ProcessResult json = cluster.looseleaf({"put", "--output", "json"}, taking);
  CHECK(json.status == 1);
  CHECK(holds_in_order(json.out, {R"("status":"rejected")", R"("holder":")" + id_of(1)}));
  check_status(cluster.looseleaf({"put", "--if-absent"}, taking), 1, taken(4, 1, 1));
  check_status(cluster.looseleaf({"put", "--merge"}, entity(2, R"("n":1)")), 1, taken(2, 1, 1));
  check_status(cluster.looseleaf({"update", id_of(2), "--", "sh", "-c", "sed s/2}/1}/"}), 1, taken(2, 1, 1));
  check_run(cluster.looseleaf({"get", id_of(2)}), 0, entity(2, R"("n":2)") + "\n");
  check_run(cluster.looseleaf({"get", id_of(4)}), 1, "", {"no such entity"});
  check_status(cluster.looseleaf({"delete", id_of(1)}), 0);
  check_run(cluster.looseleaf({"put", rejects}), 0, id_of(4) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

// Nothing was inserted, so there is nothing to take back, which costs a look at every shard.
TEST_CASE("an entity whose only value is taken is rejected without a reconcile" * needs_failpoints) {
  const TestCluster cluster = with_values();
  const auto reconciles = [&](const std::string& input) {
    const auto [result, steps] = run_traced(cluster, {"put"}, input);
    check_status(result, 1, {"rejected 1"});
    return times("put.reconcile:before", steps);
  };
  CHECK(reconciles(entity(4, R"("n":1)")) == 0);
  create_index(cluster, by_m);
  CHECK(reconciles(entity(4, R"("n":1,"m":4)")) == 1);  // its row in by_m was inserted
  CHECK(cluster.everywhere("SELECT m FROM by_m").empty());
}

TEST_CASE("a value that is too long is rejected by put, and explained") {
  const TestCluster cluster = initialised();
  const std::string old = entity(0, R"("s":"abcd")");
  put_all(cluster, old);
  const std::string file = cluster.directory().write(
      "by_s.json", R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 3}],
                       "shard_on": "s", "unique": true})");
  const std::vector<std::string> fits = {"`s` is longer than `max_length` of a unique index",
                                         "use a larger `max_length`"};
  check_status(cluster.looseleaf({"create-index", "--dry-run", file}), 0, fits);
  check_status(cluster.looseleaf({"create-index", "--backfill", file}), 0, fits);
  check_run(cluster.looseleaf({"explain", id_of(0)}), 0,
            id_of(0) + "\n  by_s: no row: `s` is longer than `max_length` of a unique index\n");
  check_run(cluster.looseleaf({"put"}, old), 1, "",
            {"error: a value is too long for a unique index\n", "  index: by_s\n", "  property: s\n",
             "  max_length: 3 characters\n", "  id: " + id_of(0) + "\n",
             "hint: shorten it, or drop the index and create it with a larger `max_length`\n"});
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("a buffered entity whose value is taken when it is flushed is refused, and can be stored later") {
  const TestCluster cluster = with_values(initialised_alone(3));
  cluster.sandbox().kill_server(2);
  const std::string lines = entity(5, R"("n":1)") + "\n" + entity(8, R"("n":7)") + "\n";
  CHECK(times(R"("status":"buffered")", cluster.looseleaf({"put", "--buffer", "--output", "json"}, lines).out) == 2);
  cluster.sandbox().start_server(2);
  check_status(cluster.looseleaf({"flush"}), 1, {"stored 1 buffered write, refused 1"});
  check_run(cluster.looseleaf({"get", id_of(5)}), 1, "", {"no such entity"});
  const cli::ProcessResult refused = cluster.looseleaf({"refused", "list"});
  CHECK(holds_in_order(refused.out, {id_of(5)}));
  CHECK(contains(refused.out + refused.err,
                 "another entity has the same values in a unique index, index by_n, values [1], holder " + id_of(1)));
  check_status(cluster.looseleaf({"delete", id_of(1)}), 0);
  check_status(cluster.looseleaf({"refused", "retry", id_of(5)}), 0, {"stored 1 buffered write\n"});
  check_run(cluster.looseleaf({"query", "by_n", "n=1", "--ids"}), 0, id_of(5) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("a buffered entity whose value is too long for a unique index is refused when it is flushed") {
  const TestCluster cluster = initialised_alone(3);
  create_index(cluster, R"({"table": "by_s", "properties": [{"name": "s", "type": "string", "max_length": 3}],
                            "shard_on": "s", "unique": true})");
  cluster.sandbox().kill_server(2);
  check_status(cluster.looseleaf({"put", "--buffer"}, entity(2, R"("s":"abcd")")), 0, {"new entities are buffered"});
  cluster.sandbox().start_server(2);
  check_status(cluster.looseleaf({"flush"}), 1, {"stored 0 buffered writes, refused 1"});
  const cli::ProcessResult refused = cluster.looseleaf({"refused", "list"});
  CHECK(contains(refused.out + refused.err, "a value is too long for a unique index"));
}

// The entities 0 to 5 from before the index: n = 0, 0, 1, 1, 2, 2.
TestCluster with_duplicates() {
  TestCluster cluster = initialised();
  put_all(cluster,
          entity_lines(6, [](std::uint64_t number) { return fmt::format(R"("n":{},"m":{})", number / 2, number); }));
  const std::string file = cluster.directory().write("by_n.json", by_n_unique);
  check_status(cluster.looseleaf({"create-index", file}), 0, {"created by_n: building"});
  return cluster;
}

TEST_CASE("backfill lists entities with the same values, and the unique index stays building until there are none") {
  const TestCluster cluster = with_duplicates();
  check_status(cluster.looseleaf({"create-index", cluster.directory().write("by_m.json", by_m)}), 0, {"created by_m"});
  const std::string again =
      R"({"table": "again", "properties": [{"name": "n", "type": "int"}], "shard_on": "n", "unique": true})";
  const cli::ProcessResult planned =
      cluster.looseleaf({"create-index", "--dry-run", cluster.directory().write("again.json", again)});
  check_status(planned, 0,
               {"warning: two entities have the same value, and the index would be unique\n", "  index: again\n",
                "  value: [", "  entities: ", "hint: the backfill would not make the index ready"});
  CHECK(times("warning: ", planned.err) == 1);
  const cli::ProcessResult found = cluster.looseleaf({"backfill"});
  check_status(
      found, 1,
      {"warning: entities have the same values in a unique index, which stays building unless they change\n",
       "  index: by_n\n", "hint: find out why meanwhile; `looseleaf backfill` names examples when it ends\n",
       "looseleaf: read 6 entities, wrote 9 index rows, ", "by_m: ready\n",
       "error: a unique index stays building: several entities have the same values\n", "  index: by_n\n",
       "  rows: 3\n", "  values: [",
       "hint: change or delete all but one of each, at best those that are named first, then run `looseleaf backfill "
       "by_n`; the one named second keeps others from taking the value, unless you give the index up: `looseleaf "
       "drop-index by_n`\n"});
  for (const std::uint64_t number : {0U, 1U, 2U, 3U, 4U, 5U}) {
    CHECK(times(id_of(number), found.err) == 1);
  }
  CHECK(holds_in_order(found.err, {"[0] in ", id_of(0).substr(0, 20), " and ", "\n"}));
  check_run(cluster.looseleaf({"query", "by_n", "n=0"}), 2, "", {"error: index is still building\n"});
  CHECK(contains(cluster.looseleaf({"status"}).out, "6 of about 6 (100 %)  nobody"));  // nothing is left to scan
  const cli::ProcessResult json = cluster.looseleaf({"backfill", "--output", "json"});
  CHECK(json.status == 1);
  CHECK(holds_in_order(lines_of(json.out).back(),
                       {R"("ready":[])", R"("conflicts":{"by_n":{"rows":3,"examples":[{"entity_id":")", R"("holder":")",
                        R"("values":[)"}));
  const cli::ProcessResult created =
      cluster.looseleaf({"create-index", cluster.directory().path() + "/by_n.json", "--backfill", "--output", "json"});
  CHECK(created.status == 1);
  CHECK(holds_in_order(lines_of(created.out).back(), {R"("building":["by_n"])", R"("ready":[])"}));
  put_all(cluster, entity(1, R"("n":11)") + "\n" + entity(2, R"("n":12)"));
  check_status(cluster.looseleaf({"backfill"}), 1, {"  rows: 1\n", "  values: [2] in "});
  check_status(cluster.looseleaf({"delete", id_of(4)}), 0);
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready\n"});
  CHECK(lines_of(cluster.looseleaf({"query", "by_n", "--ids"}).out) ==
        std::vector<std::string>{id_of(0), id_of(3), id_of(5), id_of(1), id_of(2)});
  check_status(cluster.looseleaf({"put"}, entity(1, R"("n":0)")), 1, taken(1, 0, 0));
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("backfill --all lists all entities with the same values, and without it 20 and how many more there are") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(50, [](std::uint64_t number) { return fmt::format(R"("n":{})", number / 2); }));
  check_status(cluster.looseleaf({"create-index", cluster.directory().write("by_n.json", by_n_unique)}), 0,
               {"created by_n"});
  const cli::ProcessResult some = cluster.looseleaf({"backfill"});
  check_status(some, 1,
               {"  rows: 25\n", "  values: ... 5 more\n",
                "; `looseleaf backfill by_n --all` lists all of them; the one named second"});
  CHECK(times("] in ", some.err) == 20);
  const cli::ProcessResult all = cluster.looseleaf({"backfill", "--all"});
  check_status(all, 1, {"  rows: 25\n", "then run `looseleaf backfill by_n`; the one named second"});
  CHECK(times("] in ", all.err) == 25);
}

TEST_CASE("while a unique index is building, a put may keep a value that it shares, but not take one") {
  const TestCluster cluster = with_duplicates();
  check_status(cluster.looseleaf({"backfill"}), 1, {"a unique index stays building"});
  const bool first = cluster.sql(0, "SELECT LOWER(HEX(entity_id)) FROM by_n WHERE n = 0") == id_of(0) + "\n";
  const std::uint64_t holder = first ? 0 : 1, other = first ? 1 : 0;
  for (int i = 0; i < 2; ++i) {
    put_all(cluster, entity(holder, R"("n":0,"x":1)"));
    put_all(cluster, entity(other, R"("n":0,"x":1)"));
  }
  CHECK(cluster.looseleaf({"put"}, entity(other, R"("n":1)")).status == 1);
  check_status(cluster.looseleaf({"put"}, entity(7, R"("n":0)")), 1, taken(7, holder, 0));
  put_all(cluster, entity(other, R"("n":9)"));
  check_status(cluster.looseleaf({"put"}, entity(other, R"("n":0)")), 1, taken(other, holder, 0));
  put_all(cluster, entity(holder, R"("n":10)"));
  put_all(cluster, entity(other, R"("n":0)"));
  put_all(cluster, entity(2, R"("n":12)") + "\n" + entity(4, R"("n":14)"));
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready\n"});
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("verify reports two entities with the same values as a conflict, which no repair decides") {
  const TestCluster cluster = with_values();
  cluster.sql(0, "DELETE FROM by_n WHERE n = 0");  // as if a server had lost commits
  put_all(cluster, entity(4, R"("n":0)"));
  const std::string line =
      fmt::format("conflict by_n shard 0 entity {} [0] is that of entity {}\n", id_of(0), id_of(4));
  const auto check_found = [&](const std::vector<std::string>& options, const std::string& summary) {
    const cli::ProcessResult found = cluster.looseleaf(joined({"verify", "--grace", "0"}, options));
    check_status(found, 1, {summary, "conflict: change or delete one of the two entities, then run "});
    CHECK(holds_in_order(
        found.out, {line, " misplaced  conflict\n", "by_n       0     2        0      0       0 ", "0         1\n"}));
  };
  check_found({}, "1 finding\n");
  check_found({"--repair"}, "1 finding, 0 entities repaired\n");
  const cli::ProcessResult json = cluster.looseleaf({"verify", "--grace", "0", "--output", "json"});
  CHECK(json.status == 1);
  CHECK(lines_of(json.out).at(0) ==
        fmt::format(R"({{"kind":"conflict","index":"by_n","shard":0,"entity_id":"{}","values":[0],"holder":"{}"}})",
                    id_of(0), id_of(4)));
  CHECK(contains(json.out, R"("conflict":1)"));
  const std::vector<std::string> warning = {"warning: two entities have the same values in a unique index\n",
                                            "  index: by_n\n",
                                            "  values: [0]\n",
                                            "  id: " + id_of(0) + "\n",
                                            "  holder: " + id_of(4) + "\n",
                                            "hint: change or delete one of them"};
  check_status(cluster.looseleaf({"clean", "--full"}), 0, warning);
  cluster.sql(0, cleanup_record({id_of(0)}));
  check_status(cluster.looseleaf({"clean"}), 0, warning);
  SUBCASE("neither has its row") {
    cluster.sql(0, "DELETE FROM by_n WHERE n = 0");
    check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 1, {"1 finding, 1 entity repaired\n"});
  }
  check_status(cluster.looseleaf({"delete", id_of(4)}), 0);
  check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 0, {"consistent, "});
  check_run(cluster.looseleaf({"query", "by_n", "n=0", "--ids"}), 0, id_of(0) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("a row in the place of a missing one is deleted by a repair, whoever left it") {
  const TestCluster cluster = with_values();
  cluster.sql(0, "DELETE FROM by_n WHERE n = 0");
  SUBCASE("an entity without that value") {
    cluster.sql(0, row(0, 1));
    const std::string found = check_status(cluster.looseleaf({"verify", "--grace", "0"}), 1, {"2 findings\n"});
    CHECK(holds_in_order(found, {"missing by_n shard 0 entity " + id_of(0), "stale by_n shard 0 entity " + id_of(1)}));
  }
  SUBCASE("no entity") {
    cluster.sql(0, row(0, 99));
  }
  check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 0, {"consistent, "});
  check_run(cluster.looseleaf({"query", "by_n", "n=0", "--ids"}), 0, id_of(0) + "\n");
  check_status(cluster.looseleaf({"verify", "--grace", "0"}), 0, {"consistent\n"});
}

TEST_CASE("a repair of one index deletes the row in the place of a missing one although another table is gone") {
  const TestCluster cluster = with_values();
  create_index(cluster, by_m);
  check_status(cluster.looseleaf({"backfill", "by_m", "--quiet"}), 0, {"warning: an index has no rows"});
  cluster.sql(0, "DELETE FROM by_n WHERE n = 0; " + row(0, 1));
  cluster.everywhere("DROP TABLE by_m");
  check_status(cluster.looseleaf({"verify", "by_n", "--grace", "0", "--repair"}), 0, {"consistent, "});
  check_run(cluster.looseleaf({"query", "by_n", "n=0", "--ids"}), 0, id_of(0) + "\n");
}

TEST_CASE("a row that an unreadable entity holds is a conflict, in backfill as well") {
  const TestCluster cluster = with_values();
  cluster.sql(0, "DELETE FROM by_n WHERE n = 0");
  put_all(cluster, entity(4, R"("n":0)"));
  cluster.sql(0, fmt::format("UPDATE entities SET body = 'damaged' WHERE id = x'{}'", id_of(4)));
  const std::string line =
      fmt::format("conflict by_n shard 0 entity {} [0] is that of entity {}\n", id_of(0), id_of(4));
  const std::string found = check_status(cluster.looseleaf({"verify", "--grace", "0", "--repair"}), 1, {"2 findings"});
  CHECK(contains(found, line));
  cluster.everywhere("UPDATE looseleaf_index SET state = 'building'; UPDATE looseleaf_shard SET epoch = epoch + 1");
  check_status(cluster.looseleaf({"backfill"}), 1, {"values: [0] in " + id_of(0) + " and " + id_of(4) + "\n"});
}

TEST_CASE("after a backfill that found equal values the next one reads, and purging spares, only what comes later") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(0, R"("n":1)") + entity(2, R"("n":1)"));
  const std::string file = cluster.directory().write("by_n.json", by_n_unique);
  CHECK(cluster.looseleaf({"create-index", "--backfill", "--quiet", file}).status == 1);
  const auto barrier = [&] { return cluster.sql(0, "SELECT barrier FROM looseleaf_progress WHERE job = 'backfill'"); };
  const std::string first = barrier();
  put_all(cluster, entity(4));
  CHECK(contains(cluster.looseleaf({"backfill", "--output", "json"}).out, R"("reconciled":1)"));
  CHECK(barrier() > first);
  CHECK(contains(cluster.looseleaf({"backfill", "--output", "json"}).out, R"("reconciled":0)"));
  put_all(cluster, entity(2, R"("n":2)"));
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_n: ready"});
  check_run(cluster.looseleaf({"query", "by_n", "n=2", "--ids"}), 0, id_of(2) + "\n");
}

}  // namespace
}  // namespace looseleaf::test
