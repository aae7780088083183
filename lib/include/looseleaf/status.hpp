// What init and status report about a cluster.
#pragma once

#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf {

struct IndexStatus {
  std::string table;
  IndexState state = IndexState::building;
  std::uint64_t generation = 0;
  std::string since;       // UTC, "2026-01-31 12:00:00"
  std::string definition;  // canonical JSON
};

// A job that is under way, or was left half done.
struct JobStatus {
  std::string job;
  std::string table;
  std::string holder;            // "host pid 123"; empty if nobody works on it
  std::string since, heartbeat;  // UTC
  std::uint64_t done = 0, estimate = 0;
};

struct InitReport {
  Uuid cluster_id;
  std::uint32_t created = 0;  // shards that had no tables yet
  // Indexes that are `building` now because a shard was accepted empty: create them again, so that it knows them too,
  // and backfill.
  std::vector<std::string> unready;
};

enum class ShardState {
  up,
  uninitialised,  // it answers, but init() was not run on it
  refused,        // it cannot be used as it is: another cluster's, access denied, read-only, ...
  down,           // it cannot be reached
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(ShardState state);

struct ShardStatus {
  std::uint32_t shard = 0;
  std::string address, database;
  ShardState state = ShardState::up;
  std::optional<Error> error;  // why it could not be asked, unless it is up; what follows is then empty
  std::string server;          // "MariaDB 10.11.9"
  std::uint64_t entities = 0;  // the server's estimate
  std::vector<IndexStatus> indexes;
  std::vector<JobStatus> jobs;
};

struct Status {
  std::optional<Uuid> cluster_id;  // absent if no shard answered
  std::vector<ShardStatus> shards;
};

}  // namespace looseleaf
