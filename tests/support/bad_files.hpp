// Cluster files and index definitions that are refused: what the program says of them is tested in tests/cli, that the
// schemas refuse them too in tests/schemas.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace looseleaf::test {

struct BadClusterFile {
  std::string name;
  std::string text;
  const char* what;
  const char* place;
  const char* hint;
};

inline std::vector<BadClusterFile> bad_cluster_files() {
  return {
      {"unknown key", "{\n  \"shards\": [\"h\"],\n  \"usr\": \"x\"\n}", "unknown key", "line: 3\n  column: 3\n",
       "\"user\""},
      {"unknown key of a shard", "{\"shards\": [\n{\"host\": \"h\", \"databse\": \"x\"}]}", "unknown key",
       "line: 2\n  column: 15\n", "\"database\""},
      {"shards is no array", "{\"shards\": 7}", "a value of the wrong type", "line: 1\n  column: 12\n", "array"},
      {"user is a number", "{\"shards\": [\"h\"], \"user\": 7}", "a value of the wrong type", "line: 1\n  column: 27\n",
       "string"},
      {"port is a string", "{\"shards\": [{\"host\": \"h\", \"port\": \"3306\"}]}", "a value of the wrong type",
       "line: 1\n  column: 35\n", "number"},
      {"a shard is a number", "{\"shards\": [7]}", "not a JSON object", "line: 1\n  column: 13\n",
       "string or an object"},
      {"no shards", "{\"shards\": []}", "a number of shards out of range", "line: 1\n  column: 12\n", "1 to"},
      {"shards missing", "{\"user\": \"x\"}", "no shards", "line: 1\n  column: 1\n", "shards"},
      {"the same shard twice", "{\"shards\": [\"h:1/a\", \"h:1/a\"]}", "the same database twice",
       "line: 1\n  column: 22\n", "database"},
      {"port out of range", "{\"shards\": [\"h:65536\"]}", "not a port number", "line: 1\n  column: 13\n", "65535"},
      {"database name beyond U+FFFF", "{\"shards\": [\"h/\xf0\x9f\x98\x80\"]}", "not a database name",
       "line: 1\n  column: 13\n", "beyond U+FFFF"},
      {"socket beside host", "{\"shards\": [{\"socket\": \"/s\", \"host\": \"h\"}]}",
       "a socket that is empty or stands", "line: 1\n", "either"},
      {"ssl_mode", "{\"shards\": [\"h\"], \"ssl_mode\": \"REQUIRED\"}", "unknown ssl_mode", "line: 1\n", "verify-ca"},
      {"cluster_id", "{\"shards\": [\"h\"], \"cluster_id\": \"x\"}", "cluster_id is not a UUID", "line: 1\n", "init"},
      {"password", "{\"shards\": [\"h\"], \"password\": \"hunter2\"}", "a password in the cluster file",
       "line: 1\n  column: 19\n", "LOOSELEAF_PASSWORD_FILE"},
      {"password of a shard", "{\"shards\": [{\"host\": \"h\", \"password\": \"hunter2\"}]}",
       "a password in the cluster file", "line: 1\n  column: 27\n", "option file"},
      {"duplicate key", "{\"shards\": [\"h\"],\n\"shards\": [\"i\"]}", "duplicate key", "line: 2\n  column: 1\n",
       "one"},
      {"malformed", "{\"shards\": [\"h\",]}", "syntax error", "line: 1\n  column: 17\n", "comma"},
      {"cut short", "{\"shards\": [", "syntax error", "line: 1\n  column: 13\n", "ends too early"},
      {"no object", "[]", "not a JSON object", "line: 1\n  column: 1\n", "object"},
      {"empty", "", "syntax error", "line: 1\n  column: 1\n", ""},
  };
}

inline std::string nine_properties() {
  std::vector<std::string> properties;
  for (int i = 0; i < 9; ++i) {
    properties.push_back(fmt::format(R"({{"name": "p{}", "type": "int"}})", i));
  }
  return fmt::format(R"({{"table": "t", "properties": [{}]}})", fmt::join(properties, ", "));
}

// A definition with one property of these members, and more keys.
inline std::string with_property(const std::string& members, const std::string& more = {}) {
  return R"({"table": "t", "properties": [{)" + members + "}]" + more + "}";
}

inline std::string with_table(const std::string& table) {
  return "{\"table\": \"" + table + "\", \"properties\": [{\"name\": \"n\", \"type\": \"int\"}]}";
}

struct BadDefinition {
  std::string name;
  std::string text;
  const char* what;
  const char* hint;
  const char* place = "line: 1\n";
};

inline std::vector<BadDefinition> bad_definitions() {
  const std::string n = R"("name": "n", "type": "int")";
  return {
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
}

}  // namespace looseleaf::test
