// A consumer of the feed during a crash round: `changes --follow`, killed and started again from its last position.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/proof/crash_consumer.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

class CrashFollower {
 public:
  // `bodies` is what the store holds now, and nobody is at work. With `position_first`, it stores the position of a
  // batch before it stores the batch, and so forgets the batch if it is killed: the control.
  CrashFollower(const TestCluster& cluster, const std::map<std::string, std::string>& bodies, bool position_first);

  // Kills it once it has printed something, or after 3 s, and starts another one where it had come to.
  void kill();
  // Ends it, and reads what is left, with the servers running.
  void end();

  // After end():
  [[nodiscard]] const CrashConsumer& consumer() const { return consumer_; }
  // What should not have happened.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  void start();
  void take(const std::string& out, bool killed);

  const TestCluster& cluster_;
  const bool position_first_;
  CrashConsumer consumer_;
  std::unique_ptr<cli::Process> process_;
  std::string position_;
  std::vector<std::string> troubles_;
};

}  // namespace looseleaf::test
