// What a consumer makes of the lines of `changes`.
#include "tests/proof/crash_follower.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr int terminated = 128 + SIGTERM;

}  // namespace

CrashFollower::CrashFollower(const TestCluster& cluster, const std::map<std::string, std::string>& bodies,
                             bool position_first)
    : cluster_(cluster), position_first_(position_first), consumer_(bodies) {
  take(cluster_.looseleaf({"changes", "--after", "now"}).out, false);
  start();
}

void CrashFollower::start() {
  process_ = std::make_unique<cli::Process>(cluster_.start({"changes", "--follow", "--after", position_}));
}

void CrashFollower::kill() {
  constexpr auto nap = std::chrono::milliseconds(10);
  for (int naps = 0; naps < 300 && process_->out().empty(); ++naps) {
    std::this_thread::sleep_for(nap);
  }
  process_->signal(SIGKILL);
  take(process_->wait().out, true);
  start();
}

void CrashFollower::end() {
  process_->signal(SIGTERM);
  const cli::ProcessResult followed = process_->wait();
  take(followed.out, false);
  if (followed.status != terminated) {
    troubles_.push_back(fmt::format("changes --follow ended with status {}: {}", followed.status, followed.err));
  }
  const cli::ProcessResult rest = cluster_.looseleaf({"changes", "--after", position_});
  take(rest.out, false);
  if (rest.status != 0) {
    troubles_.push_back(fmt::format("changes ended with status {}: {}", rest.status, rest.err));
  }
}

// A line that a kill has cut off is left out.
void CrashFollower::take(const std::string& out, bool killed) {
  std::vector<std::string_view> batch;
  std::size_t begin = 0;
  for (std::size_t end = out.find('\n'); end != std::string::npos; end = out.find('\n', begin)) {
    const std::string_view line = std::string_view(out).substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(R"({"position":)")) {
      batch.push_back(line);
      continue;
    }
    position_ = nlohmann::json::parse(line)["position"];
    const bool forgets = position_first_ && killed && out.find('\n', begin) == std::string::npos;
    for (const std::string_view change : forgets ? std::vector<std::string_view>() : batch) {
      consumer_.take(change);
    }
    batch.clear();
  }
}

}  // namespace looseleaf::test
