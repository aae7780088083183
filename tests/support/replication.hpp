// A server that replicates another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// Arguments for servers of which one is to replicate another: see TestClusterOptions.
[[nodiscard]] std::vector<std::string> replication_arguments();

// A place in a server's binary log.
struct LogPosition {
  std::string file = "binlog.000001";
  std::string offset = "4";
};

// Where the server's log ends.
[[nodiscard]] LogPosition log_end(const TestCluster& servers, std::uint32_t server);

// Makes one of these servers replicate what listens on a port of loopback, from a place in its log on. Test servers
// have no ports of their own: a FaultProxy has.
void start_replica(const TestCluster& servers, std::uint32_t replica, std::uint16_t source_port,
                   const LogPosition& from = {});
// Waits until a replica has everything up to a place in its source's log, and ends the replication.
void end_replica(const TestCluster& servers, std::uint32_t replica, const LogPosition& until);

}  // namespace looseleaf::test
