// A session that holds what it has locked until the test lets go of it.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/expectations.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// Runs statements on a server and then sleeps until the end of the object, which must come before the cluster's.
class SleepingSession {
 public:
  // Returns when it sleeps.
  SleepingSession(const TestCluster& cluster, std::uint32_t server, const std::string& statements = "DO 0")
      : cluster_(cluster), server_(server), thread_([this, statements] {
          try {
            cluster_.server_sql(server_, statements + "; " + sleep_);
          } catch (const std::runtime_error&) {  // it was killed
          }
        }) {
    wait_until("a session sleeps", [this] { return !id().empty(); });
  }
  SleepingSession(const SleepingSession&) = delete;
  SleepingSession& operator=(const SleepingSession&) = delete;
  ~SleepingSession() {
    try {
      if (const std::string session = id(); !session.empty()) {
        cluster_.server_sql(server_, "KILL " + session);
      }
    } catch (const std::runtime_error&) {  // the server is down
    }
  }

 private:
  [[nodiscard]] std::string id() const {
    return cluster_.server_sql(server_, "SELECT id FROM information_schema.processlist WHERE info = '" + sleep_ + "'");
  }
  static unsigned next() {
    static std::atomic<unsigned> count = 0;
    return ++count;
  }

  const TestCluster& cluster_;
  const std::uint32_t server_;
  const std::string sleep_ = fmt::format("SELECT SLEEP(60), {}", next());
  std::jthread thread_;
};

}  // namespace looseleaf::test
