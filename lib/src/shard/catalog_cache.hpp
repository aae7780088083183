// The catalogs of a cluster's shards as they were last loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shard/catalog.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// Thread-safe.
class CatalogCache {
 public:
  // Called with what a shard says of itself. It throws if that is not the shard.
  using Check = std::function<void(std::uint32_t shard, const Head& head)>;

  CatalogCache(std::uint32_t shards, Check check) : check_(std::move(check)), catalogs_(shards) {}

  // Returns null if the shard's catalog was never loaded.
  [[nodiscard]] std::shared_ptr<const Catalog> cached(std::uint32_t shard) const;
  // Keeps the catalog of a new session's first query, if the shard's catalog was never loaded. A catalog that cannot be
  // read is left to reload(), which reports it to an operation that needs it.
  void offer(std::uint32_t shard, const Head& head);
  // Forgets all catalogs, so that the next use of each loads it again.
  void forget();
  // Loads the catalog again, and checks the shard. The database may have been dropped and created again, for another
  // cluster, while the session was open. Its epoch is random, so every operation on it comes here first.
  std::shared_ptr<const Catalog> reload(std::uint32_t shard, const sql::Database& database);

 private:
  const Check check_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Catalog>> catalogs_;  // by shard
};

}  // namespace looseleaf::shard
