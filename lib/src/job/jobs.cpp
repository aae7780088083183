// The progress table and the named locks of jobs.
#include "job/jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/random.hpp"
#include "base/text.hpp"
#include "sql/literals.hpp"
#include "sql/retry.hpp"

namespace looseleaf::job {
namespace {

constexpr std::string_view progress = "looseleaf_progress";
constexpr const char* columns =
    "job, table_name, generation, position, barrier, detail, token, holder, since, heartbeat, done, estimate";

// The client library counts timeouts in whole seconds, rounded up. A connection that was made with at most this much
// time left therefore aborts a statement that waits for a second.
constexpr auto no_time_to_wait = std::chrono::seconds(1);
constexpr auto short_wait = std::chrono::milliseconds(100);

std::string optional_integer(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string("NULL");
}

JobRow to_row(const sql::Result& result, std::size_t i) {
  JobRow row;
  row.job = result.text(i, 0);
  row.table = result.text(i, 1);
  row.generation = result.unsigned_integer(i, 2);
  if (result.cell(i, 3)) {
    row.position = result.unsigned_integer(i, 3);
  }
  if (result.cell(i, 4)) {
    row.barrier = base::parse_stamp(result.text(i, 4));
  }
  row.detail = result.cell(i, 5).value_or(std::string());
  row.token = result.unsigned_integer(i, 6);
  row.holder = result.text(i, 7);
  row.since = result.text(i, 8);
  row.heartbeat = result.text(i, 9);
  row.done = result.unsigned_integer(i, 10);
  row.estimate = result.unsigned_integer(i, 11);
  return row;
}

std::string key(const std::string& job, const std::string& table) {
  return fmt::format("job = {} AND table_name = {}", sql::text_literal(job), sql::text_literal(table));
}

std::string query_for_job(const sql::Database& database, const std::string& job, const std::string& table) {
  return fmt::format("SELECT {} FROM {} WHERE {}", columns, database.table(progress), key(job, table));
}

// The opposite of to_row(), for a row without position and barrier.
sql::Result to_result(const JobRow& row) {
  const auto text = [](std::uint64_t number) { return std::optional(fmt::format("{}", number)); };
  return {{row.job, row.table, text(row.generation), std::nullopt, std::nullopt, row.detail, text(row.token),
           row.holder, row.since, row.heartbeat, text(row.done), text(row.estimate)},
          12};
}

// Lock names are server-wide and have at most 64 characters.
std::string name_of_lock(const shard::Shards& shards, const std::string& job, const std::string& table) {
  return fmt::format("looseleaf.{:016x}",
                     base::fnv1a(shards.cluster().shards.front().database + '\n' + job + '\n' + table));
}

// Returns the id of the connection that holds a lock.
std::optional<std::string> session_with_lock(const sql::Database& database, const std::string& name) {
  return database->query(fmt::format("SELECT IS_USED_LOCK('{}')", name)).cell(0, 0);
}

// Returns the job whose lock protects the rows of this job.
std::string locked_as(const std::string& job) {
  if (job == create_job || job == drop_job) {
    return "catalog";
  }
  return job == purge_job ? clean_job : job;
}

// Returns the row that names the holder of a job's lock. It is the job's own row or, for changes of the catalog, the
// intent.
std::optional<JobRow> holder_row(const sql::Database& database, const std::string& job, const std::string& table) {
  for (const JobRow& row : read_jobs(database)) {
    if (row.table == table && locked_as(row.job) == job) {
      return row;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<JobRow> read_job(const sql::Database& database, const std::string& job, const std::string& table) {
  const sql::Result result = database->query(query_for_job(database, job, table));
  return result.empty() ? std::nullopt : std::optional(to_row(result, 0));
}

std::vector<JobRow> read_jobs(const sql::Database& database) {
  const sql::Result result =
      database->query(fmt::format("SELECT {} FROM {} ORDER BY job, table_name", columns, database.table(progress)));
  std::vector<JobRow> rows;
  for (std::size_t i = 0; i < result.size(); ++i) {
    rows.push_back(to_row(result, i));
  }
  return rows;
}

void write_job(const sql::Database& database, const JobRow& row) {
  database->execute(fmt::format(
      "REPLACE INTO {} ({}) VALUES ({}, {}, {}, {}, {}, {}, {}, {}, NOW(6), "
      "NOW(6), {}, {})",
      database.table(progress), columns, sql::text_literal(row.job), sql::text_literal(row.table), row.generation,
      optional_integer(row.position), row.barrier ? sql::stamp_literal(*row.barrier) : "NULL",
      sql::text_literal(row.detail), row.token, sql::text_literal(row.holder), row.done, row.estimate));
  database->pretend(query_for_job(database, row.job, row.table), [&] { return to_result(row); });
}

std::optional<std::uint64_t> lock_job(const sql::Database& database, const std::string& job, const std::string& table) {
  const sql::Result held = database->query(
      fmt::format("SELECT token FROM {} WHERE {} FOR UPDATE", database.table(progress), key(job, table)));
  return held.empty() ? std::nullopt : std::optional(held.unsigned_integer(0, 0));
}

bool advance_job(const sql::Database& database, const JobRow& row) {
  // This locks the row first, because an UPDATE that changes nothing affects 0 rows whether or not the token matches.
  if (lock_job(database, row.job, row.table) != row.token) {
    return false;
  }
  database->execute(fmt::format(
      "UPDATE {} SET position = {}, barrier = {}, detail = {}, done = {}, estimate = {}, heartbeat = NOW(6) WHERE {}",
      database.table(progress), optional_integer(row.position), row.barrier ? sql::stamp_literal(*row.barrier) : "NULL",
      sql::text_literal(row.detail), row.done, row.estimate, key(row.job, row.table)));
  return true;
}

void touch_job(const sql::Database& database, const JobRow& row) {
  database->execute(fmt::format("UPDATE {} SET done = {}, estimate = {}, heartbeat = NOW(6) WHERE {} AND token = {}",
                                database.table(progress), row.done, row.estimate, key(row.job, row.table), row.token));
}

void touch_jobs(const sql::Database& database, const std::vector<std::string>& jobs, std::uint64_t token) {
  std::string list;
  for (const std::string& job : jobs) {
    list.append(list.empty() ? "" : ", ").append(sql::text_literal(job));
  }
  database->execute(fmt::format("UPDATE {} SET heartbeat = NOW(6) WHERE job IN ({}) AND table_name = '' AND token = {}",
                                database.table(progress), list, token));
}

void remove_job(const sql::Database& database, const std::string& job, const std::string& table,
                std::uint64_t generation) {
  database->execute(fmt::format("DELETE FROM {} WHERE {} AND generation = {}", database.table(progress),
                                key(job, table), generation));
}

void remove_jobs(const sql::Database& database, const std::string& job, std::uint64_t generation) {
  database->execute(fmt::format("DELETE FROM {} WHERE job = {} AND generation = {}", database.table(progress),
                                sql::text_literal(job), generation));
}

bool is_under_way(const shard::Shards& shards, const sql::Database& database, const std::string& job,
                  const std::string& table) {
  return session_with_lock(database, name_of_lock(shards, locked_as(job), table)).has_value();
}

bool get_named_lock(const sql::Database& database, const std::string& name, const base::Deadline& deadline) {
  const auto ask = [&](int seconds) {
    return database->query(fmt::format("SELECT GET_LOCK('{}', {})", name, seconds)).cell(0, 0) == "1";
  };
  if (deadline.left() > no_time_to_wait) {
    return ask(1);
  }
  if (ask(0)) {
    return true;
  }
  std::this_thread::sleep_for(short_wait);
  return ask(0);
}

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host[0] = '?';
  }
  return fmt::format("{} pid {}", host.data(), ::getpid());
}

JobLock::JobLock(shard::Shards& shards, std::string job, std::vector<std::string> tables)
    : shards_(shards),
      job_(std::move(job)),
      tables_(std::move(tables)),
      token_(base::random_u64()),
      own_name_(fmt::format("looseleaf.own.{:016x}", token_)) {
  acquire();
}

// Releases the lock explicitly, because a server may notice late that a connection was closed and would refuse the next
// process until then. A server that does not answer is not asked.
JobLock::~JobLock() {
  if (!lease_) {
    return;
  }
  try {
    if (!shards_.sessions().is_failing(0)) {
      for (const std::string& table : tables_) {
        static_cast<void>((*lease_)->query(fmt::format("SELECT RELEASE_LOCK('{}')", name_of(table))));
      }
    }
    lease_->discard();
  } catch (const std::exception&) {
    (*lease_)->mark_broken();  // the lock ends with the session, and the shard counts as failing
  }
}

// Takes another lock first, which only this object requests. If that lock is taken, the holder is a lost session of
// this object. A server may need a moment to free one lock after the other.
void JobLock::take(const sql::Database& database, const base::Deadline& deadline) const {
  if (!get_named_lock(database, own_name_, deadline)) {
    end_former_session(database);
    if (!get_named_lock(database, own_name_, deadline)) {
      throw sql::ServerError(sql::ErrorClass::conflict, 0, ErrorCode::unavailable,
                             "the server still holds the lock of a lost session", {{"job", job_}},
                             "retry, or use a longer --timeout");
    }
  }
  for (const std::string& table : tables_) {
    if (!get_named_lock(database, name_of(table), deadline)) {
      throw held_by_another(database, table);
    }
  }
}

std::string JobLock::name_of(const std::string& table) const {
  return name_of_lock(shards_, job_, table);
}

// Ends a lost session. A server that has not noticed a lost connection keeps its session, and thus the locks, until the
// session has been idle for its wait_timeout.
void JobLock::end_former_session(const sql::Database& database) const {
  const auto former = session_with_lock(database, own_name_);
  if (!former) {
    return;
  }
  try {
    database->execute("KILL " + *former);
  } catch (const sql::ServerError& error) {
    if (error.retryable()) {
      throw;
    }  // otherwise the session has ended already, or the caller waits for its end
  }
}

// A session that requested a lock never goes back to the pool, because it may hold the lock or still get it.
void JobLock::acquire() {
  const base::Deadline deadline = shards_.deadline();
  sql::with_retries(deadline, [&] {
    if (lease_) {
      lease_->discard();
      lease_.reset();
    }
    shard::Lease lease = shards_.connect(0, deadline, shard::Purpose::pinned);
    try {
      lease->execute("SET SESSION wait_timeout = 120");
      take(*lease, deadline);
    } catch (...) {
      lease.discard();
      throw;
    }
    lease_.emplace(std::move(lease));
  });
}

Error JobLock::held_by_another(const sql::Database& database, const std::string& table) const {
  const auto row = holder_row(database, job_, table);
  const auto session = session_with_lock(database, name_of(table));
  Error::Context context = {{"job", job_}};
  if (!table.empty()) {
    context.emplace_back("index", table);
  }
  if (row && !row->holder.empty()) {
    context.emplace_back("holder", row->holder);
    context.emplace_back("since", row->since + " UTC");
    context.emplace_back("heartbeat", row->heartbeat + " UTC");
  } else if (session) {  // the other process has not written its row yet
    context.emplace_back("connection", *session + " on shard 0's server");
  }
  return {ErrorCode::busy, "another process is running this job", context,
          "wait for it, or stop it and run the command again to resume"};
}

void JobLock::keep_alive() {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < std::chrono::seconds(1)) {
    return;
  }
  asked_ = now;
  if (!lease_) {  // an earlier attempt to retake the lock after a lost connection failed
    acquire();
    return;
  }
  try {
    shard::require_still_writable(**lease_);  // a demoted server has the lock, and nobody asks it
  } catch (const sql::ServerError& error) {
    if (!error.retryable()) {
      throw;
    }
    acquire();
  }
}

}  // namespace looseleaf::job
