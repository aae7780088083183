// Workers that record what they do, each a user of its own on the servers, so that its sessions can be seen and killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/proof/history_checker.hpp"
#include "tests/support/expectations.hpp"
#include "tests/support/store_fixture.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

// For a minute at most.
inline void wait_for(const std::string& what, const std::function<bool()>& condition) {
  wait_until(what, condition, std::chrono::minutes(1));
}

struct Session {
  std::uint64_t id = 0;
  std::string user, statement;  // the statement that it executes now
};

// What the servers of a cluster are connected with.
class Sessions {
 public:
  explicit Sessions(const StoreFixture& fixture) : shards_(fixture.shards()) {}

  // On a shard's server.
  [[nodiscard]] std::vector<Session> on(std::uint32_t shard);
  [[nodiscard]] std::vector<Session> of(const std::string& user, std::uint32_t shard);
  // False if it has ended already.
  bool kill(std::uint32_t shard, const Session& session);
  // Returns when the user has no session on the shard's server.
  void kill_all(std::uint32_t shard, const std::string& user);
  // On any server.
  [[nodiscard]] bool has_any(const std::string& user);

 private:
  shard::Shards shards_;
};

struct WorkerOptions {
  std::string user, name;  // no two workers have one name
  std::string commands;
  std::string failpoints = {};
  std::uint16_t port = 0;             // of loopback, where a proxy leads to shard 0; 0: there is none
  const TestCluster* next = nullptr;  // where it goes on once the store has moved there
};

class Worker {
 public:
  // Runs history_worker, as a user who is made if need be.
  Worker(const TestCluster& cluster, WorkerOptions options);

  void signal(int number) const { process_.signal(number); }
  [[nodiscard]] bool has_ended() const;
  void wait_until_stopped() const;
  // What it could not do, a line each.
  [[nodiscard]] std::string complaints() const { return process_.err(); }

  // SIGKILL. Returns what it did when none of its sessions is left: what it left undone ends with them.
  [[nodiscard]] std::vector<Operation> kill(Sessions& sessions);
  // The same after its own end. Throws unless that was a good one.
  [[nodiscard]] std::vector<Operation> finish(Sessions& sessions);

 private:
  [[nodiscard]] std::vector<Operation> operations(Sessions& sessions) const;

  const WorkerOptions options_;
  const std::string records_;
  cli::Process process_;
};

using History = std::vector<Operation>;

// Adds the second to the first.
void append(History& history, History more);

// Writes that began while another process was writing the same entity.
[[nodiscard]] std::size_t overlapping_writes(const History& history);

// A store with the indexes that the checker knows, and what was done to it.
struct HistoryFixture : StoreFixture {
  explicit HistoryFixture(std::uint32_t shards = 2) : HistoryFixture(TestCluster::shared(shards)) {}
  explicit HistoryFixture(TestCluster&& on);

  // A worker whose user has its name.
  [[nodiscard]] Worker worker(const std::string& name, const std::string& commands,
                              const std::string& failpoints = {}) const;
  // Notes what a worker did, which ends now.
  void finish(Worker& worker) { append(history, worker.finish(sessions)); }
  void kill(Worker& worker) { append(history, worker.kill(sessions)); }
  void run(const std::string& name, const std::string& commands);
  // Reads all that was ever put, by id and by every index.
  void read_all();
  // Checks that all of it has an explanation.
  void check_explained(HistoryRules rules = {}) const;
  // Checks that no index row is missing.
  void check_no_row_missing();
  // The same, and that after a clean none is wrong.
  void check_tables();

  History history;
  Sessions sessions{*this};
};

}  // namespace looseleaf::test
