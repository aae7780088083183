// Long jobs: who holds one, and how far it is on each shard (the table looseleaf_progress).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/shards.hpp"
#include "sql/connection.hpp"

namespace looseleaf::job {

// What a job left on one shard. Only the job's own code gives meaning to position, barrier and detail.
struct JobRow {
  std::string job;    // "create", "drop", "backfill", "clean"
  std::string table;  // an index, or empty
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> position;
  std::optional<base::Stamp> barrier;
  std::string detail;
  std::uint64_t token = 0;
  std::string holder;
  std::string since, heartbeat;  // as DATETIME(6) prints them, UTC
  std::uint64_t done = 0, estimate = 0;
};

[[nodiscard]] std::optional<JobRow> read_job(sql::Connection& connection, const std::string& job,
                                             const std::string& table);
[[nodiscard]] std::vector<JobRow> read_jobs(sql::Connection& connection);

// Writes a row for a new run of the job, in place of any other run's; stamps since and heartbeat.
void write_job(sql::Connection& connection, const JobRow& row);
// Moves a run on. False if the row is no longer held with this token: another run took the job over.
[[nodiscard]] bool advance_job(sql::Connection& connection, const JobRow& row);
// Says that a run is alive although it does not move on.
void touch_job(sql::Connection& connection, const JobRow& row);
void remove_job(sql::Connection& connection, const std::string& job, const std::string& table,
                std::uint64_t generation);

// Whether a process is at work on the job that such a row is about; asked on a connection to shard 0.
[[nodiscard]] bool is_under_way(const shard::Shards& shards, sql::Connection& connection, const std::string& job,
                                const std::string& table);

// Gets a named lock for the connection's session, for which it waits a second; near the deadline, where a connection
// may be cut off by then, a tenth of one. False if another session has it.
[[nodiscard]] bool get_named_lock(sql::Connection& connection, const std::string& name, const base::Deadline& deadline);

// "host pid 123", for people.
[[nodiscard]] std::string this_process();

// The right to run a job on this cluster: a named lock on shard 0's server, given back at the end, and freed by the
// server itself once it notices that its holder has died. A holder that was only asleep finds its token replaced in
// looseleaf_progress when it goes on.
class JobLock {
 public:
  // Throws Error(busy), naming the holder, if another process has it.
  JobLock(shard::Shards& shards, std::string job, std::string table);
  ~JobLock();
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  [[nodiscard]] std::uint64_t token() const { return token_; }
  // To be called at least every half minute (asks the server once a second at most); takes the lock anew if the
  // connection was lost, also where the server has not noticed that. Throws Error(busy) if another process got it
  // meanwhile.
  void keep_alive();

 private:
  void acquire();
  // Returns false if another process has the lock.
  [[nodiscard]] bool take(sql::Connection& connection, const base::Deadline& deadline) const;
  void end_former_session(sql::Connection& connection) const;
  [[nodiscard]] Error held_by_another(sql::Connection& connection) const;

  shard::Shards& shards_;
  std::string job_, table_, name_;
  std::uint64_t token_;
  std::string own_name_;
  std::optional<shard::Lease> lease_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace looseleaf::job
