#include "tests/support/replication.hpp"

#include <fmt/format.h>

namespace looseleaf::test {

std::vector<std::string> replication_arguments() {
  return {"--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1"};
}

void start_replica(const TestCluster& servers, std::uint32_t replica, std::uint16_t source_port) {
  const char* const mysql =
      "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={}, SOURCE_USER='root', "
      "SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=4, SOURCE_SSL=0, GET_SOURCE_PUBLIC_KEY=1; START REPLICA";
  const char* const mariadb =
      "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, MASTER_USER='root', "
      "MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4; START SLAVE";
  servers.server_sql(replica, fmt::format(fmt::runtime(looseleaf_flavour() == "mysql" ? mysql : mariadb), source_port));
}

}  // namespace looseleaf::test
