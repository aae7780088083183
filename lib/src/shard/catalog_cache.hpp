// The catalogs of a cluster's shards as they were last loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shard/catalog.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// Thread-safe.
class CatalogCache {
 public:
  explicit CatalogCache(std::uint32_t shards) : catalogs_(shards) {}

  // Returns null if the shard's catalog was never loaded.
  [[nodiscard]] std::shared_ptr<const Catalog> cached(std::uint32_t shard) const;
  // Keeps the catalog of a new session's first query, if the shard's catalog was never loaded. A catalog that cannot be
  // read is left to reload(), which reports it to an operation that needs it.
  void offer(std::uint32_t shard, const Head& head);
  // Forgets all catalogs, so that the next use of each loads it again.
  void forget();
  // Loads the catalog again. `database` must be the shard's.
  std::shared_ptr<const Catalog> reload(std::uint32_t shard, const sql::Database& database);

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Catalog>> catalogs_;  // by shard
};

}  // namespace looseleaf::shard
