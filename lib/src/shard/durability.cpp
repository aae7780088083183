// Commits something after the data that must become durable. A server writes its log in order, so both are then on
// disk. No transaction ever sees the inserted row, because the same transaction deletes it.
#include "shard/durability.hpp"

#include <fmt/format.h>

#include <set>

#include "base/random.hpp"
#include "shard/steps.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::shard {

void make_durable(const sql::Database& database, std::uint32_t shard) {
  const std::string key = fmt::format("{:016x}", base::random_u64());
  const std::string progress = database.table("looseleaf_progress");
  sql::Transaction transaction(database);
  database->execute(
      fmt::format("INSERT INTO {} (job, table_name, generation, token, holder, since, heartbeat) "
                  "VALUES ('flush', '{}', 0, 0, '', NOW(6), NOW(6))",
                  progress, key));
  database->execute(fmt::format("DELETE FROM {} WHERE job = 'flush' AND table_name = '{}'", progress, key));
  const Step step(steps::durable_commit, shard);
  transaction.commit();
}

CrashDetector::CrashDetector(Shards& shards) {
  const base::Deadline deadline = shards.deadline();
  std::set<std::uint32_t> servers;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (servers.insert(shards.sessions().connector().server_of(shard)).second) {
      sessions_.push_back(shards.connect(shard, deadline, Purpose::pinned));
    }
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
  try {
    for (std::size_t server = 0; !lost_ && server < sessions_.size(); ++server) {
      work(*sessions_[server], sessions_[server].shard());
    }
  } catch (const sql::ServerError& error) {
    if (!error.retryable()) {
      throw;
    }
    lost_ = true;
  }
  return !lost_;
}

}  // namespace looseleaf::shard
