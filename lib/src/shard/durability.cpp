// Commits something after the data that must become durable. A server writes its log in order, so both are then on
// disk.
#include "shard/durability.hpp"

#include <fmt/format.h>

#include "base/random.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/errors.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::shard {
namespace {

// Of the 30 s for which a server keeps an idle session, 10 may have passed since keep_alive().
constexpr auto longest_conflict = std::chrono::seconds(15);

}  // namespace

bool write_if(const sql::Database& database, const std::string& condition) {
  const std::string key = fmt::format("{:016x}", base::random_u64());
  const std::string progress = database.table("looseleaf_progress");
  const std::uint64_t written =
      database->execute(fmt::format("INSERT INTO {} (job, table_name, generation, token, holder, since, heartbeat) "
                                    "SELECT 'durable', '{}', 0, 0, '', NOW(6), NOW(6) FROM DUAL WHERE {}",
                                    progress, key, condition));
  if (written > 0) {
    database->execute(fmt::format("DELETE FROM {} WHERE job = 'durable' AND table_name = '{}'", progress, key));
  }
  return written > 0;
}

void write_something(const sql::Database& database) {
  if (!write_if(database, database->facts().is_writable)) {
    require_writable(database, "ON");
  }
}

void make_durable(const sql::Database& database, std::uint32_t shard) {
  sql::Transaction transaction(database);
  write_something(database);
  const Step step(steps::durable_commit, shard);
  transaction.commit();
}

CrashDetector::CrashDetector(Shards& shards) {
  const base::Deadline deadline = shards.deadline();
  for (const auto& here : shards_by_server(shards)) {
    sessions_.push_back(shards.connect(here.front(), deadline, Purpose::pinned));
  }
}

void CrashDetector::keep_alive() {
  constexpr auto often_enough = std::chrono::seconds(10);  // often enough for a wait_timeout of 30 s
  if (std::chrono::steady_clock::now() - kept_alive_ >= often_enough) {
    kept_alive_ = std::chrono::steady_clock::now();
    lost_ =
        !on_each([](const sql::Database& database, std::uint32_t) { static_cast<void>(database->query("SELECT 1")); });
  }
}

bool CrashDetector::make_durable() {
  return on_each(shard::make_durable);
}

bool CrashDetector::on_each(const std::function<void(const sql::Database&, std::uint32_t shard)>& work) {
  const base::Deadline deadline(longest_conflict);
  sql::Backoff backoff;
  for (std::size_t server = 0; !lost_ && server < sessions_.size();) {
    const sql::Database& database = *sessions_[server];
    try {
      work(database, sessions_[server].shard());
      ++server;
    } catch (const sql::ServerError& error) {
      if (!error.retryable()) {
        throw;
      }
      lost_ = database->broken() || error.error_class() != sql::ErrorClass::conflict || deadline.passed();
      if (!lost_) {
        backoff.wait(deadline);
      }
    }
  }
  return !lost_;
}

}  // namespace looseleaf::shard
