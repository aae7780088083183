// Limits a job by its rate, the servers' load, the replicas' lag and a file that pauses it.
#include "job/throttling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

namespace looseleaf::job {
namespace {

constexpr auto query_every = std::chrono::seconds(1);
constexpr auto longest_look = std::chrono::seconds(1);
constexpr auto nap = std::chrono::milliseconds(100);
// With a limited rate, one chunk keeps other work from the servers for its whole duration, which is about two
// milliseconds here.
constexpr std::uint64_t chunks_a_second = 400;
constexpr auto chunk_time = std::chrono::milliseconds(500);
constexpr auto most_made_good = std::chrono::milliseconds(500);

bool names_replicas(const Cluster& cluster) {
  return std::any_of(cluster.shards.begin(), cluster.shards.end(),
                     [](const ShardConfig& shard) { return !shard.replicas.empty(); });
}

}  // namespace

Throttling::Throttling(shard::Shards& shards, const Throttle& limits) : shards_(shards), limits_(limits) {
  check(shards.cluster(), limits);
}

void Throttling::check(const Cluster& cluster, const Throttle& limits) {
  if (limits.max_lag > 0 && !names_replicas(cluster)) {
    throw Error(ErrorCode::usage, "`--max-lag` needs replicas in the cluster file", {},
                "add \"replicas\" to its shards, or omit --max-lag");
  }
}

Throttle Throttling::in_other_store(const Cluster& other, Throttle limits) {
  limits.max_lag = names_replicas(other) ? limits.max_lag : 0;
  return limits;
}

void Throttling::wait(std::uint64_t entities, const WhileWaiting& while_waiting) {
  for (std::string reason = obstacle(); !reason.empty(); reason = obstacle()) {
    while_waiting(reason);
    std::this_thread::sleep_for(nap);
  }
  if (limits_.max_rate == 0) {
    return;
  }
  Clock::time_point turn;
  {
    const std::lock_guard lock(mutex_);
    turn = std::max(next_, Clock::now() - most_made_good);
    next_ = turn + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                       static_cast<double>(entities) / static_cast<double>(limits_.max_rate)));
  }
  while (Clock::now() < turn) {
    while_waiting({});
    std::this_thread::sleep_for(std::min<Clock::duration>(nap, turn - Clock::now()));
  }
}

std::size_t next_chunk(std::size_t chunk, std::chrono::steady_clock::duration took) {
  return std::clamp(took > chunk_time       ? chunk / 2
                    : took < chunk_time / 2 ? chunk * 2
                                            : chunk,
                    smallest_chunk, largest_chunk);
}

std::size_t Throttling::limit_chunk(std::size_t chunk) const {
  const std::size_t limited =
      std::clamp<std::uint64_t>(limits_.max_rate / chunks_a_second, smallest_chunk, largest_chunk);
  return limits_.max_rate == 0 ? chunk : std::min(chunk, limited);
}

std::unique_lock<std::mutex> Throttling::turn() {
  return paces() ? std::unique_lock(turn_) : std::unique_lock<std::mutex>();
}

std::string Throttling::obstacle() {
  const std::lock_guard lock(mutex_);
  if (Clock::now() - queried_ >= query_every) {
    found_ = find_obstacle();
    queried_ = Clock::now();
  }
  return found_;
}

std::string Throttling::find_obstacle() {
  std::error_code ignored;
  if (!limits_.pause_file.empty() && std::filesystem::exists(limits_.pause_file, ignored)) {
    return "paused; delete " + limits_.pause_file + " to continue";
  }
  std::string reason = limits_.max_load == 0 ? std::string() : busy_server();
  return reason.empty() && limits_.max_lag > 0 ? late_replica() : reason;
}

std::string Throttling::busy_server() {
  std::set<std::string> asked;
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    const std::string server = to_string(shards_.cluster().shards[shard].address);
    if (!asked.insert(server).second) {
      continue;
    }
    std::uint64_t running = 0;
    try {
      running = shard::with_shard(
          shards_, shard, base::Deadline(longest_look),
          [](const sql::Database& database) {
            return database->query("SHOW GLOBAL STATUS LIKE 'Threads_running'").unsigned_integer(0, 1);
          },
          shard::Purpose::fail_fast);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) {
        throw;
      }
    }  // a server that does not answer is idle; whether the job needs it, its own work finds out
    if (running > limits_.max_load) {
      return fmt::format("server {} is running {} statements (limit {})", server, running, limits_.max_load);
    }
  }
  return {};
}

std::string Throttling::late_replica() {
  std::set<std::string> asked;
  for (std::uint32_t shard = 0; shard < shards_.count(); ++shard) {
    for (std::size_t n = 0; n < shards_.cluster().shards[shard].replicas.size(); ++n) {
      const std::string replica = to_string(shards_.cluster().shards[shard].replicas[n]);
      if (!asked.insert(replica).second) {
        continue;
      }
      if (std::string reason = lateness(shard, n); !reason.empty()) {
        return fmt::format("replica {} {}", replica, reason);
      }
    }
  }
  return {};
}

// Explains why a replica counts as late, or returns an empty string. An unreachable replica counts as late, because
// its lag is unknown. This function throws other errors, for example a missing permission to query the replica.
std::string Throttling::lateness(std::uint32_t shard, std::size_t n) {
  auto& connection = replicas_[{shard, n}];
  try {
    if (!connection) {
      connection = shards_.sessions().connector().open_replica(shard, n);
    }
    const auto lag = connection->replication_lag();
    if (!lag) {
      return "is not replicating";
    }
    return static_cast<double>(*lag) > limits_.max_lag ? fmt::format("is {} s behind", *lag) : std::string();
  } catch (const sql::ServerError& error) {
    connection.reset();
    if (!error.retryable() && error.error_class() != sql::ErrorClass::unreachable) {
      throw;
    }
    return "does not answer";
  }
}

}  // namespace looseleaf::job
