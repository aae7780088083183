// Long jobs: the holder of each job and its progress on each shard (the table looseleaf_progress).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/stamp.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::job {

// The row of a job on one shard. Only the job's own code defines the meaning of position, barrier and detail.
struct JobRow {
  std::string job;    // as docs/format.md lists them
  std::string table;  // an index, or empty
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> position;
  std::optional<base::Stamp> barrier;
  std::string detail;
  std::uint64_t token = 0;
  std::string holder;
  std::string since, heartbeat;  // in UTC, formatted like DATETIME(6)
  std::uint64_t done = 0, estimate = 0;
};

// The jobs of rows; docs/format.md says what these hold.
inline constexpr const char *create_job = "create", *drop_job = "drop";  // the intents of create-index and drop-index
inline constexpr const char* backfill_job = "backfill";
inline constexpr const char* clean_job = "clean";
inline constexpr const char* purge_job = "purge";    // how far the tombstones were looked at, by a process that cleans
inline constexpr const char* purged_job = "purged";  // below which stamp tombstones may be missing, in `barrier`
inline constexpr const char* copy_job =
    "copy";  // in the copy: who writes to it, and with the number of a shard how far
inline constexpr const char* lease_job = "lease";  // a process that runs a trigger
// The job of a row that says how far a copy of this store is, up to `barrier`. `table` is the copy's cluster id, and
// `detail` is copy_scans as long as the copy reads all entities.
inline constexpr const char* copied_to_job = "copied_to";
inline constexpr const char* copy_scans = "scan";

// The job of a row that says how far a trigger is; `table` is its name.
inline constexpr const char* trigger_job = "trigger";

[[nodiscard]] std::optional<JobRow> read_job(const sql::Database& database, const std::string& job,
                                             const std::string& table);
[[nodiscard]] std::vector<JobRow> read_jobs(const sql::Database& database);

// Writes a row for a new run of the job and replaces the row of any other run. Sets `since` and `heartbeat` to the
// server's time.
void write_job(const sql::Database& database, const JobRow& row);
// Locks a row in a transaction, and returns its token; absent if there is no such row.
[[nodiscard]] std::optional<std::uint64_t> lock_job(const sql::Database& database, const std::string& job,
                                                    const std::string& table);
// Stores the progress of a run. Returns false if the row no longer has this token, because another run took the job
// over.
[[nodiscard]] bool advance_job(const sql::Database& database, const JobRow& row);
// Updates the heartbeat, which shows that a run is alive, and how far it is. The cursor stays.
void touch_job(const sql::Database& database, const JobRow& row);
// Updates the heartbeats of these jobs of a run that are of no table.
void touch_jobs(const sql::Database& database, const std::vector<std::string>& jobs, std::uint64_t token);
void remove_job(const sql::Database& database, const std::string& job, const std::string& table,
                std::uint64_t generation);
// Removes the rows of this generation, whatever their table is.
void remove_jobs(const sql::Database& database, const std::string& job, std::uint64_t generation);

// Returns true if a process is running the job that such a row describes. `database` must be shard 0's.
[[nodiscard]] bool is_under_way(const shard::Shards& shards, const sql::Database& database, const std::string& job,
                                const std::string& table);

// Gets a named lock for the connection's session. Waits for one second or, near the deadline, when the connection's own
// timeout could abort the wait, for a tenth of a second. Returns false if another session has the lock.
[[nodiscard]] bool get_named_lock(const sql::Database& database, const std::string& name,
                                  const base::Deadline& deadline);

// Returns "host pid 123", for messages.
[[nodiscard]] std::string this_process();

// The right to run a job on this cluster, for one index or several, or for none. It is a named lock for each index on
// shard 0's server, all of one session. The destructor releases it, and the server itself frees it once it notices that
// the holder has died. A holder that was only suspended finds its token replaced in looseleaf_progress when it
// continues.
class JobLock {
 public:
  // `tables` are sorted and not empty; a job for no index has an empty name. Throws Error(busy), naming the holder, if
  // another process has the lock of one of them.
  JobLock(shard::Shards& shards, std::string job, std::vector<std::string> tables);
  ~JobLock();
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  [[nodiscard]] std::uint64_t token() const { return token_; }
  // Call this at least every 30 s; it queries the server at most once a second. It takes the lock again if the
  // connection was lost, even if the server has not noticed the loss. Throws Error(busy) if another process got the
  // lock meanwhile.
  void keep_alive();

 private:
  void acquire();
  // Throws Error(busy) if another process has the lock of an index.
  void take(const sql::Database& database, const base::Deadline& deadline) const;
  void end_former_session(const sql::Database& database) const;
  [[nodiscard]] Error held_by_another(const sql::Database& database, const std::string& table) const;
  [[nodiscard]] std::string name_of(const std::string& table) const;

  shard::Shards& shards_;
  std::string job_;
  std::vector<std::string> tables_;
  std::uint64_t token_;
  std::string own_name_;
  std::optional<shard::Lease> lease_;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace looseleaf::job
