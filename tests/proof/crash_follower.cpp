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
    : cluster_(cluster), position_first_(position_first) {
  for (const auto& [id, text] : bodies) {
    entities_[id] = {"", text};
  }
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
  std::map<std::string, Version> batch;
  std::size_t begin = 0;
  for (std::size_t end = out.find('\n'); end != std::string::npos; end = out.find('\n', begin)) {
    const std::string_view line = std::string_view(out).substr(begin, end - begin);
    begin = end + 1;
    const auto change = nlohmann::json::parse(line);
    if (change.contains("position")) {
      position_ = change["position"];
      const bool forgets = position_first_ && killed && out.find('\n', begin) == std::string::npos;
      for (auto& [id, version] : batch) {
        if (!forgets) {
          entities_[id] = std::move(version);
        }
      }
      batch.clear();
      continue;
    }
    ++versions_;
    const std::string id = change["id"], stamp = change["stamp"];
    const auto known = entities_.find(id);
    if (known != entities_.end() && stamp <= known->second.stamp) {
      continue;
    }
    constexpr std::string_view member = "\"entity\":";
    const std::size_t at = line.find(member);
    batch[id] = {
        stamp, at == std::string_view::npos
                   ? std::nullopt
                   : std::optional(std::string(line.substr(at + member.size(), line.size() - at - member.size() - 1)))};
  }
}

std::vector<std::string> CrashFollower::differences(const ObservedStore& store) const {
  std::map<std::string, std::string> had;
  for (const auto& [id, version] : entities_) {
    if (version.text) {
      had[id] = *version.text;
    }
  }
  std::vector<std::string> found;
  const auto wanted = bodies(store);
  for (const auto& [id, text] : wanted) {
    const auto have = had.find(id);
    if (have == had.end() || have->second != text) {
      found.push_back(
          fmt::format("{}: stored {}, delivered {}", id, text, have == had.end() ? "nothing" : have->second));
    }
  }
  for (const auto& [id, text] : had) {
    if (!wanted.contains(id)) {
      found.push_back(fmt::format("{}: deleted, delivered {}", id, text));
    }
  }
  return found;
}

}  // namespace looseleaf::test
