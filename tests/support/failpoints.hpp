// For test cases that need the program's failpoints: TEST_CASE("…" * needs_failpoints).
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {

inline const doctest::skip needs_failpoints(!base::failpoints_enabled);

// Runs a command, and returns its result and the steps that it passed: "STEP:before@SHARD" and "STEP:after@SHARD", one
// a line.
inline std::pair<cli::ProcessResult, std::string> run_traced(const TestCluster& cluster,
                                                             const std::vector<std::string>& command,
                                                             const std::string& input = {}) {
  const std::string trace = cluster.directory().write("trace", "");
  const cli::ProcessResult result = run(
      joined({"env", "LOOSELEAF_FAILPOINT_TRACE=" + trace, looseleaf_program(), "--cluster", cluster.file()}, command),
      input);
  return {result, read_text(trace)};
}

}  // namespace looseleaf::test
