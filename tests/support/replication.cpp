#include "tests/support/replication.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace looseleaf::test {

std::vector<std::string> replication_arguments() {
  return {"--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1"};
}

LogPosition log_end(const TestCluster& servers, std::uint32_t server) {
  const std::string state =
      servers.server_sql(server, looseleaf_flavour() == "mysql" ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS");
  const std::size_t tab = state.find('\t');
  return {state.substr(0, tab), state.substr(tab + 1, state.find('\t', tab + 1) - tab - 1)};
}

void start_replica(const TestCluster& servers, std::uint32_t replica, std::uint16_t source_port,
                   const LogPosition& from) {
  const char* const mysql =
      "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={}, SOURCE_USER='root', "
      "SOURCE_LOG_FILE='{}', SOURCE_LOG_POS={}, SOURCE_SSL=0, GET_SOURCE_PUBLIC_KEY=1; START REPLICA";
  const char* const mariadb =
      "SET default_master_connection = 'feed'; CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={}, "
      "MASTER_USER='root', "
      "MASTER_LOG_FILE='{}', MASTER_LOG_POS={}; START SLAVE";
  servers.server_sql(replica, fmt::format(fmt::runtime(looseleaf_flavour() == "mysql" ? mysql : mariadb), source_port,
                                          from.file, from.offset));
}

void end_replica(const TestCluster& servers, std::uint32_t replica, const LogPosition& until) {
  const bool mysql = looseleaf_flavour() == "mysql";
  const std::string waited = servers.server_sql(
      replica,
      fmt::format("{}('{}', {}, 30) >= 0",
                  mysql ? "SELECT SOURCE_POS_WAIT" : "SET default_master_connection = 'feed'; SELECT MASTER_POS_WAIT",
                  until.file, until.offset));
  if (waited != "1\n") {
    throw std::runtime_error("a replica does not follow: " + waited);
  }
  servers.server_sql(replica, mysql ? "STOP REPLICA; RESET REPLICA ALL"
                                    : "SET default_master_connection = 'feed'; STOP SLAVE; RESET SLAVE ALL");
}

}  // namespace looseleaf::test
