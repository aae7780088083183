// Which shards are on the same server.
#include "server/connector.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace looseleaf::server {
namespace {

TEST_CASE("shards with the same address, user and tls settings are on the same server, whatever their databases") {
  const Cluster cluster = Cluster::parse(R"({"user": "app", "ssl_mode": "disabled", "shards": [
      "db1/a", "db2/b", "db1/c", {"host": "db1", "database": "d", "user": "other"},
      {"host": "db2", "database": "e", "user": "app"}, {"host": "db2", "database": "f", "ssl_mode": "required"}]})",
                                         "cluster.json");
  const Options options;
  base::Warnings warnings(options.on_warning);
  const Connector connector(cluster, options, warnings);
  std::vector<std::uint32_t> servers;
  for (std::uint32_t shard = 0; shard < cluster.shards.size(); ++shard) {
    servers.push_back(connector.server_of(shard));
  }
  CHECK(servers == std::vector<std::uint32_t>{0, 1, 0, 2, 1, 3});
  CHECK(connector.servers() == 4);
}

}  // namespace
}  // namespace looseleaf::server
