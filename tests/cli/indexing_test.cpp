// What backfill, verify and explain tell about definitions that do not fit the entities.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/expectations.hpp"
#include "tests/support/failpoints.hpp"

namespace looseleaf::test {
namespace {

constexpr const char* sample_members =
    R"("tags":["a","b"],"age":{0}.5,"big":18446744073709551615,"title":"t{0}","published":true)";

// A mistake in a definition, and what is said of it.
struct Mistake {
  const char* definition;
  const char* table;
  const char* reason;
  const char* why;
  const char* hint;
};

// In the order of their tables.
const std::vector<Mistake> mistakes = {
    {R"({"table": "by_age", "properties": [{"name": "age", "type": "int"}]})", "by_age", "`age` is not of type int",
     "other_type", "check the property's type"},
    {R"({"table": "by_big", "properties": [{"name": "big", "type": "int"}]})", "by_big",
     "`big` is a number that is too large for type int", "out_of_range",
     "use the type double, which rounds, or store strings"},
    {R"({"table": "by_each", "properties": [{"name": "title", "type": "string", "each": true}]})", "by_each",
     "`title` is not an array, and the definition has `each`", "not_an_array", "leave `each` out"},
    {R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string"}]})", "by_tag",
     "`tags` is an array, and the definition has no `each`", "array_without_each",
     "add \"each\": true to the property"},
    {R"({"table": "by_titel", "properties": [{"name": "titel", "type": "string"}]})", "by_titel", "`titel` is absent",
     "absent", "check how the property is spelt"},
    {R"({"table": "by_year", "properties": [{"name": "title", "type": "string"}], "where": {"published": "yes"}})",
     "by_year", "it does not match `where`", "no_match",
     "check the values in `where`, and their types, and that none of them is in an array"}};

std::vector<std::string> warning_of(const Mistake& mistake) {
  return {"warning: an index has no rows: no query finds anything by it\n",
          fmt::format("  index: {}\n", mistake.table),
          "  with rows: 0 of 20 entities\n",
          fmt::format("  reason: {}\n", mistake.reason),
          "  example: 018f2c4e",
          fmt::format("hint: {}; drop the index and create it again with the corrected definition\n", mistake.hint)};
}

TEST_CASE("a definition that no entity fits is warned of by backfill and by verify") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(20, sample_members));
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.table);
    const std::string file = cluster.directory().write("definition.json", mistake.definition);
    std::vector<std::string> expected = warning_of(mistake);
    expected.insert(expected.begin(), "looseleaf: in a sample of the newest 20 entities:\n");
    expected[1] = "warning: an index would have no rows of these entities: no query would find them by it\n";
    expected.back() = fmt::format(
        "hint: {}; correct the definition before the index is created, unless older entities are otherwise\n",
        mistake.hint);
    check_status(cluster.looseleaf({"create-index", file, "--dry-run"}), 0, expected);
    check_status(cluster.looseleaf({"create-index", file, "--backfill"}), 0, warning_of(mistake));
    check_status(cluster.looseleaf({"verify", mistake.table}), 0, warning_of(mistake));
    const cli::ProcessResult json = cluster.looseleaf({"verify", mistake.table, "--output", "json", "--quiet"});
    check_status(json, 0, {"{\"event\":\"warning\",\"what\":\"an index has no rows", mistake.table, "\"hint\":\""});
    CHECK(contains(json.out, fmt::format("\"why\":\"{}\"", mistake.why)));
    const std::string report = cluster.directory().write("report.xml", "");
    check_status(cluster.looseleaf({"verify", mistake.table, "--quiet", "--report", "junit=" + report}), 0,
                 {"warning"});
    CHECK(contains(read_text(report), fmt::format("20 without a row: {}", mistake.reason)));
  }
}

TEST_CASE("entities without rows are counted by reason, and are no mistake if most have rows or lack the property") {
  const TestCluster cluster = initialised();
  std::string lines;
  for (const char* value : {R"("n":1)", R"("n":2)", R"("n":"3")", R"("n":null)", "", ""}) {
    lines += entity(1 + times("\n", lines), value) + "\n";
  }
  put_all(cluster, lines);
  check_run(cluster.looseleaf({"delete", id_of(6)}), 0, id_of(6) + "\n");
  const cli::ProcessResult created =
      cluster.looseleaf({"create-index", cluster.directory().write("by_n.json", by_n), "--backfill"});
  check_status(created, 0,
               {"by_n: 2 of 5 entities with rows, 2 rows in all\n",
                fmt::format("by_n: 1 without a row: `n` is absent, for example in {}\n", id_of(5)),
                fmt::format("by_n: 1 without a row: `n` is null, for example in {}\n", id_of(4)),
                fmt::format("by_n: 1 without a row: `n` is not of type int, for example in {}\n", id_of(3))});
  CHECK_FALSE(contains(created.err, "warning"));
  put_all(cluster, entity(7, R"("n":1.5)") + "\n" + entity(8, R"("n":2.5)"));
  check_status(cluster.looseleaf({"verify", "--quiet"}), 0,
               {"warning: more entities have a value that the index cannot take than have rows\n",
                "with rows: 2 of 7 entities\n", "reason: `n` is not of type int\n"});
}

TEST_CASE("elements without a row are told of, though others of the same array have one") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1, R"("tags":["a",7])") + "\n" + entity(2, R"("tags":["b",null])") + "\n" +
                       entity(3, R"("tags":[8])") + "\n");
  create_index(cluster, R"({"table": "by_tag", "properties": [{"name": "tags", "type": "string", "each": true}]})");
  const std::string partial = fmt::format(
      "by_tag: 1 with only some of their rows: some elements of `tags` are not of type string, for example in {}\n",
      id_of(1));
  check_status(cluster.looseleaf({"backfill"}), 0, {"by_tag: 2 of 3 entities with rows, 2 rows in all\n", partial});
  check_status(cluster.looseleaf({"verify"}), 0, {partial});
  const std::string json = check_status(cluster.looseleaf({"verify", "--output", "json"}), 0);
  CHECK(contains(json, R"("partial_rows":[{"why":"some_elements","property":"tags","entities":1,"example":")" +
                           id_of(1) + "\"}]"));
  check_run(cluster.looseleaf({"explain", id_of(1)}), 0,
            id_of(1) +
                "\n  by_tag: [\"a\"]\n"
                "  by_tag: other elements have no row: some elements of `tags` are not of type string\n");
  check_run(cluster.looseleaf({"explain", id_of(2)}), 0, id_of(2) + "\n  by_tag: [\"b\"]\n");
}

TEST_CASE("a value of another type is named as the reason before all the entities that lack the property") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity_lines(5) + entity(9, R"("n":"7")") + "\n");
  create_index(cluster, by_n);
  check_status(cluster.looseleaf({"backfill"}), 0,
               {"warning: an index has no rows", "with rows: 0 of 6 entities\n", "reason: `n` is not of type int\n",
                "hint: check the property's type; "});
}

TEST_CASE("elements that are too long for a unique index are warned of, because others may have the same") {
  const TestCluster cluster = initialised();
  put_all(cluster, entity(1, R"("tags":["ab","abcdef"])") + "\n");
  create_index(cluster, R"({"table": "by_tag", "unique": true, "shard_on": "tags",
                            "properties": [{"name": "tags", "type": "string", "max_length": 3, "each": true}]})");
  check_status(cluster.looseleaf({"backfill"}), 0,
               {"warning: a unique index leaves out values that are too long; several entities may have the same\n",
                "reason: some elements of `tags` are longer than `max_length` of a unique index\n",
                "hint: use a larger `max_length`; "});
}

TEST_CASE("a backfill that was interrupted goes on with its counts" * needs_failpoints) {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity_lines(3000, [](std::uint64_t number) {
            return number >= 1500 && number % 3 == 0 ? R"("n":"7")" : R"("n":7)";
          }));
  create_index(cluster, by_n);
  cluster.die_at("backfill.commit:after#1", {"backfill"});
  CHECK(cluster.sql(0, "SELECT done BETWEEN 1 AND 2999 FROM looseleaf_progress WHERE job = 'backfill'") == "1\n");
  check_status(cluster.looseleaf({"backfill"}), 0,
               {"by_n: 2,500 of 3,000 entities with rows, 2,500 rows in all\n",
                "by_n: 500 without a row: `n` is not of type int, for example in"});
}

TEST_CASE("a backfill that an older version began says that its counts are incomplete, and warns of no mistake" *
          needs_failpoints) {
  const TestCluster cluster = initialised(1);
  put_all(cluster, entity_lines(3000, [](std::uint64_t number) { return number < 1500 ? R"("n":"7")" : R"("n":7)"; }));
  create_index(cluster, by_n);
  cluster.die_at("backfill.commit:after#1", {"backfill"});
  cluster.sql(0, "UPDATE looseleaf_progress SET detail = '' WHERE job = 'backfill' AND done > 0");
  cluster.die_at("backfill.commit:after#1", {"backfill"});  // it is remembered
  const cli::ProcessResult result = cluster.looseleaf({"backfill", "--output", "json"});
  check_status(result, 0, {"by_n: these counts are incomplete, because an older version", "by_n: ready"});
  CHECK_FALSE(contains(result.err, "warning"));
  CHECK(contains(lines_of(result.out).back(), "\"complete\":false"));
  check_status(cluster.looseleaf({"verify"}), 0, {"by_n: 1,500 of 3,000 entities with rows"});
}

TEST_CASE("explain prints the rows that stored and other entities call for, or why there are none") {
  const TestCluster cluster = initialised();
  for (const Mistake& mistake : mistakes) {
    create_index(cluster, mistake.definition);
  }
  create_index(cluster, R"({"table": "good", "properties": [{"name": "tags", "type": "string", "each": true}]})");
  put_all(cluster, entity_lines(1, sample_members));
  std::string expected = id_of(0) + "\n";
  for (const Mistake& mistake : mistakes) {
    expected += fmt::format("  {}: no row: {}\n", mistake.table, mistake.reason);
  }
  expected += "  good: [\"a\"]\n  good: [\"b\"]\n";
  check_run(cluster.looseleaf({"explain", id_of(0)}), 0, expected);
  check_run(cluster.looseleaf({"explain", id_of(9)}), 1, "", {"no such entity"});
  const cli::ProcessResult read = cluster.looseleaf({"explain", "-"}, "{\"tags\":[]}\n{\"tags\":[7]}\n{\"tags\":\n");
  check_status(read, 1, {"error: object is not closed\n", "line: 4\n"});
  CHECK(holds_in_order(read.out, {"line 1\n", "  good: no row: `tags` is an empty array\n", "line 2\n",
                                  "  good: no row: no element of `tags` is of type string\n"}));
}

}  // namespace
}  // namespace looseleaf::test
