// Changes index rows on several shards while the entities' locks are held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

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

  // Returns false if an unknown row blocks an insert into a UNIQUE table. Then the caller must not commit.
  [[nodiscard]] bool apply(const shard::RowsByShard& deletes, const shard::RowsByShard& inserts);

  // Call this only after the locks on the fence and the entities were validated.
  void commit();

 private:
  struct Open {
    std::uint32_t shard = 0;  // the first one that the transaction changes
    std::unique_ptr<sql::Transaction> transaction = {};
  };

  bool apply_on(std::uint32_t shard, const shard::RowsByShard& deletes, const shard::RowsByShard& inserts);

  shard::Shards& shards_;
  const shard::ServerLeases& leases_;
  const shard::Catalog& catalog_;
  std::map<std::uint32_t, Open> open_;  // by server
};

// reconcile.validate: throws unless the locks on the fence and the entities are still held. Only then may changes to
// index rows be committed.
void validate(const sql::Database& entity_database, std::uint32_t entity_shard);

}  // namespace looseleaf::reconcile
