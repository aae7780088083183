// How far the tombstones of a shard were purged. Readers of the feed need it: a purged tombstone is a delete that they
// can no longer deliver.
#pragma once

#include <string>

#include "base/stamp.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// Returns a scalar subquery: every tombstone that was purged had a stamp below its value, which never falls. It is NULL
// if none was purged.
[[nodiscard]] std::string purged_below_query(const sql::Database& database);

// Raises that value to `stamp`, unless it is greater already. Call it in the transaction that deletes the tombstones.
void raise_purged_below(const sql::Database& database, base::Stamp stamp);

}  // namespace looseleaf::shard
