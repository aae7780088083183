// Index definitions that are refused, each with its place and a hint, before any server is asked.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/cli/expectations.hpp"

namespace looseleaf::test {
namespace {

std::string nine_properties() {
  std::vector<std::string> properties;
  for (int i = 0; i < 9; ++i) {
    properties.push_back(fmt::format(R"({{"name": "p{}", "type": "int"}})", i));
  }
  return fmt::format(R"({{"table": "t", "properties": [{}]}})", fmt::join(properties, ", "));
}

// A definition with one property of these members, and more keys.
std::string with_property(const std::string& members, const std::string& more = {}) {
  return R"({"table": "t", "properties": [{)" + members + "}]" + more + "}";
}

std::string with_table(const std::string& table) {
  return "{\"table\": \"" + table + "\", \"properties\": [{\"name\": \"n\", \"type\": \"int\"}]}";
}

TEST_CASE("a definition that is wrong is refused with its place and a hint") {
  struct Case {
    std::string name;
    std::string text;
    const char* what;
    const char* hint;
    const char* place = "line: 1\n";
  };
  const std::string n = R"("name": "n", "type": "int")";
  const std::vector<Case> cases = {
      {"unknown key", "{\"table\": \"t\",\n  \"propertis\": []}", "unknown key", "\"properties\"",
       "line: 2\n  column: 3\n"},
      {"unknown key of a property", with_property(n + R"(, "max_lenght": 3)"), "unknown key", "\"max_length\""},
      {"table is a number", R"({"table": 7, "properties": []})", "a value of the wrong type", "a string",
       "line: 1\n  column: 11\n"},
      {"properties is an object", R"({"table": "t", "properties": {}})", "a value of the wrong type", "an array"},
      {"immutable is a string", with_property(n, R"(, "immutable": "yes")"), "a value of the wrong type",
       "true or false"},
      {"a property is a string", R"({"table": "t", "properties": ["n"]})", "not a JSON object", "\"name\""},
      {"no table", R"({"properties": [{"name": "n", "type": "int"}]})", "a definition without a table",
       "index_user_id"},
      {"no properties", R"({"table": "t"})", "a definition without properties", "\"properties\""},
      {"an empty list of properties", R"({"table": "t", "properties": []})", "a number of properties out of range",
       "1 to 8"},
      {"nine properties", nine_properties(), "a number of properties out of range", "1 to 8"},
      {"no name", with_property(R"("type": "int")"), "a property without a name", "\"name\""},
      {"no type", with_property(R"("name": "n")"), "a property without a type", "uuid"},
      {"unknown type", with_property(R"("name": "n", "type": "integer")"), "unknown property type", "int"},
      {"the table of entities", with_table("entities"), "a table name of the tool's own", ""},
      {"the table of entities in capitals", with_table("ENTITIES"), "a table name of the tool's own", ""},
      {"the catalog", with_table("looseleaf_index"), "a table name of the tool's own", ""},
      {"the fence", with_table("Looseleaf_Shard"), "a table name of the tool's own", ""},
      {"a table with a dash", with_table("by-n"), "not a table name", "letter"},
      {"a table with a digit first", with_table("1n"), "not a table name", "letter"},
      {"a table with a backtick", with_table("a`b"), "not a table name", "letter"},
      {"a table of 65 characters", with_table(std::string(65, 'a')), "not a table name", "63"},
      {"entity_id", with_property(R"("name": "entity_id", "type": "uuid")"), "a property called entity_id", ""},
      {"Entity_ID", with_property(R"("name": "Entity_ID", "type": "uuid")"), "a property called entity_id", ""},
      {"a path of 65 characters", with_property("\"name\": \"" + std::string(65, 'p') + R"(", "type": "int")"),
       "a property path too long", "1 character"},
      {"an empty path", with_property(R"("name": "", "type": "int")"), "not a property path", ""},
      {"two dots", with_property(R"("name": "a..b", "type": "int")"), "not a property path", ""},
      {"names equal but for case", R"({"table": "t", "properties": [{"name": "n", "type": "int"},
       {"name": "N", "type": "int"}]})",
       "a property named twice", "case", "line: 2\n"},
      {"max_length of 736", with_property(R"("name": "s", "type": "string", "max_length": 736)"),
       "max_length out of range", "735"},
      {"max_length of 0", with_property(R"("name": "s", "type": "string", "max_length": 0)"), "max_length out of range",
       "1 to"},
      {"max_length of an int", with_property(n + R"(, "max_length": 7)"), "max_length on a property", ""},
      {"a key of 3,073 bytes",
       R"({"table": "t", "properties": [{"name": "s", "type": "string"}, {"name": "u", "type": "string", "max_length": 29},
           {"name": "b", "type": "bool"}]})",
       "key columns too long together", "3072"},
      {"each with immutable", with_property(n + R"(, "each": true)", R"(, "immutable": true)"),
       "immutable together with each", "one row per entity"},
      {"each twice", R"({"table": "t", "properties": [{"name": "a", "type": "int", "each": true},
       {"name": "b", "type": "int", "each": true}]})",
       "each on more than one property", "", "line: 2\n"},
      {"shard_on of double", with_property(R"("name": "d", "type": "double")", R"(, "shard_on": "d")"), "shard_on",
       "uuid, a string or an int"},
      {"shard_on of bool", with_property(R"("name": "d", "type": "bool")", R"(, "shard_on": "d")"), "shard_on",
       "uuid, a string or an int"},
      {"shard_on of nothing", with_property(R"("name": "user_id", "type": "uuid")", R"(, "shard_on": "userid")"),
       "shard_on names none of the properties", "\"user_id\""},
      {"where an array", with_property(n, R"(, "where": {"a": []})"), "a value that is not a scalar", "numbers"},
      {"where a string", with_property(n, R"(, "where": "a")"), "a value of the wrong type", "an object"},
      {"malformed", R"({"table": "t",})", "syntax error", "", "line: 1\n  column: 15\n"},
      {"duplicate key", R"({"table": "t", "table": "u"})", "duplicate key", "", "line: 1\n  column: 16\n"},
  };
  const TestCluster cluster = initialised(1);
  for (const Case& test : cases) {
    CAPTURE(test.name);
    const std::string file = cluster.directory().write("definition.json", test.text);
    for (const std::string option : {"--dry-run", "--quiet"}) {
      check_run(
          cluster.looseleaf({"create-index", option, file}), 2, "",
          {fmt::format("looseleaf: error: {}", test.what), "  file: " + file + "\n", test.place, "hint: ", test.hint});
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
            {"error: the file cannot be read\n", "file: /nonexistent.json\n"});
  check_run(cluster.looseleaf({"create-index", good, bad}), 2, "", {"error: a definition without a table\n", bad});
  check_run(cluster.looseleaf({"query", "by_n"}), 2, "", {"error: no such index\n"});
  check_run(cluster.looseleaf({"create-index"}), 2, "", {"error: an argument is missing\n", "argument: FILE\n"});
  check_run(cluster.looseleaf({"create-index", "--dry-run", "--backfill", good}), 2, "",
            {"error: --dry-run and --backfill exclude each other\n"});
}

}  // namespace
}  // namespace looseleaf::test
