// Rows of the `entities` table.
#pragma once

#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "shard/statements.hpp"
#include "sql/connection.hpp"

namespace looseleaf::shard {

struct EntityRow {
  std::uint64_t added_id = 0;  // 0: not inserted yet
  Uuid id;
  base::Stamp updated;
  std::optional<std::string> body;  // as stored; absent: a tombstone
};

// A place in the order of stamps, and of row numbers where stamps are the same: that of the key on `updated`.
struct StampPlace {
  base::Stamp updated;
  std::uint64_t added_id = 0;
};

// Conditions for entities before and behind a place. Servers meet them by reading that key from there on, also in the
// midst of many rows with one stamp.
[[nodiscard]] std::string earlier_than(const StampPlace& place);
[[nodiscard]] std::string later_than(const StampPlace& place);

enum class Lock { none, shared, exclusive };

// The rows that exist among ids that are sorted, in id order; locking reads lock them in that order. More than max_ids
// are read by several statements.
[[nodiscard]] std::vector<EntityRow> read_entities(sql::Connection& connection, std::span<const Uuid> ids, Lock lock);

// An entity row without its body.
struct EntityHead {
  std::uint64_t added_id = 0;
  Uuid id;
  base::Stamp updated;
  std::optional<std::uint64_t> body_size;  // bytes as stored; absent: a tombstone
};

// An entity row whose body was left out if it is large.
struct EntityBody {
  Uuid id;
  std::uint64_t size = 0;           // bytes as stored; of a body that was left out one more than the limit
  std::optional<std::string> body;  // as stored
  std::uint64_t added_id = 0;       // 0 where it was not asked for
};

// The entities (no tombstones) among at most max_ids ids, in no order, with the bodies of at most `max_size` bytes. A
// plain read, from a server that was not read-only then.
[[nodiscard]] std::vector<EntityBody> read_bodies(sql::Connection& connection, std::span<const Uuid> ids,
                                                  std::uint64_t max_size);

// As read_entities, without bodies, locked exclusively.
[[nodiscard]] std::vector<EntityHead> lock_entities(sql::Connection& connection, std::span<const Uuid> ids);

// Plain INSERTs of new ids in multi-row statements. Throws ServerError(duplicate_key) if another writer came first.
void insert_entities(sql::Connection& connection, std::span<const EntityRow> rows);

// Overwrites stamp and body of rows that this transaction has locked exclusively; added_id is theirs.
void update_entities(sql::Connection& connection, std::span<const EntityRow> rows);

// Plain reads of rows with the bodies of at most `max_size` bytes; of larger ones `size` is more than that and `body`
// is absent. A tombstone has size 0 and no body. Up to `limit` rows below `added_id`, newest first:
[[nodiscard]] std::vector<EntityBody> read_before(sql::Connection& connection, std::uint64_t added_id,
                                                  std::size_t limit, std::uint64_t max_size);
// The rows whose added_id is in (above, until], in that order:
[[nodiscard]] std::vector<EntityBody> read_added(sql::Connection& connection, std::uint64_t above, std::uint64_t until,
                                                 std::uint64_t max_size);

// The least added_id above one; absent if there is none.
[[nodiscard]] std::optional<std::uint64_t> next_added(sql::Connection& connection, std::uint64_t above);

// The ids of the rows in a range, in order.
[[nodiscard]] std::vector<Uuid> read_ids(sql::Connection& connection, const IdRange& range);
[[nodiscard]] std::uint64_t count_ids(sql::Connection& connection, const IdRange& range);

// See nth_id().
[[nodiscard]] std::optional<Uuid> id_after(sql::Connection& connection, const IdRange& range, std::size_t skip);

// Bytes that one row's INSERT takes at most, for comparison with max_allowed_packet.
[[nodiscard]] std::size_t statement_size(std::size_t body_size);

}  // namespace looseleaf::shard
