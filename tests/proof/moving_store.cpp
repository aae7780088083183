#include "tests/proof/moving_store.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "tests/proof/history_record.hpp"
#include "tests/support/expectations.hpp"

namespace looseleaf::test {
namespace {

constexpr int workers = 3, operations_before = 200, operations_after = 400;  // operations of each

}  // namespace

std::string other_server() {
  const char* const server = std::getenv("LOOSELEAF_OTHER_SERVER");
  return server == nullptr ? "" : server;
}

std::vector<std::string> copy_to(const HistoryFixture& other, const std::vector<std::string>& options) {
  return joined({"copy", "--to", other.cluster.file()}, options);
}

MovingWorkers::MovingWorkers(HistoryFixture& original, HistoryFixture& other, std::uint64_t seed,
                             const std::string& name)
    : original_(original), other_(other) {
  const long long origin = monotonic_now();
  for (int worker = 0; worker < workers; ++worker) {
    std::string commands;
    for (const int operations : {operations_before, operations_after}) {
      commands += fmt::format("random\t{}\t{}\t{}\n", ++seed, operations, origin);
    }
    users_.push_back(fmt::format("w{}", worker));
    workers_.emplace_back(original.cluster, WorkerOptions{.user = users_.back(),
                                                          .name = fmt::format("{}.{}", name, worker),
                                                          .commands = commands,
                                                          .next = &other.cluster});
  }
}

std::string MovingWorkers::end() {
  std::string complaints;
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    // Their sessions in the other cluster are those that finish() waits for.
    wait_for("a worker to end", [&] { return workers_[worker].has_ended(); });
    wait_for("its sessions to end", [&] { return !original_.sessions.has_any(users_[worker]); });
    complaints += workers_[worker].complaints();
    other_.finish(workers_[worker]);
  }
  return complaints;
}

}  // namespace looseleaf::test
