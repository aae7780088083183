// Finds the index of a query, and answers by the catalog that was loaded last if it can.
#include "read/query.hpp"

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "read/get.hpp"
#include "read/query_execution.hpp"
#include "read/query_plan.hpp"
#include "read/shard_rows.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/writable.hpp"

namespace looseleaf::read {
namespace {

// Without a deadline, makes one attempt, and does not wait for a server that is silent.
std::shared_ptr<const shard::Catalog> catalog_of(shard::Shards& shards, std::uint32_t shard, const Query& query,
                                                 const std::optional<base::Deadline>& deadline) {
  const bool was_cached = shards.catalogs().cached(shard) != nullptr;
  const auto load = [&](const sql::Database& database) {
    auto catalog = was_cached ? nullptr : shards.catalogs().cached(shard);  // a new session has just read it
    if (!catalog) {
      catalog = shards.catalogs().reload(shard, database);
    }
    const shard::CatalogIndex* const index = catalog->find(query.index);
    if (!index || index->state != IndexState::ready) {
      shard::require_still_writable(database);  // a demoted server may have an outdated catalog
    }
    return catalog;
  };
  if (deadline) {
    return shard::with_shard(shards, shard, *deadline, load, purpose_of(query));
  }
  const shard::Lease lease = shards.sessions().connect_soon(shard, purpose_of(query));
  return shard::on_shard(shards, shard, [&] { return load(*lease); });
}

// Returns the shards that are down, with the reason.
Unavailable::Shards find_down(shard::Shards& shards) {
  Unavailable down;
  shard::for_groups(shards, shard::all_shards(shards), [&](std::span<const std::uint32_t> group) {
    try {
      shard::with_group(shards, group, shards.deadline(shard::Purpose::fail_fast), shard::Purpose::fail_fast,
                        [](shard::Lease&) {});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) {
        throw;
      }
      for (const std::uint32_t shard : group) {
        down.add(shard, server::error_of_shard(shards.cluster(), shard, error));
      }
    }
  });
  return down.missed();
}

// Returns a catalog that has the index, or else the last one that could be read. Definitions are the same on every
// shard; ShardRows checks on each shard whether the index is ready. So a server that is down is waited for only if no
// other one has the index. Skips the shards in `down`, and adds those that turn out to be down.
std::shared_ptr<const shard::Catalog> catalog_with(shard::Shards& shards, const Query& query,
                                                   Unavailable::Shards& down) {
  std::shared_ptr<const shard::Catalog> last;
  std::vector<std::uint32_t> wanted = shard::all_shards(shards);
  std::erase_if(wanted, [&](std::uint32_t shard) { return down.contains(shard); });
  for (const bool waits : {false, true}) {
    const auto deadline = waits ? std::optional(shards.deadline(purpose_of(query))) : std::nullopt;
    std::set<std::uint32_t> silent;  // servers
    std::vector<std::uint32_t> left;
    for (const std::uint32_t shard : wanted) {
      const std::uint32_t server = shards.sessions().connector().server_of(shard);
      if (!waits && (silent.contains(server) || shards.sessions().is_failing(shard))) {
        left.push_back(shard);
        continue;
      }
      try {
        last = catalog_of(shards, shard, query, deadline);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unavailable || (waits && !query.partial)) {
          throw;
        }
        if (waits) {
          down.emplace(shard, error);
        }
        silent.insert(server);
        left.push_back(shard);
        continue;
      }
      if (last->find(query.index)) {
        return last;
      }
    }
    wanted = std::move(left);
  }
  if (!last) {
    throw down.begin()->second;
  }
  return last;
}

bool serves(const IndexDefinition& definition, const Query& query) {
  try {
    static_cast<void>(QueryPlan(definition, query));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Adds the indexes that can use the conditions to the error. One with `where` would find only a part of the matches.
Error with_alternatives(Error error, const shard::Catalog& catalog, const Query& query) {
  for (const shard::CatalogIndex& other : catalog.indexes) {
    if (other.state == IndexState::ready && other.definition.table != query.index && other.definition.where.empty() &&
        serves(other.definition, query)) {
      error.with("can use them", other.definition.table);
    }
  }
  return error;
}

// Returns a cached catalog of any shard in which the index is ready; null if there is none.
std::shared_ptr<const shard::Catalog> cached_catalog_with(shard::Shards& shards, const Query& query) {
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    auto catalog = shards.catalogs().cached(shard);
    const shard::CatalogIndex* const index = catalog ? catalog->find(query.index) : nullptr;
    if (index && index->state == IndexState::ready) {
      return catalog;
    }
  }
  return nullptr;
}

// Answers by a cached catalog, which may be outdated: after the rows were read, each shard checks that the index is
// still the same and ready. If it is not, or the index is not in the cache, returns nothing; then the caller has been
// given nothing.
std::optional<QueryReport> query_by_cache(shard::Shards& shards, const Query& query,
                                          const std::function<bool(const Entity&)>& on_entity) {
  const auto catalog = cached_catalog_with(shards, query);
  if (!catalog) {
    return std::nullopt;
  }
  bool given = false;
  try {
    Unavailable unavailable;
    Query noted = query;
    if (query.on_unreadable) {
      noted.on_unreadable = [&](const Error& error) {
        given = true;
        query.on_unreadable(error);
      };
    }
    const std::function<bool(const Entity&)> note_and_give = [&](const Entity& entity) {
      given = true;
      return on_entity(entity);
    };
    QueryReport report = QueryExecution(shards, *catalog->find(query.index), noted, unavailable, note_and_give).run();
    if (!given && report.unavailable.size() == shards.count()) {  // then this is an error
      return std::nullopt;
    }
    return report;
  } catch (const Error& error) {
    if (given || (error.code() != ErrorCode::bad_index && error.code() != ErrorCode::usage)) {
      throw;
    }
    return std::nullopt;
  }
}

}  // namespace

QueryReport query(shard::Shards& shards, const Query& query, const std::function<bool(const Entity&)>& on_entity) {
  if (!cached_catalog_with(shards, query)) {
    shards.open_ahead(purpose_of(query));  // reads the catalogs of those that answer
  }
  if (auto report = query_by_cache(shards, query, on_entity)) {
    return *std::move(report);
  }
  Unavailable::Shards down = query.partial ? find_down(shards) : Unavailable::Shards();
  const auto catalog = catalog_with(shards, query, down);
  const shard::CatalogIndex* index = catalog->find(query.index);
  if (!index) {
    throw shard::no_such_index(shards, query.index);
  }
  if (index->state != IndexState::ready) {
    throw not_ready(query.index, index->state);
  }
  try {
    static_cast<void>(QueryPlan(index->definition, query));
  } catch (const Error& error) {
    throw with_alternatives(error, *catalog, query);
  }
  Unavailable unavailable(std::move(down));
  return QueryExecution(shards, *index, query, unavailable, on_entity).run();
}

}  // namespace looseleaf::read
