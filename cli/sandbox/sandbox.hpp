// A sandbox: private servers in one directory, for trying the program out and for its tests.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/sandbox/server_program.hpp"

namespace looseleaf::cli {

inline constexpr std::uint32_t most_sandbox_servers = 32;  // each takes 100 MiB of memory, one of MySQL 500

struct SandboxOptions {
  std::string dir;                        // empty: .sandbox in the working directory
  std::uint32_t shards = 0;               // 0: as the sandbox has already, else 2
  std::uint32_t servers = 0;              // 0: as the sandbox has already, else one a shard
  std::string server;                     // a server program or its folder; empty: see find_server()
  std::uint32_t buffer_pool_mib = 0;      // of each server; 0: as the sandbox has already, else 128
  std::vector<std::string> extra_args;    // of every server, after all others; empty: as the sandbox has already
  std::function<void()> between = [] {};  // called repeatedly while servers start; may throw to stop the start
};

struct SandboxServer {
  std::uint32_t number = 0;
  bool running = false;
  pid_t pid = 0;  // 0 if it does not run
  std::string socket, log, datadir, tmpdir;
};

struct SandboxStatus {
  std::string dir, cluster_file;
  std::uint32_t shards = 0;
  ServerProgram program;
  std::vector<SandboxServer> servers;
};

struct SandboxStop {
  std::uint32_t stopped = 0;          // servers that ran
  std::vector<std::uint32_t> killed;  // servers that did not stop within 30 s and were killed
};

struct SandboxRemoval {
  SandboxStop stop;
  std::size_t left = 0;  // files and directories of others; if there are any, the directory is not deleted
};

// The absolute path; empty: .sandbox in the working directory.
[[nodiscard]] std::string sandbox_directory(const std::string& dir);

// Servers outlive the object and the process. They listen only on sockets in the directory, which only its owner may
// enter. Shard k is on server k % servers; its database is `looseleaf`, or `looseleaf_k` where servers hold several.
// Operations on one directory by several processes follow one another. All throw Error(usage) if the directory is
// not a sandbox or disagrees with the options, and Error(io) with the end of the server's log if a server fails.
class Sandbox {
 public:
  // Creates the sandbox unless it exists, and starts every server that does not run; data is kept. If that fails, or
  // `between` throws, it stops the servers that it has started.
  static Sandbox start(const SandboxOptions& options);
  // Opens an existing sandbox; starts nothing.
  [[nodiscard]] static Sandbox open(const std::string& dir);
  // Opens an existing sandbox; absent if the directory does not exist or is empty.
  [[nodiscard]] static std::optional<Sandbox> find(const std::string& dir);

  [[nodiscard]] std::string dir() const { return dir_; }
  [[nodiscard]] std::string cluster_file() const;
  [[nodiscard]] std::uint32_t shards() const { return shards_; }
  [[nodiscard]] std::uint32_t servers() const { return servers_; }
  [[nodiscard]] const ServerProgram& program() const { return program_; }
  [[nodiscard]] SandboxServer server(std::uint32_t number) const;
  [[nodiscard]] SandboxStatus status() const;

  SandboxStop stop();
  // Stops the servers and deletes everything that the sandbox created, then the directory if nothing else is in it.
  SandboxRemoval remove();

  // Starts a server and waits until it answers, stops it, or kills it. No effect if it is already in that state.
  void start_server(std::uint32_t number);
  void stop_server(std::uint32_t number);
  void kill_server(std::uint32_t number);

 private:
  explicit Sandbox(std::string dir) : dir_(std::move(dir)) {}

  void create(const SandboxOptions& options);
  void adopt(const SandboxOptions& options);
  void check(const SandboxOptions& options) const;
  void load();
  void save() const;
  void write_cluster_file() const;
  void start_servers(
      const std::vector<std::uint32_t>& numbers, const std::function<void()>& between = [] {});
  void launch(const SandboxServer& server) const;
  SandboxStop stop_servers(const std::vector<std::uint32_t>& numbers, int signal);
  void remove_files() const;
  [[nodiscard]] std::vector<std::uint32_t> all() const;
  [[nodiscard]] std::vector<std::string> command(const SandboxServer& server) const;

  std::string dir_;  // absolute
  std::uint32_t shards_ = 0;
  std::uint32_t servers_ = 0;
  std::uint32_t buffer_pool_mib_ = 128;
  ServerProgram program_;
  std::vector<std::string> args_;
};

}  // namespace looseleaf::cli
