// Changes index rows on several shards while the entities' locks are held.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "shard/catalog.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::reconcile {

// Deletes and inserts index rows on several shards, in one transaction per server. All transactions stay open until
// commit(). Everything that it is made from outlives it.
class IndexTransactions {
 public:
  // `leases` must serve all shards that apply() is given rows for.
  IndexTransactions(shard::Shards& shards, const shard::ServerLeases& leases, const shard::Catalog& catalog)
      : shards_(shards), leases_(leases), catalog_(catalog) {}

  // Returns the rows whose insert another row blocks. If there are any, not all was done, and the caller must not
  // commit.
  [[nodiscard]] std::vector<shard::BlockedRow> apply(const shard::RowsByShard& deletes,
                                                     const shard::RowsByShard& inserts);

  // Call this only after the proof that nobody else could change the entities or the catalog until the rows were
  // locked: prove(), or the commit of a transaction that holds the fence exclusively.
  void commit();

 private:
  struct Open {
    std::uint32_t shard = 0;  // the first one that the transaction changes
    std::unique_ptr<sql::Transaction> transaction = {};
  };

  std::vector<shard::BlockedRow> apply_on(std::uint32_t shard, const shard::RowsByShard& deletes,
                                          const shard::RowsByShard& inserts);

  shard::Shards& shards_;
  const shard::ServerLeases& leases_;
  const shard::Catalog& catalog_;
  std::map<std::uint32_t, Open> open_;  // by server
};

// reconcile.prove: calls `write`, which writes something in the entity transaction, and commits that transaction, which
// releases its locks. If this succeeds, the session held the locks until then, its server was the primary, since a
// demoted server and one in a minority refuse writes, and the bodies that were read are on disk. Throws ServerError
// otherwise.
void prove(sql::Transaction& entity_transaction, std::uint32_t entity_shard, const std::function<void()>& write);

}  // namespace looseleaf::reconcile
