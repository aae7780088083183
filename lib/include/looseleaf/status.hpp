// The reports of init and status about a cluster.
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
  std::string since;       // in UTC: "2026-01-31 12:00:00"
  std::string definition;  // canonical JSON
};

// How an index that a definition declares, or that is active without one, compares with the catalogs of all shards.
struct DeclaredIndex {
  enum class Kind {
    equal,      // it is ready on every shard, with this definition
    missing,    // it is not active, at least on `shards`
    building,   // it is active with this definition, but not ready
    different,  // it is active with another definition
    extra,      // it is active, but no definition declares it
    dropping,   // it is being dropped, whether a definition declares it or not
  };
  std::string table;
  Kind kind = Kind::equal;
  std::vector<std::uint32_t> shards;     // if it is missing: the shards that lack it
  std::vector<std::string> differences;  // if it is different: a text for each member that differs
  std::uint64_t generation = 0;          // of the active index; one that is created again has another one
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(DeclaredIndex::Kind kind);

// A job that is running, or was interrupted.
struct JobStatus {
  std::string job;
  std::string table;
  std::string holder;            // "host pid 123"; empty if the job is not running
  std::string since, heartbeat;  // UTC
  std::uint64_t done = 0, estimate = 0;
};

struct InitReport {
  Uuid cluster_id;
  std::uint32_t created = 0;  // number of shards that had no tables before
  // Indexes that some shards lack, because an empty shard has joined or a creation was interrupted, so they are
  // `building`. Create them again so that all shards have them, then run a backfill.
  std::vector<std::string> unready;
};

enum class ShardState {
  up,
  uninitialised,  // the server answers, but init() has not created the tables
  refused,        // the server answers, but the shard cannot be used: it belongs to another cluster, denies access, is
                  // read-only, ...
  down,           // the server cannot be reached
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(ShardState state);

// Whether a shard takes writes.
enum class AccessState {
  open,
  frozen,   // writes are refused
  moving,   // the store is about to move to another cluster, so writes wait
  moved,    // writes and reads of entities are refused
  opening,  // a store is about to move to this cluster, so writes wait
};

[[nodiscard]] LOOSELEAF_EXPORT std::string to_string(AccessState state);

struct ShardAccess {
  AccessState state = AccessState::open;
  std::string reason;  // why it is frozen or moves, or where it has moved to; empty if it is open
  std::string holder;  // "host pid 123": the process that has changed the state
  std::string since;   // UTC
  // It is about to move, but for too long: the next writer that needs the shard opens it.
  bool overdue = false;
};

// How far a copy of this store has come with a shard. It is stored about once a minute.
struct CopyStatus {
  std::string cluster_id;  // of the copy
  bool scanning = false;   // it still reads all entities
  std::string up_to;       // UTC; everything before is in the copy, unless it still reads all entities
  std::string as_of;       // UTC; when this was stored
};

struct ShardStatus {
  std::uint32_t shard = 0;
  std::string address, database;
  ShardState state = ShardState::up;
  std::optional<Error> error;  // why the shard is not `up`; the members below are then empty
  std::string server;          // "MariaDB 10.11.9"
  ShardAccess access;
  std::uint64_t entities = 0;  // the server's estimate
  std::vector<IndexStatus> indexes;
  std::vector<JobStatus> jobs;
  std::vector<CopyStatus> copies;
  std::uint64_t buffered = 0;  // buffered writes that have a copy in this database; each has up to two
  std::uint64_t refused = 0;   // refused writes of this shard's entities: see Datastore::list_refused
};

struct Status {
  std::optional<Uuid> cluster_id;  // absent if no shard answered
  std::vector<ShardStatus> shards;
};

}  // namespace looseleaf
