// Finds out whether a COMMIT of unknown outcome happened.
#include "write/resolve.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "shard/durability.hpp"
#include "shard/entity_rows.hpp"
#include "shard/steps.hpp"
#include "sql/retry.hpp"
#include "sql/transaction.hpp"
#include "write/old_bodies.hpp"
#include "write/unique_values.hpp"

namespace looseleaf::write {
namespace {

using shard::Step;
namespace steps = shard::steps;

bool has_immutable_index(const shard::Catalog& catalog) {
  return std::any_of(catalog.indexes.begin(), catalog.indexes.end(),
                     [](const auto& index) { return index.maintained() && index.definition.immutable; });
}

// Has the bodies only of entities that others have overwritten, and only if they matter: a batch of deletes may be of
// entities of any size.
std::vector<shard::EntityRow> read_locked(const sql::Database& database, const shard::Catalog& catalog,
                                          const Items& items) {
  const sql::Transaction transaction(database);
  std::vector<shard::EntityRow> rows = shard::read_stamps(database, ids_of(items), shard::Lock::exclusive);
  if (!has_immutable_index(catalog)) {
    return rows;
  }
  for (shard::EntityRow& row : rows) {
    const auto item = std::find_if(items.begin(), items.end(), [&](const Item* i) { return i->write->id == row.id; });
    if (row.writer != (*item)->writer && row.updated > (*item)->stamp && (*item)->write->body) {
      row = shard::read_entities(database, {&row.id, 1}, shard::Lock::exclusive).front();
    }
  }
  return rows;
}

const char* hint_if_unknown(const Write& write) {
  return write.buffered != nullptr ? "run `looseleaf flush` again, which finds out"
         : write.has_condition()   ? "read the entity before you repeat the write"
         : write.body              ? "read the entity, or put it again with this id; a put can be repeated safely"
                                   : "delete it again; a delete can be repeated safely";
}

void leave_unknown(const Items& items, const Error& error) {
  for (Item* item : items) {
    if (item->decided) {
      continue;
    }
    Error unknown(ErrorCode::outcome_unknown, "outcome of the commit is unknown", error.context(),
                  hint_if_unknown(*item->write));
    decide(*item, WriteStatus::unknown, unknown.with("id", to_string(item->write->id)));
  }
}

// Decides an item whose row is another write's, with a greater stamp. If neither write had a condition, ours took
// effect just before that one, or can be said to have. A condition tells whether it did, but nothing tells us what the
// condition saw. Nor do we know if the other write would have been rejected after ours: then either ours never took
// effect, or the entity was deleted in between. If the entity is deleted now, such a write may have come in between.
void decide_overtaken(const shard::Catalog& catalog, Item& item, const shard::EntityRow& row) {
  if (item.write->has_condition() || had_condition(row.writer)) {
    decide(item, WriteStatus::unknown,
           Error(ErrorCode::outcome_unknown, "outcome of the commit is unknown", {{"id", to_string(item.write->id)}},
                 "read the entity before you repeat the write: another writer has changed it since"));
    return;
  }
  // Another entity may have had its unique values in between. That the old body had them, too, does not help: its
  // server may have died and forgotten it.
  if (has_unique_values(catalog, item)) {
    decide(item, WriteStatus::unknown,
           Error(ErrorCode::outcome_unknown, "outcome of the commit is unknown", {{"id", to_string(item.write->id)}},
                 "read the entity: another writer has changed it since, and others may have its unique values now"));
    return;
  }
  const IndexDefinition* const forbidding =
      item.write->body ? first_forbidding(catalog, parse_stored_body(*item.write->body), row.body) : nullptr;
  if (forbidding == nullptr) {
    decide(item, WriteStatus::stored);
  } else {
    decide(item, WriteStatus::unknown,
           Error(ErrorCode::outcome_unknown, "outcome of the commit is unknown",
                 {{"id", to_string(item.write->id)}, {"index", forbidding->table}},
                 "read the entity: another writer has deleted it or given it another immutable property"));
  }
}

void decide_from_rows(const shard::Catalog& catalog, const Items& items, const std::vector<shard::EntityRow>& rows) {
  for (Item* item : items) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& found) { return found.id == item->write->id; });
    if (row == rows.end()) {
      continue;
    }
    if (row->writer == item->writer) {
      decide(*item, WriteStatus::stored);
    } else if (row->updated > item->stamp) {
      decide_overtaken(catalog, *item, *row);
    }
  }
}

// Locks the rows on a new connection, which waits until the old session is gone, and then reads them. Returns the error
// if the deadline passed before.
std::optional<Error> resolve_on(shard::Shards& shards, std::uint32_t shard, const shard::Catalog& catalog,
                                const Items& items, const base::Deadline& deadline) {
  sql::Backoff backoff;
  while (true) {
    try {
      shard::on_shard(shards, shard, [&] {
        const shard::Lease lease = shards.connect(shard, deadline);
        const Step step(steps::put_resolve, shard);
        const auto rows = read_locked(*lease, catalog, items);
        shard::make_durable(*lease, shard);
        decide_from_rows(catalog, items, rows);
      });
      return std::nullopt;
    } catch (const Error& error) {
      const auto* server = dynamic_cast<const sql::ServerError*>(&error);
      const bool again = server && (server->retryable() || server->error_class() == sql::ErrorClass::unreachable);
      if (!again || deadline.passed()) {
        leave_unknown(items, error);
        return deadline.passed() ? std::optional(error) : std::nullopt;
      }
    }
    backoff.wait(deadline);
  }
}

}  // namespace

void resolve(shard::Shards& shards, const shard::Catalog& catalog, const Items& items, const base::Deadline& deadline) {
  mark_for_reconcile(items);
  std::optional<Error> failure;  // of the shards' server, when no time is left to ask it again
  for (const auto& [shard, of_shard] : by_shard(items)) {
    if (failure) {
      leave_unknown(of_shard, *failure);
    } else {
      failure = resolve_on(shards, shard, catalog, of_shard, deadline);
    }
  }
}

}  // namespace looseleaf::write
