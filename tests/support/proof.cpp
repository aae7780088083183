// The logs of long runs, in build/proof/.
#include "tests/support/proof.hpp"

#include <doctest/doctest.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string commit() {
  const std::vector<std::string> git = {"git", "-C", LOOSELEAF_SOURCE_DIR};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), git.begin(), git.end());
    return run(arguments);
  };
  const bool changed = with({"diff", "--quiet", "HEAD"}).status != 0;
  return first_line(with({"rev-parse", "--short=12", "HEAD"}).out) + (changed ? ", with changes" : "");
}

int failures = 0;
std::optional<std::uint64_t> seed_of_case;
std::chrono::steady_clock::time_point case_start;

// Counts what has failed in this program.
class FailureCounter : public doctest::IReporter {
 public:
  explicit FailureCounter(const doctest::ContextOptions&) {}
  void log_assert(const doctest::AssertData& assertion) override { failures += assertion.m_failed ? 1 : 0; }
  void log_message(const doctest::MessageData& message) override {
    failures += message.m_severity != doctest::assertType::is_warn ? 1 : 0;
  }
  void test_case_exception(const doctest::TestCaseException&) override { ++failures; }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override {
    seed_of_case.reset();
    case_start = std::chrono::steady_clock::now();
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("failures", 1, FailureCounter);

}  // namespace

bool full_run() {
  const char* const full = std::getenv("LOOSELEAF_FULL");
  return full != nullptr && std::string(full) == "1";
}

std::uint64_t wanted_rounds(std::uint64_t in_short_run, std::uint64_t in_full_run) {
  const char* const rounds = std::getenv("LOOSELEAF_ROUNDS");
  return rounds != nullptr ? std::stoull(rounds) : full_run() ? in_full_run : in_short_run;
}

std::uint64_t run_seed() {
  const char* const seed = std::getenv("LOOSELEAF_SEED");
  return seed_of_case.emplace(seed != nullptr ? std::stoull(seed) : std::random_device{}());
}

std::uint64_t print_run_seed() {
  const std::uint64_t seed = run_seed();
  fmt::print("LOOSELEAF_SEED={}\n", seed);
  std::fflush(stdout);
  return seed;
}

void log_proof(const std::string& name, const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string text = seed_of_case ? fmt::format("- seed: {}\n", *seed_of_case) : std::string();
  for (const auto& [key, value] : lines) {
    text += fmt::format("- {}: {}\n", key, value);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - case_start;
  text += fmt::format("- seconds: {:.0f}\n- assertions that failed: {}\n", took.count(), std::exchange(failures, 0));
  fmt::print("{}:\n{}", name, text);
  if (!full_run()) {
    return;
  }
  const std::string folder = fmt::format("{}/build/proof", LOOSELEAF_SOURCE_DIR);
  std::filesystem::create_directories(folder);
  const std::string path = fmt::format("{}/{}-{}.md", folder, name, looseleaf_flavour());
  std::ofstream file(path);
  file << fmt::format("# {}, {}\n\n- date: {:%Y-%m-%d %H:%M} UTC\n- commit: {}\n- server: {}\n{}", name,
                      looseleaf_flavour(), fmt::gmtime(std::time(nullptr)), commit(), cli::find_server({}).version,
                      text);
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace looseleaf::test
