// For test cases that need the program's failpoints: TEST_CASE("…" * needs_failpoints).
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

inline const doctest::skip needs_failpoints(!base::failpoints_enabled);

// The program beside the test, with failpoints, and the steps that it has passed.
class TracedProcess {
 public:
  TracedProcess(const TestCluster& cluster, const std::vector<std::string>& arguments,
                const std::string& failpoints = {}, std::string_view input = {})
      : trace_(cluster.directory().write("trace", "")),
        process_(start(joined({"env", "LOOSELEAF_FAILPOINT=" + failpoints, "LOOSELEAF_FAILPOINT_TRACE=" + trace_,
                               looseleaf_program(), "--cluster", cluster.file()},
                              arguments),
                       input)) {}

  cli::Process& operator*() { return process_; }
  cli::Process* operator->() { return &process_; }

  // The steps so far: "STEP:before@SHARD" and "STEP:after@SHARD", one a line.
  [[nodiscard]] std::string steps() const { return read_text(trace_); }
  [[nodiscard]] bool has_passed(const std::string& step) const { return contains("\n" + steps(), "\n" + step + "\n"); }
  void wait_for(const std::string& step) const {
    wait_until("it passes " + step, [&] { return has_passed(step); });
  }

 private:
  std::string trace_;
  cli::Process process_;
};

// Runs a command, and returns its result and its steps.
inline std::pair<cli::ProcessResult, std::string> run_traced(const TestCluster& cluster,
                                                             const std::vector<std::string>& command,
                                                             const std::string& input = {}) {
  TracedProcess process(cluster, command, {}, input);
  const cli::ProcessResult result = process->wait();
  return {result, process.steps()};
}

}  // namespace looseleaf::test
