// Collects the state of the cluster.
#include "cluster/status.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "job/jobs.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/schema.hpp"
#include "shard/statements.hpp"

namespace looseleaf {

std::string to_string(ShardState state) {
  switch (state) {
    case ShardState::up:
      return "up";
    case ShardState::uninitialised:
      return "uninitialised";
    case ShardState::refused:
      return "refused";
    case ShardState::down:
      return "down";
  }
  return {};
}

namespace cluster {
namespace {

// Returns true for rows that are not about a job that ends: a trigger, a process that runs one, how far the tombstones
// were purged, and how far a copy is.
bool is_no_job(const job::JobRow& row) {
  return row.job == job::trigger_job || row.job == job::lease_job || row.job == job::purged_job ||
         row.job == job::copied_to_job || (row.job == job::copy_job && !row.table.empty());
}

// Fills in what the shard says and returns the id of its cluster.
Uuid ask(shard::Shards& shards, ShardStatus& status) {
  shard::Lease lease = shards.sessions().connect_once(status.shard);
  status.server = lease->facts().version;
  const shard::Head head = shard::load_head(*lease);
  const shard::Access access = shard::read_access(*lease);
  status.access = {access.state, access.reason, access.holder, access.since, access.overdue};
  status.entities = shard::estimate_rows(*lease, "entities");
  for (const shard::CatalogIndex& index : shard::parse_catalog(head).indexes) {
    status.indexes.push_back(
        {index.definition.table, index.state, index.generation, index.since, index.definition.canonical_json()});
  }
  for (const job::JobRow& job : job::read_jobs(*lease)) {
    if (job.job == job::copied_to_job) {
      status.copies.push_back({job.table, job.detail == job::copy_scans,
                               job.barrier ? to_string(*job.barrier) : std::string(), job.heartbeat});
    }
    if (is_no_job(job)) {
      continue;
    }
    status.jobs.push_back({job.job, job.table, job.holder, job.since, job.heartbeat, job.done, job.estimate});
  }
  const std::uint32_t shard = status.shard;
  for (const auto& [_, count] : shard::count_buffered(lease, {&shard, 1})) {
    status.buffered = count.copies;
    status.refused = count.refusals;
  }
  return head.cluster_id;
}

// Clears the holder of jobs that are not running. A process that died cannot clear its own name, but a running job
// holds its lock on shard 0, which is asked once for each job, whatever the number of shards. If it cannot be queried,
// the names stay.
void clear_ended_holders(shard::Shards& shards, const std::vector<ShardStatus*>& asked) {
  std::optional<shard::Lease> lease;
  std::map<std::pair<std::string, std::string>, bool> under_way;  // by job and table
  for (ShardStatus* status : asked) {
    for (JobStatus& job : status->jobs) {
      if (job.holder.empty()) {
        continue;
      }
      try {
        if (!lease) {
          lease.emplace(shards.sessions().connect_once(0));
        }
        const auto [known, is_new] = under_way.try_emplace({job.job, job.table});
        if (is_new) {
          known->second = job::is_under_way(shards, **lease, job.job, job.table);
        }
        if (!known->second) {
          job.holder.clear();
        }
      } catch (const Error&) {  // shard 0's own status reports the error
        return;
      }
    }
  }
}

// Removes cleaners that are not running, which have no unfinished work. Their rows in looseleaf_progress stay only to
// remember how far the purge came.
void remove_idle_cleaners(ShardStatus& status) {
  std::erase_if(status.jobs, [](const JobStatus& job) {
    return job.holder.empty() && (job.job == job::clean_job || job.job == job::purge_job);
  });
}

void clear_ended_jobs(shard::Shards& shards, const std::vector<ShardStatus*>& asked) {
  clear_ended_holders(shards, asked);
  for (ShardStatus* status : asked) {
    remove_idle_cleaners(*status);
  }
}

// A server that is read-only, has too many connections or ends statements early can be tried again, like one that is
// down. But it answers, so it is not `down`.
bool answers(const sql::ServerError& error) {
  constexpr int first_of_client = 2000, last_of_client = 2999;
  return error.error_class() == sql::ErrorClass::failing_over ||
         (error.error_class() != sql::ErrorClass::connection_lost && error.number() != 0 &&
          (error.number() < first_of_client || error.number() > last_of_client));
}

ShardState state_after(const Error& error) {
  if (dynamic_cast<const shard::NotInitialised*>(&error) != nullptr) {
    return ShardState::uninitialised;
  }
  const auto* const by_server = dynamic_cast<const sql::ServerError*>(&error);
  const bool is_down = error.code() == ErrorCode::unavailable && (by_server == nullptr || !answers(*by_server));
  return is_down ? ShardState::down : ShardState::refused;
}

// Queries one shard. If it answers, calls `on_cluster_id` with the id of its cluster.
ShardStatus status_of(shard::Shards& shards, std::uint32_t shard, const std::function<void(Uuid)>& on_cluster_id) {
  ShardStatus status;
  status.shard = shard;
  status.address = to_string(shards.cluster().shards.at(shard).address);
  status.database = shards.cluster().shards.at(shard).database;
  try {
    ShardStatus answer = status;  // what a shard says that fails halfway is not given
    shard::on_shard(shards, shard, [&] { on_cluster_id(ask(shards, answer)); });
    status = std::move(answer);
  } catch (const Error& error) {
    status.error = error;
    status.state = state_after(error);
  }
  return status;
}

}  // namespace

Status status(shard::Shards& shards) {
  Status status;
  std::mutex mutex;  // guards cluster_id
  status.shards.resize(shards.count());
  shard::for_each_shard(shards, [&](std::uint32_t shard) {
    status.shards[shard] = status_of(shards, shard, [&](Uuid cluster_id) {
      const std::lock_guard lock(mutex);
      status.cluster_id = cluster_id;
    });
  });
  std::vector<ShardStatus*> asked;
  for (ShardStatus& shard : status.shards) {
    asked.push_back(&shard);
  }
  clear_ended_jobs(shards, asked);
  return status;
}

ShardStatus status(shard::Shards& shards, std::uint32_t shard) {
  shards.require_shard(shard);
  ShardStatus status = status_of(shards, shard, [](Uuid) {});
  clear_ended_jobs(shards, {&status});
  return status;
}

}  // namespace cluster
}  // namespace looseleaf
