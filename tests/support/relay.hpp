// A port of loopback that leads to a server's socket, whatever is spoken: TLS too, which a FaultProxy cannot pass on.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "cli/files/descriptor.hpp"

namespace looseleaf::test {

class Relay {
 public:
  explicit Relay(std::string socket);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  [[nodiscard]] std::uint16_t port() const;

 private:
  using Pair = std::pair<cli::Descriptor, cli::Descriptor>;  // client and server

  void run();
  void accept();

  std::string socket_;
  cli::Descriptor listener_, wake_reader_{-1}, wake_writer_{-1};
  std::list<Pair> connections_;  // of the thread alone
  std::thread thread_;
};

}  // namespace looseleaf::test
