// Writes the entity rows of a batch: put.lock_entities and put.write_entities of docs/protocol.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "shard/catalog.hpp"
#include "shard/fence.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Rejects items whose body no server with this max_allowed_packet can store. Returns the others.
[[nodiscard]] Items refuse_too_large(const Items& items, std::uint64_t max_packet);

// Locks the existing rows of items of one shard, decides the items that need no write, writes the others, and returns
// these. With `assume_new_ids`, it treats all ids as new, which an INSERT verifies as reliably as a lookup; if there is
// a row, it throws ServerError(duplicate_key). Otherwise it notes in `ids_were_new` whether all of them were new.
[[nodiscard]] Items write_entities(const shard::Shards& shards, const sql::Database& database,
                                   const shard::Catalog& catalog, const shard::Fence& fence, const Items& items,
                                   bool assume_new_ids, std::atomic<bool>& ids_were_new);

}  // namespace looseleaf::write
