// The cluster file.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/datastore.hpp>
#include <looseleaf/error.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/bad_files.hpp"
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
  const std::vector<std::tuple<std::string, Address, const char*>> cases = {
      {"db1:3307", {"db1", 3307, ""}, "looseleaf"},
      {"db1", {"db1", 3306, ""}, "looseleaf"},
      {"db1/x", {"db1", 3306, ""}, "x"},
      {"[::1]:3307/x", {"::1", 3307, ""}, "x"},
      {"[fe80::2]", {"fe80::2", 3306, ""}, "looseleaf"},
      {"db1:65535/a/b", {"db1", 65535, ""}, "a/b"},
  };
  for (const auto& [text, address, database] : cases) {
    CAPTURE(text);
    const ShardConfig shard = first_shard("\"" + text + "\"");
    CHECK(shard.address == address);
    CHECK(shard.database == database);
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

TEST_CASE("what is wrong is named with its place, and a hint says what to do") {
  for (const auto& [text, complaint, part_of_hint] : test::bad_cluster_files()) {
    CAPTURE(text);
    std::string hint;
    CHECK(complaint_about(text, &hint) == complaint);
    CHECK(hint.find(part_of_hint) != std::string::npos);
    CHECK(hint.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("of an unknown key the hint names the one that was probably meant, else all") {
  std::string hint;
  complaint_about(R"({"shrads": ["a"]})", &hint);
  CHECK(hint == "did you mean \"shards\"?");
  complaint_about(R"({"weather": 1, "shards": ["a"]})", &hint);
  CHECK(hint.rfind("use one of the keys $schema, cluster_id, shards", 0) == 0);
}

TEST_CASE("a database name may have 64 characters and a cluster 4096 shards") {
  CHECK(complaint_about(R"({"shards": ["a/)" + std::string(64, 'x') + R"("]})") == "accepted");
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

// A cluster without shards let a put divide by zero.
TEST_CASE("a cluster or options built in memory are refused where a file would be") {
  using std::chrono::milliseconds;
  Cluster good;
  good.shards.resize(1);
  good.shards.front().address.host = "db1";
  CHECK(Datastore::open(good).shard_count() == 1);
  const std::vector<std::tuple<std::function<void(Cluster&, Options&)>, ErrorCode, const char*>> cases = {
      {[](Cluster& cluster, Options&) { cluster.shards.clear(); }, ErrorCode::bad_cluster,
       "number of shards is out of range"},
      {[](Cluster& cluster, Options&) { cluster.shards.resize(max_shards + 1); }, ErrorCode::bad_cluster,
       "number of shards is out of range"},
      {[](Cluster& cluster, Options&) { cluster.max_connections = min_connections - 1; }, ErrorCode::bad_cluster,
       "max_connections is out of range"},
      {[](Cluster& cluster, Options&) { cluster.timeout = milliseconds(0); }, ErrorCode::bad_cluster,
       "timeout is out of range"},
      {[](Cluster&, Options& options) { options.max_connections = most_connections + 1; }, ErrorCode::usage,
       "max_connections is out of range"},
      {[](Cluster&, Options& options) { options.timeout = milliseconds::max(); }, ErrorCode::usage,
       "timeout is out of range"},
      {[](Cluster&, Options& options) { options.timeout = milliseconds(-1); }, ErrorCode::usage,
       "timeout is out of range"},
  };
  for (const auto& [change, code, complaint] : cases) {
    Cluster cluster = good;
    Options options;
    change(cluster, options);
    const Error error = test::error_of([&] { return Datastore::open(cluster, options); });
    CHECK(error.code() == code);
    CHECK(std::string(error.what()) == complaint);
    CHECK(test::is_worded_as_hint(error.hint()));
  }
}

TEST_CASE("a file that is not there is named") {
  const Error error = test::error_of([] { return Cluster::load("/nonexistent/cluster.json"); });
  CHECK(error.code() == ErrorCode::bad_cluster);
  CHECK(test::context_of(error, "file") == "/nonexistent/cluster.json");
  CHECK(test::context_of(error, "reason") == "No such file or directory");
}
