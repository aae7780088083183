// A server that takes connections and says nothing, as long as the object lives.
#pragma once

#include <signal.h>

#include <cstdint>
#include <stdexcept>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

class HungServer {
 public:
  HungServer(const TestCluster& cluster, std::uint32_t number) : pid_(cluster.sandbox().server(number).pid) {
    if (::kill(pid_, SIGSTOP) != 0) {
      throw std::runtime_error("the server cannot be stopped");
    }
  }
  HungServer(const HungServer&) = delete;
  HungServer& operator=(const HungServer&) = delete;
  ~HungServer() { ::kill(pid_, SIGCONT); }

 private:
  const pid_t pid_;
};

}  // namespace looseleaf::test
