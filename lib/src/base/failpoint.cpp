// Reads failpoints from the environment and executes them.
#include "base/failpoint.hpp"

#ifdef LOOSELEAF_FAILPOINTS

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace looseleaf::base {
namespace {

struct Failpoint {
  std::string step, phase, action;
  std::optional<std::uint32_t> shard;
  std::uint64_t only = 0;  // the number of the passage at which to act; 0 acts at each one
  std::uint64_t passed = 0;
};

[[noreturn]] void malformed(const std::string& text) {
  fmt::print(stderr, "LOOSELEAF_FAILPOINT: cannot understand '{}'\n", text);
  std::abort();
}

// Cuts off and returns the part of `text` after the last `mark`; empty if there is none.
std::string cut_off(std::string& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string::npos) {
    return {};
  }
  std::string tail = text.substr(at + 1);
  text.resize(at);
  return tail;
}

Failpoint parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    malformed(text);
  }
  Failpoint point;
  point.action = text.substr(equals + 1);
  if (point.action != "kill" && point.action != "stop" && point.action != "skip" &&
      !point.action.starts_with("sleep:")) {
    malformed(text);
  }
  std::string place = text.substr(0, equals);
  if (const std::string count = cut_off(place, '#'); !count.empty()) {
    point.only = std::stoull(count);
  }
  if (const std::string shard = cut_off(place, '@'); !shard.empty()) {
    point.shard = static_cast<std::uint32_t>(std::stoul(shard));
  }
  point.phase = cut_off(place, ':');
  point.step = place;
  return point;
}

struct Failpoints {
  Failpoints() {
    const char* const given = std::getenv("LOOSELEAF_FAILPOINT");
    std::string rest = given == nullptr ? "" : given;
    while (!rest.empty()) {
      std::string last = cut_off(rest, ',');
      if (last.empty()) {
        last.swap(rest);
      }
      points.push_back(parse(last));
    }
    if (const char* const file = std::getenv("LOOSELEAF_FAILPOINT_TRACE")) {
      trace = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
  }

  // Counts the passage and returns the action for it; empty if there is none.
  std::string pass(std::string_view step, std::string_view phase, std::uint32_t shard) {
    const std::lock_guard lock(mutex);
    std::string action;
    for (Failpoint& point : points) {
      if (point.step == step && (point.phase.empty() || point.phase == phase) && point.shard.value_or(shard) == shard) {
        ++point.passed;
        action = point.only == 0 || point.only == point.passed ? point.action : action;
      }
    }
    if (trace >= 0) {
      const std::string line = fmt::format("{}:{}@{}\n", step, phase, shard);
      static_cast<void>(!::write(trace, line.data(), line.size()));
    }
    return action;
  }

  std::mutex mutex;
  std::vector<Failpoint> points;
  int trace = -1;
};

}  // namespace

bool pass_failpoint(std::string_view step, std::string_view phase, std::uint32_t shard) {
  static Failpoints failpoints;
  const std::string action = failpoints.pass(step, phase, shard);
  if (action == "kill") {
    ::kill(::getpid(), SIGKILL);
  } else if (action == "stop") {
    ::raise(SIGSTOP);  // raise() signals this thread; kill() would let it continue for a moment
  } else if (action.starts_with("sleep:")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(action.substr(6))));
  }
  return action == "skip";
}

}  // namespace looseleaf::base

#endif
