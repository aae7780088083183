// A replica takes over a shard under load, again and again.
#include "tests/proof/failover_rounds.hpp"

#include <doctest/doctest.h>

namespace looseleaf::test {
namespace {

TEST_CASE("while a replica takes over again and again, nothing is lost and nothing false is reported") {
  failover::run_rounds<Replicated>("failover-rounds");
}

}  // namespace
}  // namespace looseleaf::test
