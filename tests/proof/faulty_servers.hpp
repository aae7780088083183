// What server faults are provoked in: a store whose account has no more rights than it needs, and servers that are
// set otherwise, have a small disk, or fail over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/connection.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/replication.hpp"
#include "tests/support/test_servers.hpp"

namespace looseleaf::test {

[[nodiscard]] bool on_mysql();

// It succeeded and printed this. What took more than two seconds may have been warned of.
void check_went_well(const cli::ProcessResult& result, std::string_view out);

// Runs the program with a cluster file of its own, as the account `app`, which has no rights to do what a fault
// forbids.
class AppProgram {
 public:
  [[nodiscard]] cli::Process start(const std::vector<std::string>& arguments, std::string_view input = {},
                                   const std::string& failpoints = {}) const;
  [[nodiscard]] cli::ProcessResult looseleaf(const std::vector<std::string>& arguments,
                                             std::string_view input = {}) const {
    return start(arguments, input).wait();
  }
  // The program's cluster file.
  [[nodiscard]] const std::string& file() const { return file_; }
  // Writes a file beside it.
  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const;

 protected:
  // Of shard 0 behind a proxy, and of shard 1 on another server; both servers get the account.
  void make_account_and_file(const TestCluster& servers, const FaultProxy& proxy, std::uint32_t other);

  std::string file_;
};

// An initialised cluster with an index, and an account that has no rights but those that operations.md asks for.
class Store : public AppProgram {
 public:
  explicit Store(TestCluster on = TestCluster::shared());

  // Sessions of our own on a shard's server: as root, and as the account.
  [[nodiscard]] std::unique_ptr<sql::Connection> admin(std::uint32_t shard) const;
  [[nodiscard]] std::unique_ptr<sql::Connection> app(std::uint32_t shard) const;

  // What was acknowledged is there, no row is missing, and in the end all is well.
  void check_all_is_well(std::string_view acknowledged) const;

  TestCluster cluster;

 private:
  [[nodiscard]] std::unique_ptr<sql::Connection> connect(std::uint32_t shard, const std::string& option_file) const;
};

// Undoes on destruction, whatever happens.
class Finally {
 public:
  explicit Finally(std::function<void()> action) : action_(std::move(action)) {}
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;
  ~Finally() { action_(); }

 private:
  std::function<void()> action_;
};

// A transient setting of every server of a cluster, which must outlive it.
class Setting {
 public:
  Setting(const TestCluster& cluster, std::string name, const std::string& value);
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { restore(); }

  void set(const std::string& value) const;
  void restore() const { set(before_); }

 private:
  const TestCluster& cluster_;
  std::string name_, before_;
};

// A file system of its own, as small as a disk that is full soon.
class SmallDisk {
 public:
  SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  // False where that is not permitted.
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }
  // Leaves this much room, in bytes.
  void fill(std::uintmax_t left) const;
  void make_room() const;

 private:
  [[nodiscard]] std::string ballast() const { return path() + "/ballast"; }

  TemporaryDirectory directory_;
  bool mounted_;
};

// Shard 0 is on a server that has a replica, shard 1 on another. Both the program and the replica reach the first
// server through proxies: sandbox servers have no ports of their own, and where a proxy leads can be changed.
class Replicated : public AppProgram {
 public:
  Replicated();

  void demote() const;
  // The replica takes over, once it has everything.
  void promote();
  // The server that was demoted replicates the one that took over.
  void rejoin();
  // The program reaches the replica, which goes on replicating.
  void lead_to_replica();

 private:
  [[nodiscard]] std::uint32_t replica() const { return 1 - primary_; }

  TestCluster servers_;
  std::uint32_t primary_ = 0;  // of servers 0 and 1
  LogPosition promoted_at_;    // in the primary's log
  FaultProxy to_first_, to_second_, to_shard_;
};

}  // namespace looseleaf::test
