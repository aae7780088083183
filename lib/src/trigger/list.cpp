// Counts what is behind each trigger's position.
#include "trigger/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "job/jobs.hpp"
#include "trigger/leases.hpp"
#include "trigger/trigger_row.hpp"

namespace looseleaf::trigger {
namespace {

std::uint64_t count(const sql::Database& database, const std::string& condition, std::uint64_t limit) {
  return database
      ->query(fmt::format("SELECT COUNT(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {}) AS behind",
                          database.table("entities"), condition, limit))
      .unsigned_integer(0, 0);
}

// Returns when the oldest change that was not taken was made. A trigger that begins with all entities is as late as its
// beginning.
std::optional<base::Stamp> oldest(const sql::Database& database, const TriggerRow& row) {
  if (!row.position) {
    return base::parse_stamp(row.since);
  }
  if (row.position->scan) {
    return row.position->place.updated;
  }
  const sql::Result found =
      database->query(fmt::format("SELECT updated FROM {} WHERE {} ORDER BY updated, added_id LIMIT 1",
                                  database.table("entities"), shard::later_than(row.position->place)));
  return found.empty() ? std::nullopt : std::optional(base::parse_stamp(found.text(0, 0)));
}

void add_lag(const sql::Database& database, const TriggerRow& row, TriggerShard& status) {
  const auto& position = row.position;
  std::uint64_t behind = count(database, position ? shard::later_than(position->place) : "TRUE", most_lag_counted);
  if (position && position->scan && behind < most_lag_counted) {
    behind += count(database,
                    fmt::format("added_id > {} AND added_id <= {} AND updated < {}", position->scan->done,
                                position->scan->until, sql::stamp_literal(position->place.updated)),
                    most_lag_counted - behind);
  }
  status.lag_changes = behind;
  if (const auto since = behind > 0 ? oldest(database, row) : std::nullopt) {
    const base::Stamp now = base::parse_stamp(database->query("SELECT NOW(6)").text(0, 0));
    status.lag = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::microseconds(std::max<std::int64_t>(0, now.micros - since->micros)));
  }
}

TriggerShard status_of(const sql::Database& database, std::uint32_t shard, const TriggerRow& row) {
  TriggerShard status{.shard = shard, .scanning = row.position && row.position->scan, .delivered = row.done};
  if (row.position) {
    status.position = to_string(row.position->place.updated);
  }
  if (row.error) {
    status.error = row.error->text;
    status.error_since = row.error->since;
  }
  add_lag(database, row, status);
  return status;
}

using ByName = std::map<std::string, std::map<std::uint32_t, TriggerShard>>;

// Called with each shard that fails, from several threads.
using Fails = std::function<void(std::uint32_t shard, const Error& error)>;

// Adds all triggers of one shard, or `only` one. `alive` has the processes of each trigger on the shard's server, of
// which `first` is the first shard.
void add_shard(shard::Shards& shards, std::uint32_t shard, const std::string& only, std::uint32_t first,
               std::map<std::string, Processes>& alive, ByName& triggers, std::mutex& mutex, const Fails& fails) {
  using Row = std::pair<TriggerRow, TriggerShard>;
  auto rows = shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    std::vector<Row> found;
    for (const job::JobRow& job : job::read_jobs(database)) {
      if (job.job == trigger_job && (only.empty() || job.table == only)) {
        const TriggerRow row = to_trigger_row(job);
        found.emplace_back(row, status_of(database, shard, row));
      }
    }
    return found;
  });
  for (auto& [row, status] : rows) {
    if (!alive.contains(row.name)) {
      try {
        alive[row.name] = shard::with_shard(shards, first, shards.deadline(), [&name = row.name](const auto& database) {
          return live_processes(database, name);
        });
      } catch (const Error& error) {
        alive[row.name] = {};
        fails(first, error);
      }
    }
    status.holder = alive[row.name].contains(row.token) ? row.holder : "";
    const std::lock_guard lock(mutex);
    triggers[row.name][shard] = std::move(status);
  }
}

}  // namespace

std::vector<TriggerStatus> list(shard::Shards& shards, std::map<std::uint32_t, Error>& down, const std::string& only) {
  ByName triggers;
  std::mutex mutex;
  std::vector<std::uint32_t> firsts;
  std::map<std::uint32_t, std::vector<std::uint32_t>> servers;
  for (const auto& here : shard::shards_by_server(shards)) {
    firsts.push_back(here.front());
    servers[here.front()] = here;
  }
  const Fails fails = [&](std::uint32_t shard, const Error& error) {
    const std::lock_guard lock(mutex);
    down.emplace(shard, server::error_of_shard(shards.cluster(), shard, error));
  };
  shard::for_shards(shards, firsts, [&](std::uint32_t first) {
    std::map<std::string, Processes> alive;
    std::optional<Error> failure;  // of the whole server
    for (const std::uint32_t shard : servers.at(first)) {
      try {
        if (!failure) {
          add_shard(shards, shard, only, first, alive, triggers, mutex, fails);
        }
      } catch (const Error& error) {
        if (!shard::may_be_one_shards(error)) {
          failure = error;
        }
        fails(shard, error);
        continue;
      }
      if (failure) {
        fails(shard, *failure);
      }
    }
  });
  std::vector<TriggerStatus> all;
  for (auto& [name, by_shard] : triggers) {
    TriggerStatus status{name, {}};
    for (auto& [shard, on_shard] : by_shard) {
      status.shards.push_back(std::move(on_shard));
    }
    all.push_back(std::move(status));
  }
  return all;
}

}  // namespace looseleaf::trigger
