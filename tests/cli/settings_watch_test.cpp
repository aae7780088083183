// The control of what watches the shared servers' settings: this case must be found to leave one changed. CTest asks
// for it by --no-skip and requires the complaint.
#include <doctest/doctest.h>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
namespace {

TEST_CASE("a test case that leaves a setting of the shared servers changed" * doctest::skip()) {
  const TestCluster cluster = TestCluster::shared();
  cluster.server_sql(1, "SET GLOBAL max_connections = 77");
}

}  // namespace
}  // namespace looseleaf::test
