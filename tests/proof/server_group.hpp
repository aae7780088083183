// A shard on MySQL's group replication.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/proof/faulty_servers.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// Shard 0 is on a group of three servers, of which one is the primary; shard 1 is on a server of its own. The program
// reaches the primary through a proxy, as through a router.
class ServerGroup : public AppProgram {
 public:
  ServerGroup();

  void signal(std::uint32_t member, int number) const;
  // The proxy leads to the one of these members that becomes the primary.
  void follow_primary(const std::vector<std::uint32_t>& among);

  // The primary dies.
  void demote() const;
  // The program reaches the member that takes its place.
  void promote();
  // The member that died starts again and joins the others. It copies what it lacks from the primary.
  void rejoin();

 private:
  // Tries it with a few ports: another process may have taken one meanwhile.
  void join(std::uint32_t member);
  void join_by_its_port(std::uint32_t member) const;
  // How many members are online, as this one sees it.
  [[nodiscard]] std::uint32_t online(std::uint32_t member) const;

  FaultProxy recovery_;  // who joins copies from where it leads
  TestCluster servers_;
  FaultProxy to_primary_;
  std::vector<std::uint16_t> ports_;  // of the members, for each other
  std::uint32_t primary_ = 0, dead_ = 0;
};

}  // namespace looseleaf::test
