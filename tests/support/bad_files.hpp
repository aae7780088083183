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
      {"shards is no array", "{\"shards\": 7}", "value has the wrong type", "line: 1\n  column: 12\n", "array"},
      {"user is a number", "{\"shards\": [\"h\"], \"user\": 7}", "value has the wrong type", "line: 1\n  column: 27\n",
       "string"},
      {"port is a string", "{\"shards\": [{\"host\": \"h\", \"port\": \"3306\"}]}", "value has the wrong type",
       "line: 1\n  column: 35\n", "number"},
      {"a shard is a number", "{\"shards\": [7]}", "not a JSON object", "line: 1\n  column: 13\n",
       "string or an object"},
      {"no shards", "{\"shards\": []}", "number of shards is out of range", "line: 1\n  column: 12\n", "1 to"},
      {"shards missing", "{\"user\": \"x\"}", "no shards", "line: 1\n  column: 1\n", "shards"},
      {"the same shard twice", "{\"shards\": [\"h:1/a\", \"h:1/a\"]}", "two shards have the same database",
       "line: 1\n  column: 22\n", "database"},
      {"port out of range", "{\"shards\": [\"h:65536\"]}", "invalid port number", "line: 1\n  column: 13\n", "65535"},
      {"database name beyond U+FFFF", "{\"shards\": [\"h/\xf0\x9f\x98\x80\"]}", "invalid database name",
       "line: 1\n  column: 13\n", "beyond U+FFFF"},
      {"socket beside host", "{\"shards\": [{\"socket\": \"/s\", \"host\": \"h\"}]}", "socket is empty or combined",
       "line: 1\n", "either"},
      {"ssl_mode", "{\"shards\": [\"h\"], \"ssl_mode\": \"REQUIRED\"}", "unknown ssl_mode", "line: 1\n", "verify-ca"},
      {"cluster_id", "{\"shards\": [\"h\"], \"cluster_id\": \"x\"}", "cluster_id is not a UUID", "line: 1\n", "init"},
      {"password", "{\"shards\": [\"h\"], \"password\": \"hunter2\"}", "the cluster file contains a password",
       "line: 1\n  column: 19\n", "LOOSELEAF_PASSWORD_FILE"},
      {"password of a shard", "{\"shards\": [{\"host\": \"h\", \"password\": \"hunter2\"}]}",
       "the cluster file contains a password", "line: 1\n  column: 27\n", "option file"},
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
      {"table is a number", R"({"table": 7, "properties": []})", "value has the wrong type", "a string",
       "line: 1\n  column: 11\n"},
      {"properties is an object", R"({"table": "t", "properties": {}})", "value has the wrong type", "an array"},
      {"immutable is a string", with_property(n, R"(, "immutable": "yes")"), "value has the wrong type",
       "true or false"},
      {"a property is a string", R"({"table": "t", "properties": ["n"]})", "not a JSON object", "\"name\""},
      {"no table", R"({"properties": [{"name": "n", "type": "int"}]})", "definition has no table", "index_user_id"},
      {"no properties", R"({"table": "t"})", "definition has no properties", "\"properties\""},
      {"an empty list of properties", R"({"table": "t", "properties": []})", "number of properties is out of range",
       "1 to 8"},
      {"nine properties", nine_properties(), "number of properties is out of range", "1 to 8"},
      {"no name", with_property(R"("type": "int")"), "property has no name", "\"name\""},
      {"no type", with_property(R"("name": "n")"), "property has no type", "uuid"},
      {"unknown type", with_property(R"("name": "n", "type": "integer")"), "unknown property type", "int"},
      {"the table of entities", with_table("entities"), "reserved table name", ""},
      {"the table of entities in capitals", with_table("ENTITIES"), "reserved table name", ""},
      {"the catalog", with_table("looseleaf_index"), "reserved table name", ""},
      {"the fence", with_table("Looseleaf_Shard"), "reserved table name", ""},
      {"a table with a dash", with_table("by-n"), "invalid table name", "letter"},
      {"a table with a digit first", with_table("1n"), "invalid table name", "letter"},
      {"a table with a backtick", with_table("a`b"), "invalid table name", "letter"},
      {"a table of 65 characters", with_table(std::string(65, 'a')), "invalid table name", "63"},
      {"entity_id", with_property(R"("name": "entity_id", "type": "uuid")"), "property is called entity_id", ""},
      {"Entity_ID", with_property(R"("name": "Entity_ID", "type": "uuid")"), "property is called entity_id", ""},
      {"a path of 65 characters", with_property("\"name\": \"" + std::string(65, 'p') + R"(", "type": "int")"),
       "property path is too long", "1 character"},
      {"an empty path", with_property(R"("name": "", "type": "int")"), "invalid property path", ""},
      {"two dots", with_property(R"("name": "a..b", "type": "int")"), "invalid property path", ""},
      {"names equal but for case", R"({"table": "t", "properties": [{"name": "n", "type": "int"},
       {"name": "N", "type": "int"}]})",
       "property is named twice", "case", "line: 2\n"},
      {"max_length of 736", with_property(R"("name": "s", "type": "string", "max_length": 736)"),
       "max_length is out of range", "735"},
      {"max_length of 0", with_property(R"("name": "s", "type": "string", "max_length": 0)"),
       "max_length is out of range", "1 to"},
      {"max_length of an int", with_property(n + R"(, "max_length": 7)"), "max_length is set on a property", ""},
      {"a key of 3,073 bytes",
       R"({"table": "t", "properties": [{"name": "s", "type": "string"}, {"name": "u", "type": "string", "max_length": 29},
           {"name": "b", "type": "bool"}]})",
       "key columns are too long together", "3,072"},
      {"each with immutable", with_property(n + R"(, "each": true)", R"(, "immutable": true)"),
       "immutable cannot be combined with each", "one row per entity"},
      {"each twice", R"({"table": "t", "properties": [{"name": "a", "type": "int", "each": true},
       {"name": "b", "type": "int", "each": true}]})",
       "more than one property has each", "", "line: 2\n"},
      {"shard_on of double", with_property(R"("name": "d", "type": "double")", R"(, "shard_on": "d")"),
       "`shard_on` must name a uuid, string or int property", "omit shard_on"},
      {"shard_on of bool", with_property(R"("name": "d", "type": "bool")", R"(, "shard_on": "d")"),
       "`shard_on` must name a uuid, string or int property", "omit shard_on"},
      {"shard_on of nothing", with_property(R"("name": "user_id", "type": "uuid")", R"(, "shard_on": "userid")"),
       "`shard_on` names no property of the index", "\"user_id\""},
      {"where an array", with_property(n, R"(, "where": {"a": []})"), "value is not a scalar", "a number"},
      {"where a string", with_property(n, R"(, "where": "a")"), "value has the wrong type", "an object"},
      {"malformed", R"({"table": "t",})", "syntax error", "", "line: 1\n  column: 15\n"},
      {"duplicate key", R"({"table": "t", "table": "u"})", "duplicate key", "", "line: 1\n  column: 16\n"},
  };
}

}  // namespace looseleaf::test
