// The cluster file.
#include <doctest/doctest.h>

#include <cstdlib>
#include <looseleaf/cluster.hpp>
#include <looseleaf/error.hpp>
#include <string>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/parsed_files.hpp"

using namespace looseleaf;

namespace {

Cluster parse(const std::string& text) {
  test::remember_file("cluster", text);
  return Cluster::parse(text, "/etc/looseleaf/cluster.json");
}

ShardConfig first_shard(const std::string& shard) {
  return parse("{\"shards\":[" + shard + "]}").shards.at(0);
}

// "line:column key: what"
std::string complaint_about(const std::string& text, std::string* hint = nullptr) {
  try {
    static_cast<void>(parse(text));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_cluster);
    CHECK(test::context_of(error, "file") == "/etc/looseleaf/cluster.json");
    CHECK(test::is_worded_as_hint(error.hint()));
    if (hint != nullptr) {
      *hint = error.hint();
    }
    return test::place_of(error) + " " + test::context_of(error, "key") + ": " + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the documented example is read") {
  setenv("HOME", "/home/app", 1);
  const Cluster cluster = parse(R"({
    "$schema": "schemas/cluster.schema.json",
    "cluster_id": "f48b0440ca0c4d34b0f50123456789ab",
    "shards": ["127.0.0.1:3306", "127.0.0.1:3307/looseleaf_1",
               {"socket": "/run/mysqld/a.sock", "database": "looseleaf_2", "option_group": "shard2"}],
    "user": "app", "defaults_file": "~/.my.cnf", "ssl_mode": "verify-identity"
  })");
  CHECK(cluster.file == "/etc/looseleaf/cluster.json");
  CHECK(cluster.cluster_id == Uuid::parse("f48b0440ca0c4d34b0f50123456789ab"));
  CHECK(cluster.user == "app");
  CHECK(cluster.defaults_file == "/home/app/.my.cnf");
  CHECK(cluster.tls.mode == SslMode::verify_identity);
  REQUIRE(cluster.shards.size() == 3);
  CHECK(cluster.shards[0].address == Address{"127.0.0.1", 3306, ""});
  CHECK(cluster.shards[0].database == "looseleaf");
  CHECK(cluster.shards[1].address == Address{"127.0.0.1", 3307, ""});
  CHECK(cluster.shards[1].database == "looseleaf_1");
  CHECK(cluster.shards[2].address == Address{"", 3306, "/run/mysqld/a.sock"});
  CHECK(cluster.shards[2].database == "looseleaf_2");
  CHECK(cluster.shards[2].option_group == "shard2");
}

TEST_CASE("a shard's string is host, port and database") {
  struct Case {
    const char* text;
    Address address;
    const char* database;
  };
  const std::vector<Case> cases = {
      {"db1:3307", {"db1", 3307, ""}, "looseleaf"},
      {"db1", {"db1", 3306, ""}, "looseleaf"},
      {"db1/x", {"db1", 3306, ""}, "x"},
      {"[::1]:3307/x", {"::1", 3307, ""}, "x"},
      {"[fe80::2]", {"fe80::2", 3306, ""}, "looseleaf"},
      {"db1:65535/a/b", {"db1", 65535, ""}, "a/b"},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    const ShardConfig shard = first_shard("\"" + std::string(expected.text) + "\"");
    CHECK(shard.address == expected.address);
    CHECK(shard.database == expected.database);
  }
}

TEST_CASE("a shard's object may give everything of its own") {
  const ShardConfig shard = first_shard(R"({"host": "db1", "port": 3307, "database": "d", "user": "u",
      "option_group": "g", "ssl_mode": "required", "ssl_ca": "ca.pem", "ssl_capath": "../ca", "ssl_cert": "/c.pem",
      "ssl_key": "keys/k.pem", "replicas": ["db2:3308", "[::1]:3309", "/run/r.sock"]})");
  ShardConfig expected;
  expected.address = {"db1", 3307, ""};
  expected.database = "d";
  expected.user = "u";
  expected.option_group = "g";
  expected.tls = {SslMode::required, "/etc/looseleaf/ca.pem", "/etc/ca", "/c.pem", "/etc/looseleaf/keys/k.pem"};
  expected.replicas = {{"db2", 3308, ""}, {"::1", 3309, ""}, {"", 3306, "/run/r.sock"}};
  CHECK(shard == expected);
}

TEST_CASE("relative paths are relative to the cluster file's folder") {
  CHECK(first_shard(R"({"socket": "run/a.sock"})").address.socket == "/etc/looseleaf/run/a.sock");
  CHECK(parse(R"({"shards":["a"],"defaults_file":"my.cnf"})").defaults_file == "/etc/looseleaf/my.cnf");
}

TEST_CASE("shards may share a server with distinct databases, or a database name on distinct servers") {
  CHECK(parse(R"({"shards":["a/x","a/y","a:3307/x","b/x",{"socket":"/s"},{"socket":"/t"}]})").shards.size() == 6);
}

TEST_CASE("what is wrong is named with its place") {
  struct Case {
    std::string text;
    const char* complaint;
  };
  const std::vector<Case> cases = {
      {"", "1:1 -: syntax error"},
      {"[]", "1:1 -: not a JSON object"},
      {"{\n\"shards\": [\"a\"],\n\"user\": \"x\", \"user\": \"y\"}", "3:14 user: duplicate key"},
      {"{}", "1:1 -: no shards"},
      {R"({"shards": []})", "1:12 shards: number of shards is out of range"},
      {R"({"shards": "a"})", "1:12 shards: value has the wrong type"},
      {R"({"shards": [7]})", "1:13 -: not a JSON object"},
      {"{\"shards\": [\"a\"],\n  \"shard\": 1}", "2:3 shard: unknown key"},
      {R"({"shards": [{"host": "a", "hots": 1}]})", "1:27 hots: unknown key"},
      {R"({"shards": ["a"], "user": 7})", "1:27 user: value has the wrong type"},
      {R"({"shards": ["a"], "$schema": 7})", "1:30 $schema: value has the wrong type"},
      {R"({"shards": ["a"], "cluster_id": "x"})", "1:33 cluster_id: cluster_id is not a UUID"},
      {R"({"shards": ["a"], "ssl_mode": "on"})", "1:31 ssl_mode: unknown ssl_mode"},
      {R"({"shards": ["a"], "max_connections": 3})", "1:38 max_connections: max_connections is out of range"},
      {R"({"shards": ["a"], "max_connections": 1001})", "1:38 max_connections: max_connections is out of range"},
      {R"({"shards": ["a"], "max_connections": "8"})", "1:38 max_connections: value has the wrong type"},
      {R"({"shards": ["a"], "timeout": 0})", "1:30 timeout: timeout is out of range"},
      {R"({"shards": ["a"], "timeout": 31622401})", "1:30 timeout: timeout is out of range"},
      {R"({"shards": ["a"], "timeout": "8"})", "1:30 timeout: value has the wrong type"},
      {R"({"shards": ["a"], "password": "x"})", "1:19 password: the cluster file contains a password"},
      {R"({"shards": [{"host": "a", "password": "x"}]})", "1:27 password: the cluster file contains a password"},
      {R"({"shards": ["b", "a", "A:3306/looseleaf"]})", "1:23 -: two shards have the same database"},
      {R"({"shards": [{"socket": "/s"}, {"socket": "/s"}]})", "1:31 -: two shards have the same database"},
      {R"({"shards": [""]})", "1:13 -: invalid address"},
      {R"({"shards": [":3306"]})", "1:13 -: invalid address"},
      {R"({"shards": ["::1:3306"]})", "1:13 -: invalid address"},
      {R"({"shards": ["[::1"]})", "1:13 -: invalid address"},
      {R"({"shards": ["[::1]x"]})", "1:13 -: invalid address"},
      {R"({"shards": ["/run/s.sock"]})", "1:13 -: invalid address"},
      {R"({"shards": ["a:"]})", "1:13 -: invalid port number"},
      {R"({"shards": ["a:0"]})", "1:13 -: invalid port number"},
      {R"({"shards": ["a:65536"]})", "1:13 -: invalid port number"},
      {R"({"shards": ["a:-1"]})", "1:13 -: invalid port number"},
      {R"({"shards": [{"host": "a", "port": 65536}]})", "1:35 port: invalid port number"},
      {R"({"shards": [{"host": "a", "port": 18446744073709551615}]})", "1:35 port: invalid port number"},
      {R"({"shards": [{"host": "a", "port": "1"}]})", "1:35 port: value has the wrong type"},
      {R"({"shards": [{"database": "x"}]})", "1:13 -: shard has no address"},
      {R"({"shards": [{"socket": "/s", "host": "a"}]})", "1:14 socket: socket is empty or combined with host or port"},
      {R"({"shards": ["a/"]})", "1:13 -: invalid database name"},
      {R"({"shards": [{"host": "a", "database": ""}]})", "1:39 database: invalid database name"},
      {R"({"shards": [{"host": "a", "database": "x\n"}]})", "1:39 database: invalid database name"},
      {R"({"shards": ["a/)" + std::string(65, 'x') + R"("]})", "1:13 -: invalid database name"},
      {R"({"shards": [{"host": "a", "replicas": ["b", 7]}]})", "1:45 -: value has the wrong type"},
      {R"({"shards": [{"host": "a", "replicas": ["b:x"]}]})", "1:40 -: invalid port number"},
      {R"({"shards": [{"host": "a", "replicas": ["b/x"]}]})", "1:40 -: invalid address"},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.text);
    CHECK(complaint_about(expected.text) == expected.complaint);
  }
}

TEST_CASE("hints say what to do") {
  std::string hint;
  complaint_about(R"({"shrads": ["a"]})", &hint);
  CHECK(hint == "did you mean \"shards\"?");
  complaint_about(R"({"weather": 1, "shards": ["a"]})", &hint);
  CHECK(hint.rfind("use one of the keys $schema, cluster_id, shards", 0) == 0);
  complaint_about(R"({"shards": ["a"], "password": "hunter2"})", &hint);
  CHECK(hint.find("LOOSELEAF_PASSWORD_FILE") != std::string::npos);
  CHECK(hint.find("hunter2") == std::string::npos);
}

TEST_CASE("of a file that is not JSON it is said what to write instead") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {" \n", "write one JSON value; there is only white space"},
      {"{\"shards\": [\"a\"]", "close every bracket, brace and quotation mark; the text ends too early"},
      {"{\"shards\": [\"a", "close every bracket, brace and quotation mark; the text ends too early"},
      {"// ours\n{}", "delete the comment; JSON has no comments"},
      {"{\"shards\": [\"a\"], # ours\n}", "delete the comment; JSON has no comments"},
      {"{'shards': ['a']}", "put double quotes around strings and keys"},
      {"{\"shards\": [\"a\",]}", "delete the comma before it"},
      {"{\"shards\": [\"a\"],\n}", "delete the comma before it"},
      {"{\"shards\": [\"a\"]}}", "if this is the right text, delete what follows the first value"},
      {"{\"shards\": [\"\xFF\"]}", "convert the input to UTF-8"},
      {"{\"shards\": [\"a\"], \"shards\": []}", "keep one of the two members"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    std::string hint = "none";
    CHECK(complaint_about(text, &hint) != "accepted");
    CHECK(hint == expected);
  }
}

TEST_CASE("a database name may have 64 characters and a cluster 4096 shards") {
  CHECK(complaint_about(R"({"shards": ["a/)" + std::string(64, 'x') + R"("]})") == "accepted");
  CHECK(complaint_about("{\"shards\": [\"a/\U0001F600\"]}") == "1:13 -: invalid database name");
  const auto shards = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += (i == 0 ? "\"a/" : ",\"a/") + std::to_string(i) + "\"";
    }
    return "{\"shards\":[" + list + "]}";
  };
  CHECK(parse(shards(4096)).shards.size() == 4096);
  CHECK(complaint_about(shards(4097)) == "1:11 shards: number of shards is out of range");
}

TEST_CASE("a file that is not there is named") {
  const Error error = test::error_of([] { return Cluster::load("/nonexistent/cluster.json"); });
  CHECK(error.code() == ErrorCode::bad_cluster);
  CHECK(test::context_of(error, "file") == "/nonexistent/cluster.json");
  CHECK(test::context_of(error, "reason") == "No such file or directory");
}
