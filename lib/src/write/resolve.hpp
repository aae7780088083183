// Finds out whether a COMMIT of unknown outcome happened: put.resolve of docs/protocol.md.
#pragma once

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"
#include "write/batch.hpp"

namespace looseleaf::write {

// Decides the items of a batch whose COMMIT was in doubt. Items that prove not to be committed stay undecided. Hold no
// session of the failed transaction.
void resolve(shard::Shards& shards, const shard::Catalog& catalog, const Items& items, const base::Deadline& deadline);

}  // namespace looseleaf::write
