// Servers for tests: clusters on private servers, the program under test, SQL that does not pass through our code, and
// files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/descriptor.hpp"
#include "cli/sandbox/processes.hpp"
#include "cli/sandbox/sandbox.hpp"

namespace looseleaf::test {

// A directory of its own that is removed at the end. Its name is short enough for sockets.
class TemporaryDirectory {
 public:
  // In `parent`; empty: where temporary files go.
  explicit TemporaryDirectory(const std::string& parent = {});
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Writes a file in it and returns the file's path.
  std::string write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

// The contents of a file; empty if it cannot be read.
[[nodiscard]] std::string read_text(const std::string& path);

// Lets no server outlive the test program: when that ends, in whatever way, what runs of the sandbox `directory`/box is
// killed and the directory is removed.
class Watchdog {
 public:
  explicit Watchdog(const std::string& directory);

 private:
  cli::Descriptor alive_;  // the writing end of a pipe, open as long as we live
};

struct TestClusterOptions {
  std::uint32_t shards = 2;
  std::uint32_t servers = 0;  // 0: one a shard
  std::vector<std::string> extra_args = {};
  std::string server = {};  // a server program or its folder; empty: the one on which all tests run
};

class TestServers;

// A cluster with databases of its own, which do not exist yet. Shard k is on server k % servers.
class TestCluster {
 public:
  // On servers of its own, which end with the object: for tests that kill servers or need other settings.
  explicit TestCluster(const TestClusterOptions& options);
  // On two servers that all tests of the process share; about 1 s the first time, nothing later.
  [[nodiscard]] static TestCluster shared(std::uint32_t shards = 2);

  // The cluster file's path.
  [[nodiscard]] std::string file() const;
  [[nodiscard]] std::uint32_t shards() const { return shards_; }
  [[nodiscard]] std::string database(std::uint32_t shard) const;
  [[nodiscard]] std::string socket(std::uint32_t shard) const;
  [[nodiscard]] std::uint32_t server_of(std::uint32_t shard) const;
  // An option file that logs in as root, for whoever connects by other means.
  [[nodiscard]] std::string defaults_file() const;
  // The client program that belongs to the servers.
  [[nodiscard]] const std::string& client() const;
  [[nodiscard]] cli::Sandbox& sandbox() const;
  [[nodiscard]] const TemporaryDirectory& directory() const { return *directory_; }
  // Writes another cluster file with the same shards; `members` are its others. Returns its path.
  std::string write_file(const std::string& name, const std::string& members) const;

  // Runs statements in the shard's database, which must exist, by the connector's C functions, and returns what there
  // is: one row a line, columns separated by tabs, NULL as NULL. Throws std::runtime_error with its complaint.
  std::string sql(std::uint32_t shard, const std::string& statements) const;
  // The same without a database, on one server.
  std::string server_sql(std::uint32_t server, const std::string& statements) const;
  // Runs statements in every shard's database, and returns what all print, in the order of the shards.
  std::string everywhere(const std::string& statements) const;
  // The number that a variable of SHOW GLOBAL STATUS has.
  [[nodiscard]] std::uint64_t status(std::uint32_t server, const std::string& variable) const;
  // As when a firewall forgets them: every session in the shard's database ends, and with it its locks.
  void kill_sessions(std::uint32_t shard) const;
  // The same on every shard, as for the sessions of a process that does not answer.
  void kill_sessions() const;
  // Returns when a statement on the shard's server waits for the lock of a row; false if none does within 20 s.
  [[nodiscard]] bool await_lock_wait(std::uint32_t shard) const;
  // Creates the databases, for tests of the layers below init.
  void create_databases() const;

  // Runs `looseleaf --cluster FILE ARGUMENTS…`.
  [[nodiscard]] cli::ProcessResult looseleaf(std::vector<std::string> arguments, std::string_view input = {}) const;
  // The same, running beside the test, with failpoints (base/failpoint.hpp).
  [[nodiscard]] cli::Process start(std::vector<std::string> arguments, std::string_view input = {},
                                   const std::string& failpoints = {}) const;
  // Runs the program until a failpoint has stopped it, or has killed it. Throws std::runtime_error if it ends before.
  [[nodiscard]] cli::Process stop_at(const std::string& failpoint, std::vector<std::string> arguments,
                                     std::string_view input = {}) const;
  void die_at(const std::string& failpoint, std::vector<std::string> arguments, std::string_view input = {}) const;

 private:
  TestCluster(std::shared_ptr<TestServers> servers, std::uint32_t shards);

  std::shared_ptr<TestServers> servers_;
  std::shared_ptr<TemporaryDirectory> directory_;
  std::uint32_t shards_;
  std::string prefix_;
};

// What differs in the global variables of the servers of TestCluster::shared() from when this was asked before, or from
// their start: a line each. Nothing where they were not started.
[[nodiscard]] std::string changed_settings_of_shared_servers();

// Which server the tests run on: looseleaf_flavour() is "mariadb" or "mysql".
[[nodiscard]] std::string looseleaf_flavour();

// The program under test, from LOOSELEAF_BIN. Throws std::runtime_error if that is not set.
[[nodiscard]] std::string looseleaf_program();

// Runs a command to its end; "looseleaf" as its first word is the program under test.
cli::ProcessResult run(std::vector<std::string> command, std::string_view input = {});
// The same, running beside the test; it is killed at the end if nobody waited for it.
[[nodiscard]] cli::Process start(std::vector<std::string> command, std::string_view input = {});

// Waits until a failpoint has stopped the process; false if it ended.
[[nodiscard]] bool wait_until_stopped(const cli::Process& process);

}  // namespace looseleaf::test
