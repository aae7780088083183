// Reads and writes rows of the `entities` table.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <looseleaf/entity.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "shard/shards.hpp"
#include "shard/statements.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// A row, or the columns of it that were read. The other columns keep their defaults.
struct EntityRow {
  Uuid id;
  std::uint64_t added_id = 0;  // 0: not inserted yet
  base::Stamp updated = {};
  std::uint64_t writer = 0;                     // which write stored this version
  base::Stamp locked = {};                      // the server's clock when the row was locked
  std::optional<std::uint64_t> body_size = {};  // bytes as stored; absent: a tombstone
  std::optional<std::string> body = {};         // as stored; absent: a tombstone, or the body was not read

  // Whether there is a body that was not read.
  [[nodiscard]] bool lacks_body() const { return body_size && !body; }
};

// A position in the order of the key on `updated`: by stamp and, for equal stamps, by row number.
struct StampPlace {
  base::Stamp updated;
  std::uint64_t added_id = 0;

  auto operator<=>(const StampPlace&) const = default;
};

// Conditions for entities before and after a place. Servers evaluate them with that key and start reading at the place,
// even if many rows have the same stamp.
[[nodiscard]] std::string earlier_than(const StampPlace& place);
[[nodiscard]] std::string later_than(const StampPlace& place);

enum class Lock { none, shared, exclusive };

inline constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();

// Returns the existing rows among sorted ids, in id order, with all columns, but leaves out bodies of more than
// `max_size` bytes as read_bodies() does. Locking reads lock the rows in that order. More than max_ids ids need several
// statements.
[[nodiscard]] std::vector<EntityRow> read_entities(const sql::Database& database, std::span<const Uuid> ids, Lock lock,
                                                   std::uint64_t max_size = any_size);

// Returns one such row; absent if it does not exist.
[[nodiscard]] std::optional<EntityRow> read_entity(const sql::Database& database, const Uuid& id, Lock lock);

// Plainly reads the same rows with all columns, but leaves out large bodies as read_bodies() does. In no order.
[[nodiscard]] std::vector<EntityRow> read_entities_up_to(const sql::Database& database, std::span<const Uuid> ids,
                                                         std::uint64_t max_size);

using IdsByShard = std::map<std::uint32_t, std::vector<Uuid>>;
// Returns these ids by their entity shard, each shard's in the order given.
[[nodiscard]] IdsByShard ids_by_shard(std::span<const Uuid> ids, std::uint32_t shard_count);

// What a read does with a shard that has moved to another cluster: the entities there may have changed.
enum class Moved { read, refuse };

// Returns the ids and bodies of the entities (no tombstones) among at most max_ids ids of each of these shards, in no
// order, and with Stamps::read also their stamps. The shards are on the session's server. A body of more than
// `max_size` bytes is not read, and its body_size is max_size + 1. This is a plain read from a server that was not
// read-only at the time. With Moved::refuse, throws Error(moved) if one of the shards had moved by then.
[[nodiscard]] std::vector<EntityRow> read_bodies(Shards& store, Lease& lease, std::span<const std::uint32_t> shards,
                                                 const IdsByShard& ids, std::uint64_t max_size, Moved moved,
                                                 Stamps stamps = Stamps::leave_out);

// Ids that a statement with a limit has found.
struct SomeIds {
  std::vector<Uuid> ids;
  bool all = true;  // false if the limit left some out
};

// Returns the ids of about `limit` entities at most (no tombstones) of each of these shards whose stamps are not older
// than `age` by the server's clock: the newest ones. The shards are on the session's server. This is a plain read from
// a server that was not read-only afterwards.
[[nodiscard]] SomeIds read_changed(Lease& lease, std::span<const std::uint32_t> shards, std::chrono::microseconds age,
                                   std::size_t limit);

// Like read_entities, but without bodies, with exclusive locks, and with the times of locking.
[[nodiscard]] std::vector<EntityRow> lock_entities(const sql::Database& database, std::span<const Uuid> ids);
// Returns the ids, stamps and writers of the rows.
[[nodiscard]] std::vector<EntityRow> read_stamps(const sql::Database& database, std::span<const Uuid> ids, Lock lock);

// Inserts new ids with plain INSERTs in multi-row statements. Throws ServerError(duplicate_key) if another writer has
// inserted one of the ids first.
void insert_entities(const sql::Database& database, std::span<const EntityRow> rows);

// Overwrites the stamps, writers and bodies of rows that this transaction has locked exclusively. `added_id` must be
// that of the existing row.
void update_entities(const sql::Database& database, std::span<const EntityRow> rows);

// Plain reads of ids and bodies, tombstones included. They leave out large bodies as read_bodies() does.
//
// read_before() returns up to `limit` rows below `added_id`, newest first, with their added_ids.
[[nodiscard]] std::vector<EntityRow> read_before(const sql::Database& database, std::uint64_t added_id,
                                                 std::size_t limit, std::uint64_t max_size);
// Returns the rows whose added_id is in (above, until], in that order.
[[nodiscard]] std::vector<EntityRow> read_added(const sql::Database& database, std::uint64_t above, std::uint64_t until,
                                                std::uint64_t max_size);

// Pages of the feed: up to `limit` rows with all columns, tombstones included.
//
// Returns rows whose added_id is in (above, until], in that order.
[[nodiscard]] std::vector<EntityRow> read_added_page(const sql::Database& database, std::uint64_t above,
                                                     std::uint64_t until, std::size_t limit, std::uint64_t max_size);
// Returns rows behind a place whose stamps are below `until`, in the order of places.
[[nodiscard]] std::vector<EntityRow> read_updated_page(const sql::Database& database, const StampPlace& behind,
                                                       base::Stamp until, std::size_t limit, std::uint64_t max_size);
[[nodiscard]] bool has_entities(const sql::Database& database);
// Returns the greatest added_id; 0 without rows.
[[nodiscard]] std::uint64_t last_added(const sql::Database& database);

// Returns the smallest added_id above the given one. It is absent if there is none.
[[nodiscard]] std::optional<std::uint64_t> next_added(const sql::Database& database, std::uint64_t above);

// Returns the ids of the rows in a range, in order; with a `limit`, only the first ones.
[[nodiscard]] std::vector<Uuid> read_ids(const sql::Database& database, const IdRange& range,
                                         std::optional<std::size_t> limit = {});
[[nodiscard]] std::uint64_t count_ids(const sql::Database& database, const IdRange& range);

// See nth_id().
[[nodiscard]] std::optional<Uuid> id_after(const sql::Database& database, const IdRange& range, std::size_t skip);

// Returns the maximum size in bytes of one row's INSERT, for comparison with max_allowed_packet.
[[nodiscard]] std::size_t statement_size(std::size_t body_size);

}  // namespace looseleaf::shard
