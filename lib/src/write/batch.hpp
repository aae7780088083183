// The writes of one batch on their way through the protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <looseleaf/write.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/placed_rows.hpp"

namespace looseleaf::write {

inline constexpr std::size_t batch_rows = 10'000;  // index rows in one transaction, unless a single write has more

// The expected rows of an entity under one catalog.
struct ExpectedRows {
  std::uint64_t epoch = 0;  // epoch of the catalog
  std::vector<shard::PlacedRow> rows;
  std::optional<Error> too_long = {};  // why the entity cannot be stored; see unique_values.hpp
};

// See WriteCondition.
struct Condition {
  WriteCondition::Kind kind = WriteCondition::Kind::none;
  base::Stamp stamp = {};
  bool buffer = false;
};
// Throws Error(usage) if the stamp is malformed, or a write that is to be buffered has another condition than `absent`.
[[nodiscard]] Condition to_condition(const WriteCondition& condition);

// One entity to store or, without a body, to delete.
struct Write {
  Uuid id;
  std::optional<std::string> body;       // as stored
  std::optional<ExpectedRows> expected;  // present if the caller had both the parsed body and a catalog
  WriteResult* result = nullptr;         // where the outcome goes
  Condition condition = {};
  const shard::BufferedWrite* buffered = nullptr;  // it was buffered, and gets a receipt
  bool is_copy = false;                            // another cluster has accepted it
  std::optional<Uuid>* holder = nullptr;  // if given: which entity's unique values kept this one from being stored

  [[nodiscard]] bool has_condition() const { return condition.kind != WriteCondition::Kind::none; }
  // Returns how many rows the write counts for in batch_rows.
  [[nodiscard]] std::size_t row_count() const { return expected ? expected->rows.size() : 1; }
};

// One write on its way.
struct Item {
  const Write* write = nullptr;
  std::uint32_t shard = 0;          // the entity's
  bool decided = false;             // the outcome is final
  bool held = false;                // the last attempt left it out, because its shard's fence was not free
  bool deferred = false;            // waits for an index shard that is down, while the other items proceed
  bool reconcile = false;           // the index tables may have superfluous rows of this entity
  bool tried = false;               // an attempt that was rolled back may have inserted `rows`
  bool left_out = false;            // an attempt has left it out, because an earlier write has the same unique values
  const Item* waits_for = nullptr;  // a write of this batch, which may give up a unique value that this one takes
  std::optional<std::uint32_t> holder_shard;  // of an entity that has a unique value of this one, and cannot be read
  // Entities whose rows were in the way, and when they were to be removed for the first time.
  std::map<Uuid, std::chrono::steady_clock::time_point> cleared;
  std::vector<shard::PlacedRow> rows;  // the rows expected once this write is stored
  std::optional<Error> too_long;       // see ExpectedRows
  // The rows that only the old body calls for. They are superfluous once this write is stored.
  std::vector<shard::PlacedRow> superseded;
  std::vector<shard::PlacedRow> kept;  // with unique indexes: the rows that the old body calls for as well
  std::set<std::uint32_t> new_on;      // shards of the expected rows that the old body does not call for
  std::uint64_t added_id = 0;          // of the entity's row; 0: a new row
  base::Stamp stamp;                   // the stamp to be written
  std::uint64_t writer = 0;            // the row's `writer`, by which this write recognises its row
  std::uint64_t record = 0;            // the token of the cleanup record that names it; 0: none

  // Returns true if the index tables may have superfluous rows of this entity once it is stored.
  [[nodiscard]] bool needs_cleanup() const { return reconcile || !superseded.empty(); }
};

// What happens with the writes of a shard whose fence another session holds or wants exclusively: the call waits for it
// until the deadline, or returns them when it has decided all others, or lets them fail once the deadline has passed.
enum class HeldShards { wait_for, hand_back, give_up };

using Items = std::vector<Item*>;
using ItemsByShard = std::map<std::uint32_t, Items>;  // by entity shard

[[nodiscard]] ItemsByShard by_shard(const Items& items);
[[nodiscard]] std::vector<Uuid> ids_of(const Items& items);

// Returns the `writer` of a row: a random number, of which the lowest bit says whether the write has a condition.
[[nodiscard]] std::uint64_t writer_number(std::uint64_t random, const Write& write);
// Returns whether the write that stored this row had a condition.
[[nodiscard]] bool had_condition(std::uint64_t writer);

// Notes that index rows of these items may be inserted although the items are not stored.
void mark_for_reconcile(const Items& items);
// Makes the outcome of an item final.
void decide(Item& item, WriteStatus status, std::optional<Error> error = {});
// Lets all items fail that are not decided yet.
void fail(const Items& items, const Error& error);

}  // namespace looseleaf::write
