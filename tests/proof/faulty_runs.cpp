// Runs of the program in which calls fail.
#include "tests/proof/faulty_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "tests/support/expectations.hpp"
#include "tests/support/proof.hpp"

namespace looseleaf::test {
namespace {

#ifdef LOOSELEAF_FAULTY_SYSTEM
constexpr const char* faulty_system = LOOSELEAF_FAULTY_SYSTEM;
#else
constexpr const char* faulty_system = nullptr;
#endif

// The library whose call failed: the innermost one that is neither the language's nor the system's.
std::string asking_library(const std::string& trace) {
  constexpr std::array<std::string_view, 4> below = {"faulty_system", "/libc.so", "/libstdc++.so", "/ld-linux"};
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const std::string library = line.substr(0, line.find('('));
    const bool is_frame = line.starts_with('/') && line.ends_with(']');
    const bool is_below = std::any_of(below.begin(), below.end(),
                                      [&](std::string_view name) { return library.find(name) != std::string::npos; });
    if (is_frame && !is_below) {
      return library;
    }
  }
  return {};
}

}  // namespace

cli::ProcessResult run_with_faults(const TestCluster& cluster, const std::vector<std::string>& settings,
                                   const std::vector<std::string>& arguments, std::string_view input,
                                   const std::string& program) {
  const std::vector<std::string> env = {"timeout", "--kill-after=5", "60", "env",
                                        fmt::format("LD_PRELOAD={}", faulty_system)};
  const std::vector<std::string> command = joined({program, "--cluster", cluster.file()}, arguments);
  cli::ProcessResult result = run(joined(joined(env, settings), command), input);
  constexpr int timed_out = 124, killed = 128 + SIGKILL;  // by timeout
  CHECK(result.status != timed_out);
  CHECK(result.status != killed);
  return result;
}

CallCounts count_calls(const TestCluster& cluster, const std::vector<std::string>& arguments, std::string_view input,
                       const std::string& program) {
  const std::string report = cluster.directory().path() + "/calls";
  const cli::ProcessResult result = run_with_faults(cluster, {"FAULTY_REPORT=" + report}, arguments, input, program);
  INFO(result.err);
  REQUIRE(result.status == 0);
  CallCounts counts;
  std::ifstream(report) >> counts.allocations >> counts.threads;
  REQUIRE(counts.allocations > 100);
  return counts;
}

bool client_library_crashed(const cli::ProcessResult& result) {
  const std::string library = asking_library(result.err);
  return result.status > 128 &&
         (library.find("/libmariadb") != std::string::npos || library.find("/libmysqlc") != std::string::npos);
}

void check_ending(const cli::ProcessResult& result) {
  INFO("standard error: ", result.err);
  CHECK((result.status == 0 || result.status == 3));
  CHECK((result.status == 0 || result.err.find("looseleaf: error: ") != std::string::npos));
}

std::uint64_t for_each_number(std::uint64_t last, std::chrono::seconds budget,
                              const std::function<void(std::uint64_t)>& run) {
  const std::uint64_t seed = run_seed();
  CAPTURE(seed);
  std::vector<std::uint64_t> numbers(last);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(seed));
  const auto end = std::chrono::steady_clock::now() + budget;
  std::uint64_t done = 0;
  for (const std::uint64_t number : numbers) {
    if (!full_run() && std::chrono::steady_clock::now() >= end) {
      break;
    }
    CAPTURE(number);
    run(number);
    ++done;
  }
  return done;
}

}  // namespace looseleaf::test
