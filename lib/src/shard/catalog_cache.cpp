// The catalogs of a cluster's shards as they were last loaded.
#include "shard/catalog_cache.hpp"

#include <algorithm>

namespace looseleaf::shard {

std::shared_ptr<const Catalog> CatalogCache::cached(std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  return catalogs_.at(shard);
}

void CatalogCache::offer(std::uint32_t shard, const Head& head) {
  if (cached(shard)) {
    return;
  }
  try {
    auto catalog = std::make_shared<const Catalog>(parse_catalog(head));
    const std::lock_guard lock(mutex_);
    if (!catalogs_.at(shard)) {
      catalogs_.at(shard) = std::move(catalog);
    }
  } catch (const Error&) {
    return;
  }
}

void CatalogCache::forget() {
  const std::lock_guard lock(mutex_);
  std::fill(catalogs_.begin(), catalogs_.end(), nullptr);
}

std::shared_ptr<const Catalog> CatalogCache::reload(std::uint32_t shard, const sql::Database& database) {
  const Head head = load_head(database);
  check_(shard, head);
  auto catalog = std::make_shared<const Catalog>(parse_catalog(head));
  const std::lock_guard lock(mutex_);
  catalogs_.at(shard) = catalog;
  return catalog;
}

}  // namespace looseleaf::shard
