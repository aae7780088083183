// One transaction of a batch: put.fence to put.commit of docs/protocol.md. Index rows are inserted before the commit,
// and the fences are held around both.
#pragma once

#include <atomic>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "shard/shards.hpp"
#include "write/batch.hpp"
#include "write/index_inserts.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::write {

// Items that go into one transaction. Their shards are on one server, and have the same indexes.
struct Batch {
  std::shared_ptr<const shard::Catalog> catalog;  // of one of the shards
  std::map<std::uint32_t, std::uint64_t> epochs;  // of the shards' catalogs
  Items items;
};

struct BatchLeases {
  shard::Lease& entities;            // serves the items' shards
  const shard::ServerLeases& index;  // serve the shards of the items' rows
};

enum class Ending { committed, in_doubt, blocked, id_exists, rolled_back };

struct Transacted {
  Ending ending = Ending::rolled_back;
  Items written = {};                            // with committed, in_doubt and blocked, and if there are failures
  std::vector<BlockedWrite> blocked = {};        // with blocked
  std::vector<IndexShardFailure> failures = {};  // why it was rolled back
  std::set<std::uint32_t> new_catalog = {};      // shards that were left out because their catalog has changed
  std::optional<Error> error = {};               // with in_doubt; and why no fence was free
};

// Runs the steps. Items whose shards' fences are not free are left out, and marked as held, or it waits for them, as
// `held` says. After a conflict, which `again` tells, only a caller that waits for fences waits for one together with
// an entity. Ids are treated as new if all those of the shard's last batch were (`last_ids_were_new`, which it
// updates): if one exists, the ending is id_exists, and the next call looks. With committed, the written items are
// decided. Throws ServerError if something else fails; then nothing is written.
[[nodiscard]] Transacted transact(shard::Shards& shards, BatchLeases leases, const Batch& batch,
                                  std::vector<std::atomic<bool>>& last_ids_were_new, bool again, HeldShards held);

}  // namespace looseleaf::write
