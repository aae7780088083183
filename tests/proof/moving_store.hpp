// A store that moves to another cluster while workers write to it and read it, which go on there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/proof/history_processes.hpp"

namespace looseleaf::test {

// LOOSELEAF_OTHER_SERVER: the server program, or its folder, of the other cluster; else the one on which all tests run.
[[nodiscard]] std::string other_server();

// The arguments of `looseleaf`.
[[nodiscard]] std::vector<std::string> copy_to(const HistoryFixture& other,
                                               const std::vector<std::string>& options = {});

class MovingWorkers {
 public:
  // They go on until the store has moved, and then for some time. No other workers have this name. Both stores must
  // outlive the object.
  MovingWorkers(HistoryFixture& original, HistoryFixture& other, std::uint64_t seed, const std::string& name);

  // Waits for their end, and adds what they did to the history of the other store. Returns what they could not do.
  std::string end();

 private:
  HistoryFixture& original_;
  HistoryFixture& other_;
  std::vector<std::string> users_;
  std::vector<Worker> workers_;
};

}  // namespace looseleaf::test
