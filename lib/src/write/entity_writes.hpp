// Writes the entity rows of a batch: put.lock_entities and put.write_entities of docs/protocol.md.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <map>

#include "shard/catalog.hpp"
#include "shard/entity_rows.hpp"
#include "shard/fence.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Rejects items whose body no server with this max_allowed_packet can store. Returns the others.
[[nodiscard]] Items refuse_too_large(const Items& items, std::uint64_t max_packet);

// Existing rows that the transaction has locked, some of them with their bodies.
using LockedRows = std::map<Uuid, shard::EntityRow>;

// Locks the existing rows of items of one shard.
[[nodiscard]] LockedRows lock_entities(const sql::Database& database, const Items& items);

// Decides the items of one shard that need no write, writes the others, and returns these. `found` has the rows that
// exist. Ids that are not in it are inserted; if one of them exists, it throws ServerError(duplicate_key).
[[nodiscard]] Items write_entities(const shard::Shards& shards, const sql::Database& database,
                                   const shard::Catalog& catalog, const shard::Fence& fence, const Items& items,
                                   const LockedRows& found);

// put.check_copy: decides buffered writes whose copies are gone. Returns false if there are any: then nothing of the
// transaction may be committed. Call this once the receipts are inserted. `leases` serve the shards that have the
// copies.
[[nodiscard]] bool check_copies(const shard::Shards& shards, const shard::ServerLeases& leases, const Items& written);

}  // namespace looseleaf::write
