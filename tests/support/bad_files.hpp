// Cluster files and index definitions that are refused: tests/unit looks at the errors, tests/cli at what the program
// prints of them, and tests/schemas has the schemas refuse them too.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <string>
#include <vector>

namespace looseleaf::test {

struct BadFile {
  std::string text;
  std::string complaint;  // "line:column key: what"; without a key "-" stands for it
  const char* hint = "";  // a part of it
};

// What the program prints of the bad file at `path`: parts, in this order.
inline std::vector<std::string> printed_of(const BadFile& bad, const std::string& path) {
  std::smatch of;
  std::regex_match(bad.complaint, of, std::regex("([0-9]+):([0-9]+) ([^ ]+): (.*)"));
  return {fmt::format("looseleaf: error: {}\n  file: {}\n  line: {}\n  column: {}\n", of.str(4), path, of.str(1),
                      of.str(2)),
          of.str(3) == "-" ? "" : "  key: " + of.str(3) + "\n", "hint: ", bad.hint};
}

inline std::vector<BadFile> bad_cluster_files() {
  return {
      {"", "1:1 -: syntax error", "there is only white space"},
      {"{\"shards\": [\"\xFF\"]}", "1:14 -: invalid UTF-8", "convert the input to UTF-8"},
      {R"({"shards": ["a",]})", "1:17 -: syntax error", "comma"},
      {R"({"shards": [)", "1:13 -: syntax error", "ends too early"},
      {"[]", "1:1 -: not a JSON object", "object"},
      {"{\n\"shards\": [\"a\"],\n\"user\": \"x\", \"user\": \"y\"}", "3:14 user: duplicate key", "one"},
      {"{}", "1:1 -: no shards", "shards"},
      {R"({"shards": []})", "1:12 shards: number of shards is out of range", "1 to"},
      {R"({"shards": "a"})", "1:12 shards: value has the wrong type", "array"},
      {R"({"shards": [7]})", "1:13 -: not a JSON object", "string or an object"},
      {"{\"shards\": [\"a\"],\n  \"shard\": 1}", "2:3 shard: unknown key", "\"shards\""},
      {R"({"shards": [{"host": "a", "hots": 1}]})", "1:27 hots: unknown key", "\"host\""},
      {R"({"shards": ["a"], "user": 7})", "1:27 user: value has the wrong type", "string"},
      {R"({"shards": ["a"], "$schema": 7})", "1:30 $schema: value has the wrong type"},
      {R"({"shards": ["a"], "cluster_id": "x"})", "1:33 cluster_id: cluster_id is not a UUID", "init"},
      {R"({"shards": ["a"], "ssl_mode": "REQUIRED"})", "1:31 ssl_mode: unknown ssl_mode", "verify-ca"},
      {R"({"shards": ["a"], "max_connections": 3})", "1:38 max_connections: max_connections is out of range"},
      {R"({"shards": ["a"], "max_connections": 1001})", "1:38 max_connections: max_connections is out of range"},
      {R"({"shards": ["a"], "max_connections": "8"})", "1:38 max_connections: value has the wrong type"},
      {R"({"shards": ["a"], "timeout": 0})", "1:30 timeout: timeout is out of range"},
      {R"({"shards": ["a"], "timeout": 31622401})", "1:30 timeout: timeout is out of range"},
      {R"({"shards": ["a"], "timeout": "8"})", "1:30 timeout: value has the wrong type"},
      {R"({"shards": ["a"], "password": "hunter2"})", "1:19 password: the cluster file contains a password",
       "LOOSELEAF_PASSWORD_FILE"},
      {R"({"shards": [{"host": "a", "password": "hunter2"}]})", "1:27 password: the cluster file contains a password",
       "option file"},
      {R"({"shards": ["b", "a", "A:3306/looseleaf"]})", "1:23 -: two shards have the same database", "database"},
      {R"({"shards": [{"socket": "/s"}, {"socket": "/s"}]})", "1:31 -: two shards have the same database"},
      {R"({"shards": [""]})", "1:13 -: invalid address"},
      {R"({"shards": [":3306"]})", "1:13 -: invalid address"},
      {R"({"shards": ["::1:3306"]})", "1:13 -: invalid address"},
      {R"({"shards": ["[::1"]})", "1:13 -: invalid address"},
      {R"({"shards": ["[::1]x"]})", "1:13 -: invalid address"},
      {R"({"shards": ["h[]"]})", "1:13 -: invalid address"},
      {R"({"shards": ["[h:3307]"]})", "1:13 -: invalid address"},
      {R"({"shards": ["/run/s.sock"]})", "1:13 -: invalid address"},
      {R"({"shards": ["a:"]})", "1:13 -: invalid port number"},
      {R"({"shards": ["a:0"]})", "1:13 -: invalid port number"},
      {R"({"shards": ["a:65536"]})", "1:13 -: invalid port number", "65535"},
      {R"({"shards": ["a:-1"]})", "1:13 -: invalid port number"},
      {R"({"shards": [{"host": "a:3307"}]})", "1:22 host: invalid address", "\"port\""},
      {R"({"shards": [{"host": "[::1]"}]})", "1:22 host: invalid address", "without brackets"},
      {R"({"shards": [{"host": "a/x"}]})", "1:22 host: invalid address", "\"database\""},
      {R"({"shards": [{"host": "a", "port": 65536}]})", "1:35 port: invalid port number"},
      {R"({"shards": [{"host": "a", "port": 18446744073709551615}]})", "1:35 port: invalid port number"},
      {R"({"shards": [{"host": "a", "port": "1"}]})", "1:35 port: value has the wrong type", "number"},
      {R"({"shards": [{"database": "x"}]})", "1:13 -: shard has no address"},
      {R"({"shards": [{"socket": "/s", "host": "a"}]})", "1:14 socket: socket is empty or combined with host or port",
       "either"},
      {R"({"shards": ["a/"]})", "1:13 -: invalid database name"},
      {"{\"shards\": [\"a/\U0001F600\"]}", "1:13 -: invalid database name", "beyond U+FFFF"},
      {R"({"shards": [{"host": "a", "database": ""}]})", "1:39 database: invalid database name"},
      {R"({"shards": [{"host": "a", "database": "x\n"}]})", "1:39 database: invalid database name"},
      {R"({"shards": ["a/)" + std::string(65, 'x') + R"("]})", "1:13 -: invalid database name"},
      {R"({"shards": [{"host": "a", "replicas": ["b", 7]}]})", "1:45 -: value has the wrong type"},
      {R"({"shards": [{"host": "a", "replicas": ["b:x"]}]})", "1:40 -: invalid port number"},
      {R"({"shards": [{"host": "a", "replicas": ["b/x"]}]})", "1:40 -: invalid address"},
  };
}

inline std::string with_table(const std::string& table) {
  return "{\"table\": \"" + table + "\", \"properties\": [{\"name\": \"n\", \"type\": \"int\"}]}";
}

// A definition with these properties, and more keys.
inline std::string with_properties(const std::string& properties, const std::string& more = {}) {
  return R"({"table":"t","properties":[)" + properties + "]" + more + "}";
}

inline std::string with_name(const std::string& name) {
  return with_properties("{\"name\":\"" + name + "\",\"type\":\"int\"}");
}

inline std::string with_string(const std::string& max_length) {
  return with_properties(R"({"name":"p","type":"string","max_length":)" + max_length + "}");
}

inline std::string repeated(const std::string& text, std::size_t count) {
  return fmt::format("{}", fmt::join(std::vector(count, text), ""));
}

inline std::string with_bools(int count) {
  std::vector<std::string> properties;
  for (int i = 0; i < count; ++i) {
    properties.push_back(fmt::format(R"({{"name":"p{}","type":"bool"}})", i));
  }
  return with_properties(fmt::format("{}", fmt::join(properties, ",")));
}

inline std::vector<BadFile> bad_definitions() {
  const std::string p = R"({"name":"p","type":"int"})";
  std::vector<BadFile> bad = {
      {"{", "1:2 -: syntax error"},
      {R"({"table": "t",})", "1:15 -: syntax error"},
      {"7", "1:1 -: not a JSON object"},
      {"{\n \"table\":\"t\",\n \"table\":\"t\"}", "3:2 table: duplicate key"},
      {"{}", "1:1 -: definition has no table", "index_user_id"},
      {R"({"table":7})", "1:10 table: value has the wrong type", "a string"},
      {R"({"table":"t"})", "1:1 -: definition has no properties", "\"properties\""},
      {"{\"table\":\"t\",\n  \"propertis\":[]}", "2:3 propertis: unknown key", "\"properties\""},
      {R"({"table":"t","properties":{}})", "1:27 properties: value has the wrong type", "an array"},
      {with_bools(0), "1:27 properties: number of properties is out of range", "1 to 8"},
      {with_bools(9), "1:27 properties: number of properties is out of range", "1 to 8"},
      {with_properties(R"("p")"), "1:28 -: not a JSON object", "\"name\""},
      {with_properties(R"({"type":"int"})"), "1:28 -: property has no name", "\"name\""},
      {with_properties(R"({"name":7,"type":"int"})"), "1:36 name: value has the wrong type"},
      {with_properties(R"({"name":"p"})"), "1:28 -: property has no type", "uuid"},
      {with_properties(R"({"name":"p","type":"INT"})"), "1:47 type: unknown property type", "int"},
      {with_properties(R"({"name":"p","type":"integer"})"), "1:47 type: unknown property type", "int"},
      {with_properties(R"({"name":"p","type":"int","max_lenght":3})"), "1:53 max_lenght: unknown key",
       "\"max_length\""},
      {with_properties(R"({"name":"p","type":"int","max_length":3})"),
       "1:53 max_length: max_length is set on a property that is not a string"},
      {with_string("0"), "1:69 max_length: max_length is out of range", "1 to"},
      {with_string("736"), "1:69 max_length: max_length is out of range", "735"},
      {with_string("1.5"), "1:69 max_length: value has the wrong type"},
      {with_properties(R"({"name":"p","type":"int","each":1})"), "1:60 each: value has the wrong type"},
      {with_properties(p + R"(,{"name":"P","type":"uuid"})"), "1:62 name: property is named twice", "case"},
      {with_properties(R"({"name":"a","type":"int","each":true},{"name":"b","type":"int","each":true})"),
       "1:91 each: more than one property has each"},
      {with_properties(R"({"name":"s","type":"string"},{"name":"u","type":"string","max_length":29},
                          {"name":"b","type":"bool"})"),
       "1:27 properties: key columns are too long together", "3,072"},
      {with_properties(p, R"(,"shard_on":"q")"), "1:66 shard_on: `shard_on` names no property of the index",
       "properties: p"},
      {with_properties(R"({"name":"user_id","type":"int"})", R"(,"shard_on":"userid")"),
       "1:72 shard_on: `shard_on` names no property of the index", "\"user_id\""},
      {with_properties(p, R"(,"shard_on":0)"), "1:66 shard_on: value has the wrong type"},
      {with_properties(R"({"name":"p","type":"double"})", R"(,"shard_on":"p")"),
       "1:69 shard_on: `shard_on` must name a uuid, string or int property", "omit shard_on"},
      {with_properties(R"({"name":"p","type":"bool"})", R"(,"shard_on":"p")"),
       "1:67 shard_on: `shard_on` must name a uuid, string or int property", "omit shard_on"},
      {with_properties(p, R"(,"where":[])"), "1:63 where: value has the wrong type"},
      {with_properties(p, R"(,"where":"a")"), "1:63 where: value has the wrong type", "an object"},
      {with_properties(p, R"(,"where":{"k":[]})"), "1:68 k: value is not a scalar", "a number"},
      {with_properties(p, R"(,"where":{"k":{}})"), "1:68 k: value is not a scalar"},
      {with_properties(p, R"(,"where":{"k":1,"":1})"), "1:70 -: invalid property path"},
      {with_properties(p, R"(,"where":{"a..b":1})"), "1:64 a..b: invalid property path"},
      {with_properties(p, R"(,"immutable":"yes")"), "1:67 immutable: value has the wrong type", "true or false"},
      {with_properties(R"({"name":"p","type":"int","each":true})", R"(,"immutable":true)"),
       "1:67 immutable: immutable cannot be combined with each", "one row per entity"},
      {with_properties(p, R"(,"shard_on":"p","unique":1)"), "1:79 unique: value has the wrong type"},
      {with_properties(p, R"(,"unique":true)"), "1:55 unique: unique needs shard_on"},
  };
  for (const std::string table : {"", "9a", "_a", "a-b", "a b", "a`b", "\u00e9", "a.b"}) {
    bad.push_back({with_table(table), "1:11 table: invalid table name", "letter"});
  }
  bad.push_back({with_table(std::string(65, 'x')), "1:11 table: invalid table name", "63"});
  for (const char* const table : {"entities", "Entities", "looseleaf_index", "LOOSELEAF_x"}) {
    bad.push_back({with_table(table), "1:11 table: reserved table name"});
  }
  for (const char* const path : {"", ".", ".a", "a.", "a..b", "a\\n", "a\\u0000", "a\x7f"}) {
    bad.push_back({with_name(path), "1:36 name: invalid property path"});
  }
  for (const char* const character : {"x", "\u20ac"}) {
    bad.push_back(
        {with_name(repeated(character, 65)), "1:36 name: property path is too long for a column name", "1 character"});
  }
  for (const char* const path : {"\U0001F600", "a "}) {
    bad.push_back({with_name(path), "1:36 name: property path cannot be a column name"});
  }
  for (const char* const path : {"entity_id", "Entity_ID"}) {
    bad.push_back({with_name(path), "1:36 name: property is called entity_id"});
  }
  return bad;
}

}  // namespace looseleaf::test
