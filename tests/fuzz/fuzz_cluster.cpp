// Cluster files: an accepted one names usable places only, and is the same after it was written out in full.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <looseleaf/cluster.hpp>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "tests/fuzz/oracle.hpp"

namespace {

using namespace looseleaf;
using fuzz::require;
using nlohmann::json;

constexpr const char* file = "/cluster/looseleaf.json";

void add(json& object, const char* key, const std::string& value) {
  if (!value.empty()) {
    object[key] = value;
  }
}

void add(json& object, const TlsSettings& tls) {
  add(object, "ssl_mode", tls.mode ? to_string(*tls.mode) : "");
  add(object, "ssl_ca", tls.ca);
  add(object, "ssl_capath", tls.ca_path);
  add(object, "ssl_cert", tls.cert);
  add(object, "ssl_key", tls.key);
}

json written(const ShardConfig& shard) {
  json object = {{"database", shard.database}};
  if (shard.address.socket.empty()) {
    object["host"] = shard.address.host;
    object["port"] = shard.address.port;
  } else {
    object["socket"] = shard.address.socket;
  }
  add(object, "user", shard.user);
  add(object, "option_group", shard.option_group);
  add(object, shard.tls);
  for (const Address& replica : shard.replicas) {
    object["replicas"].push_back(to_string(replica));
  }
  return object;
}

std::string written(const Cluster& cluster) {
  json object = {{"shards", json::array()}};
  for (const ShardConfig& shard : cluster.shards) {
    object["shards"].push_back(written(shard));
  }
  add(object, "cluster_id", cluster.cluster_id ? to_string(*cluster.cluster_id) : "");
  add(object, "user", cluster.user);
  add(object, "defaults_file", cluster.defaults_file);
  add(object, cluster.tls);
  return object.dump();
}

void check_address(const Address& address) {
  require(address.socket.empty() != address.host.empty(), "a server has either a socket or a host");
  require(address.socket.empty() || address.socket.front() == '/', "the path of a socket is absolute");
  require(address.port != 0, "a server has a port");
}

void check_cluster(const Cluster& cluster) {
  require(!cluster.shards.empty() && cluster.shards.size() <= 4096, "the number of shards is in range");
  std::set<std::tuple<std::string, std::string, std::uint16_t, std::string>> places;
  for (const ShardConfig& shard : cluster.shards) {
    const Address& address = shard.address;
    check_address(address);
    for (const Address& replica : shard.replicas) {
      check_address(replica);
    }
    require(!shard.database.empty(), "a shard has a database");
    require(places.emplace(address.socket, address.host, address.port, shard.database).second,
            "no two shards share a database");
  }
  const Cluster again = Cluster::parse(written(cluster), file);
  require(again.shards == cluster.shards && again.cluster_id == cluster.cluster_id && again.user == cluster.user &&
              again.defaults_file == cluster.defaults_file && again.tls == cluster.tls,
          "a cluster written out in full means the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ::setenv("HOME", "/home/somebody", 1);
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::optional<Cluster> cluster;
  try {
    cluster = Cluster::parse(text, file);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_cluster, "a cluster file is refused as a bad cluster file");
    require(test::context_of(error, "file") == file, "a complaint names the file");
    fuzz::require_place(error, text);
  }
  if (cluster) {
    check_cluster(*cluster);
  }
  return 0;
}
