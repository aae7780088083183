// A server that replicates another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// Arguments for servers of which one is to replicate another: see TestClusterOptions.
[[nodiscard]] std::vector<std::string> replication_arguments();

// Makes one of these servers replicate what listens on a port of loopback, from the first of its binary logs on. Test
// servers have no ports of their own: a FaultProxy has.
void start_replica(const TestCluster& servers, std::uint32_t replica, std::uint16_t source_port);

}  // namespace looseleaf::test
