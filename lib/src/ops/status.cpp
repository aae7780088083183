// What state the cluster is in.
#include "ops/status.hpp"

#include <functional>
#include <mutex>

#include "base/parallel.hpp"
#include "store/jobs.hpp"
#include "store/statements.hpp"

namespace looseleaf {

std::string to_string(ShardState state) {
  switch (state) {
    case ShardState::up:
      return "up";
    case ShardState::refused:
      return "refused";
    case ShardState::down:
      return "down";
  }
  return {};
}

namespace ops {
namespace {

void ask(store::Shards& shards, ShardStatus& status, std::optional<Uuid>& cluster_id, std::mutex& mutex) {
  const store::Lease lease = shards.connect_once(status.shard);
  status.server = lease->server_version();
  {
    const auto row = lease->query("SELECT cluster_id FROM looseleaf_shard WHERE only_row = 1");
    const std::lock_guard lock(mutex);
    cluster_id = store::require_uuid(row.text(0, 0));
  }
  status.entities = store::estimate_rows(*lease, "entities");
  for (const store::CatalogIndex& index : store::load_catalog(*lease).indexes) {
    status.indexes.push_back(
        {index.definition.table, index.state, index.generation, index.since, index.definition.canonical_json()});
  }
  for (const store::JobRow& job : store::read_jobs(*lease)) {
    status.jobs.push_back({job.job, job.table, job.holder, job.since, job.heartbeat, job.done, job.estimate});
  }
}

// A read-only server may be tried again like one that is down, but it answers.
ShardState state_after(const Error& error) {
  const auto* const by_server = dynamic_cast<const sql::ServerError*>(&error);
  const bool read_only = by_server != nullptr && by_server->error_class() == sql::ErrorClass::failing_over;
  return error.code() == ErrorCode::unavailable && !read_only ? ShardState::down : ShardState::refused;
}

}  // namespace

Status status(store::Shards& shards) {
  Status status;
  std::mutex mutex;  // guards cluster_id
  status.shards.resize(shards.count());
  std::vector<std::function<void()>> tasks;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    ShardStatus& entry = status.shards[shard];
    entry.shard = shard;
    entry.address = to_string(shards.cluster().shards[shard].address);
    entry.database = shards.cluster().shards[shard].database;
    tasks.emplace_back([&] {
      try {
        store::on_shard(shards, entry.shard, [&] { ask(shards, entry, status.cluster_id, mutex); });
      } catch (const Error& error) {
        entry.error = error;
        entry.state = state_after(error);
      }
    });
  }
  base::run_all(tasks);
  return status;
}

}  // namespace ops
}  // namespace looseleaf
