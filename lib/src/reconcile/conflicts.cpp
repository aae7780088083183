// Looks at the entities whose rows are in the way of others (docs/protocol.md).
#include "reconcile/conflicts.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "model/parsed_entity.hpp"
#include "shard/entity_rows.hpp"
#include "shard/placement.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"

namespace looseleaf::reconcile {
namespace {

// The rows that an entity calls for; absent if its body cannot be read.
using Called = std::optional<std::vector<shard::PlacedRow>>;

Called rows_of(const shard::Shards& shards, const shard::Catalog& catalog, std::uint32_t entity_shard,
               const shard::EntityRow& entity) {
  if (!entity.body) {
    return std::vector<shard::PlacedRow>();
  }
  try {
    const model::ParsedEntity parsed(codec::decode_body(*entity.body, model::max_body_size));
    return shard::placed_rows(catalog, entity.id, &parsed, entity_shard, shards.count());
  } catch (const Error&) {
    return std::nullopt;
  }
}

shard::PlacedRow with_entity(shard::PlacedRow row, const Uuid& id) {
  row.entry.entity_id = id;
  return row;
}

bool contains(const std::vector<shard::PlacedRow>& sorted, const shard::PlacedRow& row) {
  return std::binary_search(sorted.begin(), sorted.end(), row);
}

// Calls `look` for each entity, with some MiB of bodies at a time in memory: they may be large.
void read_by_size(shard::Shards& shards, std::uint32_t shard, std::span<const Uuid> ids, const base::Deadline& deadline,
                  const std::function<void(const shard::EntityRow&)>& look) {
  constexpr std::size_t most = 1000, few_bytes = 1 << 20;
  std::size_t at_once = 16;
  for (std::size_t from = 0; from < ids.size();) {
    const auto some = ids.subspan(from, std::min(at_once, ids.size() - from));
    const auto entities = shard::read_shard(shards, shard, deadline, [&](const sql::Database& database) {
      return shard::read_entities(database, some, shard::Lock::shared);
    });
    std::size_t bytes = 0;
    for (const shard::EntityRow& entity : entities) {
      bytes += entity.body ? entity.body->size() : 0;
      look(entity);
    }
    from += some.size();
    at_once = bytes < few_bytes ? std::min(most, 2 * at_once) : std::max<std::size_t>(1, at_once / 2);
  }
}

// Returns the rows that have the values of these entries; none if the index was dropped meanwhile.
std::vector<shard::IndexEntry> read_with_values(shard::Shards& shards, std::uint32_t shard,
                                                const IndexDefinition& definition,
                                                std::span<const shard::IndexEntry> entries,
                                                const base::Deadline& deadline) {
  try {
    return shard::read_shard(shards, shard, deadline, [&](const sql::Database& database) {
      return shard::read_entries_with_values(database, definition, entries);
    });
  } catch (const sql::ServerError& error) {
    if (error.error_class() != sql::ErrorClass::table_gone) {
      throw;
    }
    return {};
  }
}

}  // namespace

HeldRows look_at_holders(shard::Shards& shards, const shard::Catalog& catalog,
                         std::span<const shard::BlockedRow> blocked, const base::Deadline& deadline) {
  std::map<std::uint32_t, std::set<Uuid>> holders;
  for (const shard::BlockedRow& row : blocked) {
    holders[shard::shard_of(*row.holder, shards.count())].insert(*row.holder);
  }
  std::map<Uuid, Called> called;
  for (const auto& [shard, ids] : holders) {
    const std::vector<Uuid> sorted(ids.begin(), ids.end());
    read_by_size(shards, shard, sorted, deadline, [&, shard = shard](const shard::EntityRow& entity) {
      called.emplace(entity.id, rows_of(shards, catalog, shard, entity));
    });
  }
  HeldRows result;
  for (const shard::BlockedRow& row : blocked) {
    const auto holder = called.find(*row.holder);
    if (holder == called.end()) {
      result.free.push_back(row);
    } else if (!holder->second) {
      result.unreadable.push_back(row);
    } else {
      (contains(*holder->second, with_entity(row.wanted, *row.holder)) ? result.called_for : result.free)
          .push_back(row);
    }
  }
  return result;
}

std::vector<shard::BlockedRow> find_holders(shard::Shards& shards, const shard::Catalog& catalog,
                                            std::span<const shard::PlacedRow> wanted, const base::Deadline& deadline) {
  shard::RowsByShard rows;
  for (const shard::PlacedRow& row : wanted) {
    shard::add_row(rows, row);
  }
  std::vector<shard::BlockedRow> blocked;
  for (const auto& [shard, by_index] : rows) {
    for (const auto& [position, entries] : by_index) {
      const auto there = read_with_values(shards, shard, catalog.indexes[position].definition, entries, deadline);
      std::map<model::Row, Uuid> holders;
      for (const shard::IndexEntry& entry : there) {
        holders.emplace(entry.values, entry.entity_id);
      }
      for (const shard::IndexEntry& entry : entries) {
        const auto holder = holders.find(entry.values);
        if (holder != holders.end() && holder->second != entry.entity_id) {
          blocked.push_back({{shard, position, entry}, holder->second});
        }
      }
    }
  }
  return blocked;
}

bool is_conflict(shard::Shards& shards, const shard::Catalog& catalog, const shard::BlockedRow& row,
                 const base::Deadline& deadline) {
  // In ascending order, so that two such looks cannot wait for each other.
  std::set<std::pair<std::uint32_t, Uuid>> both;
  std::set<std::uint32_t> needed;
  for (const Uuid& id : {row.wanted.entry.entity_id, *row.holder}) {
    const std::uint32_t shard = shard::shard_of(id, shards.count());
    both.emplace(shard, id);
    needed.insert(shard);
  }
  return sql::with_retries(deadline, [&] {
    shard::ServerLeases leases(shards.sessions());
    leases.connect_all(needed, deadline, shard::Purpose::general);
    std::vector<std::unique_ptr<sql::Transaction>> transactions;
    for (const auto& group : leases.by_server(needed)) {
      transactions.push_back(std::make_unique<sql::Transaction>(leases.on(group.front())));
    }
    return std::all_of(both.begin(), both.end(), [&](const auto& entity) {
      return shard::on_shard(shards, entity.first, [&] {
        const auto found = shard::read_entity(leases.on(entity.first), entity.second, shard::Lock::shared);
        const Called called = found ? rows_of(shards, catalog, entity.first, *found) : std::vector<shard::PlacedRow>();
        shard::require_still_writable(leases.on(entity.first));
        // The row of a holder that cannot be read may be right.
        return called ? contains(*called, with_entity(row.wanted, entity.second)) : entity.second == *row.holder;
      });
    });
  });
}

}  // namespace looseleaf::reconcile
