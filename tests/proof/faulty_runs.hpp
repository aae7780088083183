// Runs of the program in which calls fail (faulty_system.cpp), and how such a run may end.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// For test cases in which calls fail: skipped with a sanitizer, which stands in for the same calls.
#ifdef LOOSELEAF_FAULTY_SYSTEM
inline const doctest::skip needs_faults(false);
#else
inline const doctest::skip needs_faults(true);
#endif

// `settings` are those of faulty_system.cpp, "FAULTY_THREAD=1". A run that hangs is killed after a minute: status 124.
[[nodiscard]] cli::ProcessResult run_with_faults(const TestCluster& cluster, const std::vector<std::string>& settings,
                                                 const std::vector<std::string>& arguments, std::string_view input = {},
                                                 const std::string& program = looseleaf_program());

struct CallCounts {
  std::uint64_t allocations = 0, threads = 0;
};

// How many calls a run makes in which none fails.
[[nodiscard]] CallCounts count_calls(const TestCluster& cluster, const std::vector<std::string>& arguments,
                                     std::string_view input = {}, const std::string& program = looseleaf_program());

// Did the process crash after the client library had asked for the memory that it did not get? It does not check
// everywhere, and nobody outside can help that.
[[nodiscard]] bool client_library_crashed(const cli::ProcessResult& result);

// Checks that a run was done, or could not be and says why.
void check_ending(const cli::ProcessResult& result);

// Calls `run` with numbers from 1 to `last` in random order until `budget` is used up, in a full run with all of them.
// Returns how many that were.
std::uint64_t for_each_number(std::uint64_t last, std::chrono::seconds budget,
                              const std::function<void(std::uint64_t)>& run);

}  // namespace looseleaf::test
