// A trigger during the crash rounds: three processes with one name, whose command keeps what it is given in files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/proof/crash_consumer.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

class CrashTrigger {
 public:
  // Starts the processes, with an account that has the privileges of a follower. `failpoint` is theirs.
  CrashTrigger(const TestCluster& cluster, const std::string& failpoint);

  // Waits a little for one of them, `number` modulo three, to be between a batch and its position, and kills it. Starts
  // another one in its place. False if it was not there when it died.
  bool kill(std::uint64_t number);
  // Nobody writes any more, and the servers run. Waits until everything is delivered.
  void catch_up();

  // After catch_up():
  [[nodiscard]] const CrashConsumer& consumer() const { return consumer_; }
  // What should not have happened since the last call.
  [[nodiscard]] std::vector<std::string> take_troubles();

 private:
  void create_account() const;
  void start(std::size_t number);
  [[nodiscard]] std::string trace_of(std::size_t number) const;
  [[nodiscard]] bool is_behind();
  void take_files();

  const TestCluster& cluster_;
  const std::string failpoint_, directory_, file_;
  std::vector<std::unique_ptr<cli::Process>> processes_;
  CrashConsumer consumer_;
  std::vector<std::string> troubles_;
};

}  // namespace looseleaf::test
