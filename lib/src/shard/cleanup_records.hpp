// Cleanup records. A record names entities of its shard of which the index tables may have superfluous rows. A put
// writes it in its entity transaction. The process that has deleted those rows, which may be `clean`, deletes the
// record.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <map>
#include <span>
#include <vector>

#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

struct CleanupRecord {
  std::uint64_t token = 0;             // random; no two records ever have the same
  std::chrono::microseconds age = {};  // by the server's clock; 0 if that clock has stepped back
};

// put.write_cleanup: inserts a record in the transaction that stores these entities.
void insert_cleanup_record(const sql::Database& database, std::uint32_t shard, std::uint64_t token,
                           std::span<const Uuid> ids);

// Writes to a record. Throws a retryable ServerError if it is absent, or the server is read-only.
void touch_cleanup_record(const sql::Database& database, std::uint64_t token);

// cleanup.delete: deletes records whose entities have no superfluous rows any more. A record that is absent is not an
// error. `shard` is the database's shard; it names the step.
void delete_cleanup_records(const sql::Database& database, std::uint32_t shard, std::span<const std::uint64_t> tokens);

// Returns committed records of at most shards_at_once shards of the session's server, by shard and sorted by token, at
// most `limit` of each shard. Shards without a record are left out. Throws a retryable ServerError if the server is
// read-only: another one may have newer records.
[[nodiscard]] std::map<std::uint32_t, std::vector<CleanupRecord>> list_cleanup_records(
    Lease& lease, std::span<const std::uint32_t> shards, std::size_t limit);

// Returns the entities that these records name, by token. Records that were deleted meanwhile are left out.
[[nodiscard]] std::map<std::uint64_t, std::vector<Uuid>> read_cleanup_ids(const sql::Database& database,
                                                                          std::span<const std::uint64_t> tokens);

}  // namespace looseleaf::shard
