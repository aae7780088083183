// The logs of long runs, in docs/proof/.
#include "tests/support/proof.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>

#include "tests/support/test_servers.hpp"

namespace looseleaf::test {
namespace {

std::string commit() {
  std::string text = run({"git", "-C", LOOSELEAF_SOURCE_DIR, "describe", "--always", "--dirty", "--abbrev=12"}).out;
  return text.substr(0, text.find('\n'));
}

}  // namespace

bool full_run() {
  const char* const full = std::getenv("LOOSELEAF_FULL");
  return full != nullptr && std::string(full) == "1";
}

std::uint64_t run_seed() {
  const char* const seed = std::getenv("LOOSELEAF_SEED");
  return seed != nullptr ? std::stoull(seed) : std::random_device{}();
}

void log_proof(const std::string& name, const std::vector<std::pair<std::string, std::string>>& lines) {
  std::string text;
  for (const auto& [key, value] : lines) {
    text += fmt::format("- {}: {}\n", key, value);
  }
  fmt::print("{}:\n{}", name, text);
  if (!full_run()) {
    return;
  }
  const std::string path = fmt::format("{}/docs/proof/{}-{}.md", LOOSELEAF_SOURCE_DIR, name, looseleaf_flavour());
  std::ofstream file(path);
  file << fmt::format("# {}, {}\n\n- date: {:%Y-%m-%d %H:%M} UTC\n- commit: {}\n{}", name, looseleaf_flavour(),
                      fmt::gmtime(std::time(nullptr)), commit(), text);
  if (!file.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace looseleaf::test
