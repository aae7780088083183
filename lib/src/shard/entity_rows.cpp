// Reads and writes rows of the `entities` table.
#include "shard/entity_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "shard/access.hpp"
#include "shard/move_announcement.hpp"
#include "shard/placement.hpp"
#include "shard/schema.hpp"
#include "shard/statements.hpp"
#include "shard/writable.hpp"
#include "sql/literals.hpp"

namespace looseleaf::shard {
namespace {

constexpr std::size_t row_overhead = 512;  // bytes of a row in a statement beyond its body, a generous estimate

// Returns the column expression for reading bodies of at most `max_size` bytes. Every additional cell of a result costs
// time. Therefore no second column marks a larger body; the expression replaces it by a byte that is no valid body.
std::string small_body_column(std::uint64_t max_size) {
  return max_size == any_size ? "body" : fmt::format("IF(LENGTH(body) > {}, '+', body)", max_size);
}

void append_rows(std::vector<EntityRow>& rows, sql::Result result, std::uint64_t max_size) {
  rows.reserve(rows.size() + result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    EntityRow row{.id = require_uuid(result.text(i, 1)),
                  .added_id = result.unsigned_integer(i, 0),
                  .updated = base::parse_stamp(result.text(i, 2))};
    row.writer = result.unsigned_integer(i, 3);
    if (const auto& body = result.cell(i, 4); body && *body == "+" && max_size != any_size) {
      row.body_size = max_size + 1;
    } else if (body) {
      row.body_size = body->size();
      row.body = result.take(i, 4);
    }
    rows.push_back(std::move(row));
  }
}

// What rows have beside an id and such a column.
enum class Columns { no_more, added_id, added_id_and_stamp };

std::vector<EntityRow> to_bodies(sql::Result result, std::uint64_t max_size, Columns columns) {
  std::vector<EntityRow> rows;
  rows.reserve(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    EntityRow row{.id = require_uuid(result.text(i, 0)),
                  .added_id = columns == Columns::no_more ? 0 : result.unsigned_integer(i, 2)};
    if (columns == Columns::added_id_and_stamp) {
      row.updated = base::parse_stamp(result.text(i, 3));
    }
    if (const auto& cell = result.cell(i, 1); cell && *cell == "+") {
      row.body_size = max_size + 1;
    } else if (cell) {
      row.body_size = cell->size();
      row.body = result.take(i, 1);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// How a read finds out whether a shard has moved. See move_announcement.hpp.
enum class AskWhetherMoved { not_at_all, by_key, by_state };

// Selects ids, bodies, and stamps if they are wanted. An id is absent if the server is read-only or, with `by_state`,
// the shard has moved. Then an id is empty if there is no such entity: there is a row in any case, in which a shard's
// state and its entities are from the same moment. Every cell of a result costs time, and so does a UNION.
sql::Statement select_bodies(const sql::Database& database, const sql::Statement& ids, std::uint64_t max_size,
                             AskWhetherMoved ask, Stamps stamps) {
  const bool by_state = ask == AskWhetherMoved::by_state;
  const std::string entities = database.table("entities");
  sql::Statement select(
      fmt::format("SELECT IF({}{}, {}, NULL) AS id, LEFT(body, {}) AS body{} FROM ", database->facts().is_writable,
                  by_state ? fmt::format(" AND access <> '{}'", to_string(AccessState::moved)) : "",
                  by_state ? "IFNULL(id, '')" : "id", max_size + 1, stamps == Stamps::read ? ", updated" : ""));
  if (by_state) {
    select.add(fmt::format("{} LEFT JOIN {} ON id IN (", database.table("looseleaf_shard"), entities));
    return select.add(ids).add(") WHERE only_row = 1");
  }
  select.add(entities).add(ask == AskWhetherMoved::by_key ? unless_announced : "");
  return select.add(" WHERE id IN (").add(ids).add(")");
}

// A statement for few ids of one database has a power of two of placeholders, and the last id fills the rest, so that
// only few different statements exist.
sql::Result query_bodies(Lease& lease, std::span<const std::uint32_t> shards, const IdsByShard& by_shard,
                         std::uint64_t max_size, AskWhetherMoved ask, Stamps stamps) {
  constexpr std::size_t few = 4;
  constexpr std::uint64_t small = 64 << 10;  // a session keeps the last result of a prepared statement
  const std::vector<Uuid>& first = by_shard.at(shards.front());
  const auto complete = [&](sql::Result result) {
    std::size_t wanted = 0;
    for (const std::uint32_t shard : shards) {
      wanted += by_shard.at(shard).size();
    }
    if (ask == AskWhetherMoved::by_state && result.size() < shards.size()) {
      throw NotInitialised();  // a shard without its fence
    }
    if (ask != AskWhetherMoved::by_state && result.size() < wanted) {
      require_still_writable(*lease);  // no row says so
    }
    return result;
  };
  if (shards.size() == 1 && first.size() <= few && max_size <= small) {
    sql::Statement ids("");
    for (std::size_t i = 0; i < std::bit_ceil(first.size()); ++i) {
      ids.add(i == 0 ? "" : ", ").add_bytes(bytes_of(first[std::min(i, first.size() - 1)]));
    }
    return complete(lease->query(select_bodies(lease.on(shards.front()), ids, max_size, ask, stamps)));
  }
  std::string select;
  for (const std::uint32_t shard : shards) {
    const sql::Statement ids(id_list(by_shard.at(shard)));
    select += select.empty() ? "" : " UNION ALL ";
    select += select_bodies(lease.on(shard), ids, max_size, ask, stamps).text();
  }
  return complete(lease->query(select));
}

// Finds out by the cheaper way whether a shard has moved, until it fails for the first time.
sql::Result query_bodies_unless_moved(Shards& store, Lease& lease, std::span<const std::uint32_t> shards,
                                      const IdsByShard& by_shard, std::uint64_t max_size, Stamps stamps) {
  if (!store.is_move_announced()) {
    try {
      return query_bodies(lease, shards, by_shard, max_size, AskWhetherMoved::by_key, stamps);
    } catch (const sql::ServerError& error) {
      if (error.number() != unknown_key) {
        throw;
      }
    }
    store.note_announced_move();
  }
  return query_bodies(lease, shards, by_shard, max_size, AskWhetherMoved::by_state, stamps);
}

// ORDER BY makes MariaDB use the index on id, so that it locks only these rows, and in this order.
const char* suffix_of(Lock lock) {
  return lock == Lock::none     ? " ORDER BY id"
         : lock == Lock::shared ? " ORDER BY id LOCK IN SHARE MODE"
                                : " ORDER BY id FOR UPDATE";
}

// Formats the id, stamp, writer and body of rows as SQL. It caches the text of stamp and writer, because rows that are
// written together mostly have the same.
class RowLiterals {
 public:
  void append(std::string& out, const EntityRow& row) {
    if (version_.empty() || row.updated != stamp_ || row.writer != writer_) {
      stamp_ = row.updated;
      writer_ = row.writer;
      version_ = fmt::format(", {}, {}, ", sql::stamp_literal(stamp_), writer_);
    }
    append_id_literal(out, row.id);
    out += version_;
    if (row.body) {
      sql::append_bytes_literal(out, *row.body);
    } else {
      out += "NULL";
    }
  }

 private:
  base::Stamp stamp_;
  std::uint64_t writer_ = 0;
  std::string version_;
};

}  // namespace

std::string earlier_than(const StampPlace& place) {
  return fmt::format("(updated < {0} OR (updated = {0} AND added_id < {1}))", sql::stamp_literal(place.updated),
                     place.added_id);
}

std::string later_than(const StampPlace& place) {
  return fmt::format("(updated > {0} OR (updated = {0} AND added_id > {1}))", sql::stamp_literal(place.updated),
                     place.added_id);
}

IdsByShard ids_by_shard(std::span<const Uuid> ids, std::uint32_t shard_count) {
  IdsByShard by_shard;
  for (const Uuid& id : ids) {
    by_shard[shard_of(id, shard_count)].push_back(id);
  }
  return by_shard;
}

std::size_t statement_size(std::size_t body_size) {
  return 2 * body_size + row_overhead;
}

std::vector<EntityRow> read_entities(const sql::Database& database, std::span<const Uuid> ids, Lock lock,
                                     std::uint64_t max_size) {
  std::vector<EntityRow> rows;
  in_lists(ids, [&](std::span<const Uuid> some) {
    append_rows(rows,
                database->query(fmt::format("SELECT added_id, id, updated, writer, {} FROM {} WHERE id IN ({}){}",
                                            small_body_column(max_size), database.table("entities"), id_list(some),
                                            suffix_of(lock))),
                max_size);
  });
  return rows;
}

std::optional<EntityRow> read_entity(const sql::Database& database, const Uuid& id, Lock lock) {
  auto rows = read_entities(database, {&id, 1}, lock);
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

std::vector<EntityRow> read_entities_up_to(const sql::Database& database, std::span<const Uuid> ids,
                                           std::uint64_t max_size) {
  std::vector<EntityRow> rows;
  in_lists(ids, [&](std::span<const Uuid> some) {
    auto found =
        to_bodies(database->query(fmt::format("SELECT id, {}, added_id, updated FROM {} WHERE id IN ({})",
                                              small_body_column(max_size), database.table("entities"), id_list(some))),
                  max_size, Columns::added_id_and_stamp);
    std::move(found.begin(), found.end(), std::back_inserter(rows));
  });
  return rows;
}

std::vector<EntityRow> read_bodies(Shards& store, Lease& lease, std::span<const std::uint32_t> shards,
                                   const IdsByShard& ids, std::uint64_t max_size, Moved moved, Stamps stamps) {
  sql::Result result = moved == Moved::refuse
                           ? query_bodies_unless_moved(store, lease, shards, ids, max_size, stamps)
                           : query_bodies(lease, shards, ids, max_size, AskWhetherMoved::not_at_all, stamps);
  std::vector<EntityRow> bodies;
  bodies.reserve(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!result.cell(i, 0)) {
      if (moved == Moved::refuse) {
        require_not_moved(lease, shards);
      }
      require_writable(*lease, "ON");
    }
    if (!result.cell(i, 1)) {
      continue;  // a tombstone, or no entity
    }
    EntityRow row{.id = require_uuid(result.text(i, 0)), .body_size = result.text(i, 1).size()};
    if (*row.body_size <= max_size) {
      row.body = result.take(i, 1);
    }
    if (stamps == Stamps::read) {
      row.updated = base::parse_stamp(result.text(i, 2));
    }
    bodies.push_back(std::move(row));
  }
  return bodies;
}

SomeIds read_changed(Lease& lease, std::span<const std::uint32_t> shards, std::chrono::microseconds age,
                     std::size_t limit) {
  std::string select;
  for (const std::uint32_t shard : shards) {
    select += fmt::format(
        "(SELECT id, {} FROM {} WHERE updated >= NOW(6) - INTERVAL {} MICROSECOND AND body IS NOT NULL "
        "ORDER BY updated DESC LIMIT {}) UNION ALL ",
        shard, lease.on(shard).table("entities"), age.count(), limit + 1);
  }
  const sql::Result result = lease->query(select + "(SELECT NULL, @@global.read_only)");
  require_writable(*lease, result.text(result.size() - 1, 1));
  SomeIds changed;
  std::map<std::string, std::size_t> of_shard;
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    changed.ids.push_back(require_uuid(result.text(i, 0)));
    changed.all = ++of_shard[result.text(i, 1)] <= limit && changed.all;
  }
  return changed;
}

void insert_entities(const sql::Database& database, std::span<const EntityRow> rows) {
  const std::string insert =
      fmt::format("INSERT INTO {} (id, updated, writer, body) VALUES ", database.table("entities"));
  MultiRow statement(database, insert, "");
  RowLiterals literals;
  for (const EntityRow& row : rows) {
    statement.add([&](std::string& out) { literals.append(out, row); });
  }
  statement.finish();
}

void update_entities(const sql::Database& database, std::span<const EntityRow> rows) {
  // One multi-row statement. Every row exists and is locked, so the duplicate clause always applies, by primary key.
  const std::string insert =
      fmt::format("INSERT INTO {} (added_id, id, updated, writer, body) VALUES ", database.table("entities"));
  MultiRow statement(database, insert,
                     " ON DUPLICATE KEY UPDATE updated = VALUES(updated), writer = VALUES(writer), "
                     "body = VALUES(body)");
  RowLiterals literals;
  for (const EntityRow& row : rows) {
    statement.add([&](std::string& out) {
      fmt::format_to(std::back_inserter(out), "{}, ", row.added_id);
      literals.append(out, row);
    });
  }
  statement.finish();
}

std::vector<EntityRow> lock_entities(const sql::Database& database, std::span<const Uuid> ids) {
  std::vector<EntityRow> rows;
  in_lists(ids, [&](std::span<const Uuid> some) {
    const sql::Result result =
        database->query("SELECT added_id, id, updated, LENGTH(body), SYSDATE(6) FROM " + database.table("entities") +
                        " WHERE id IN (" + id_list(some) + ") ORDER BY id FOR UPDATE");
    for (std::size_t i = 0; i < result.size(); ++i) {
      EntityRow& row = rows.emplace_back(EntityRow{.id = require_uuid(result.text(i, 1)),
                                                   .added_id = result.unsigned_integer(i, 0),
                                                   .updated = base::parse_stamp(result.text(i, 2)),
                                                   .locked = base::parse_stamp(result.text(i, 4))});
      if (result.cell(i, 3)) {
        row.body_size = result.unsigned_integer(i, 3);
      }
    }
  });
  return rows;
}

std::vector<EntityRow> read_stamps(const sql::Database& database, std::span<const Uuid> ids, Lock lock) {
  std::vector<EntityRow> rows;
  in_lists(ids, [&](std::span<const Uuid> some) {
    const sql::Result result = database->query("SELECT id, updated, writer FROM " + database.table("entities") +
                                               " WHERE id IN (" + id_list(some) + ")" + suffix_of(lock));
    for (std::size_t i = 0; i < result.size(); ++i) {
      EntityRow row{.id = require_uuid(result.text(i, 0)), .updated = base::parse_stamp(result.text(i, 1))};
      row.writer = result.unsigned_integer(i, 2);
      rows.push_back(std::move(row));
    }
  });
  return rows;
}

std::vector<EntityRow> read_before(const sql::Database& database, std::uint64_t added_id, std::size_t limit,
                                   std::uint64_t max_size) {
  return to_bodies(
      database->query(fmt::format("SELECT id, {}, added_id FROM {} WHERE added_id < {} ORDER BY added_id DESC LIMIT {}",
                                  small_body_column(max_size), database.table("entities"), added_id, limit)),
      max_size, Columns::added_id);
}

std::vector<EntityRow> read_added(const sql::Database& database, std::uint64_t above, std::uint64_t until,
                                  std::uint64_t max_size) {
  return to_bodies(
      database->query(fmt::format("SELECT id, {} FROM {} WHERE added_id > {} AND added_id <= {} ORDER BY added_id",
                                  small_body_column(max_size), database.table("entities"), above, until)),
      max_size, Columns::no_more);
}

std::vector<EntityRow> read_added_page(const sql::Database& database, std::uint64_t above, std::uint64_t until,
                                       std::size_t limit, std::uint64_t max_size) {
  return to_bodies(
      database->query(fmt::format("SELECT id, {}, added_id, updated FROM {} WHERE added_id > {} AND "
                                  "added_id <= {} ORDER BY added_id LIMIT {}",
                                  small_body_column(max_size), database.table("entities"), above, until, limit)),
      max_size, Columns::added_id_and_stamp);
}

std::vector<EntityRow> read_updated_page(const sql::Database& database, const StampPlace& behind, base::Stamp until,
                                         std::size_t limit, std::uint64_t max_size) {
  return to_bodies(database->query(fmt::format("SELECT id, {}, added_id, updated FROM {} WHERE {} AND updated < {} "
                                               "ORDER BY updated, added_id LIMIT {}",
                                               small_body_column(max_size), database.table("entities"),
                                               later_than(behind), sql::stamp_literal(until), limit)),
                   max_size, Columns::added_id_and_stamp);
}

bool has_entities(const sql::Database& database) {
  return !database->query(fmt::format("SELECT 1 FROM {} LIMIT 1", database.table("entities"))).empty();
}

std::uint64_t last_added(const sql::Database& database) {
  const sql::Result last = database->query("SELECT MAX(added_id) FROM " + database.table("entities"));
  return last.cell(0, 0) ? last.unsigned_integer(0, 0) : 0;
}

std::optional<std::uint64_t> next_added(const sql::Database& database, std::uint64_t above) {
  const sql::Result found = database->query(
      fmt::format("SELECT MIN(added_id) FROM {} WHERE added_id > {}", database.table("entities"), above));
  return found.cell(0, 0) ? std::optional(found.unsigned_integer(0, 0)) : std::nullopt;
}

std::vector<Uuid> read_ids(const sql::Database& database, const IdRange& range, std::optional<std::size_t> limit) {
  const sql::Result result =
      database->query("SELECT id FROM " + database.table("entities") + " FORCE INDEX (id)" + where_in("id", range) +
                      " ORDER BY id" + (limit ? fmt::format(" LIMIT {}", *limit) : std::string()));
  std::vector<Uuid> ids;
  ids.reserve(result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    ids.push_back(require_uuid(result.text(i, 0)));
  }
  return ids;
}

std::uint64_t count_ids(const sql::Database& database, const IdRange& range) {
  return database
      ->query("SELECT COUNT(*) FROM " + database.table("entities") + " FORCE INDEX (id)" + where_in("id", range))
      .unsigned_integer(0, 0);
}

std::optional<Uuid> id_after(const sql::Database& database, const IdRange& range, std::size_t skip) {
  return nth_id(database, "entities", "id", range, skip);
}

}  // namespace looseleaf::shard
