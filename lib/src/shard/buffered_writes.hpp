// Buffered writes: entities that were accepted while a shard that they need was down. Copies of a write wait in
// `looseleaf_buffer` of other shards until it is stored. Its receipt, in `looseleaf_receipt` of its own shard, says
// that it was decided, so that it takes effect once. docs/protocol.md has the steps.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <looseleaf/error.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stamp.hpp"
#include "shard/shards.hpp"
#include "sql/database.hpp"

namespace looseleaf::shard {

// The shards whose databases may have a copy of a write.
struct CopyPlaces {
  std::uint32_t first = 0;
  std::optional<std::uint32_t> second;
};

// Buffered writes are stored in this order.
struct BufferPlace {
  base::Stamp accepted;     // when the first copy was written, by the clock of its server
  std::uint64_t token = 0;  // random; no two writes ever have the same

  auto operator<=>(const BufferPlace&) const = default;
};

struct BufferedWrite {
  BufferPlace place;
  Uuid id;
  CopyPlaces copies;
  std::uint32_t read_from = 0;  // the shard whose copy was read
  std::string body;             // as it will be stored; empty if it was not read
  std::uint64_t body_size = 0;
};

// A write that could not be stored when its shard answered, because another entity has its id, for example.
struct Refusal {
  BufferPlace place;
  Uuid id;
  std::string reason;
};

// In what follows, `tokens` are at most max_ids (statements.hpp).

// Inserts one of the copies of each write.
void insert_copies(const sql::Database& database, std::span<const BufferedWrite> writes);
// Returns the next writes that have a copy here, without their bodies, in order.
[[nodiscard]] std::vector<BufferedWrite> list_copies(const sql::Database& database, const BufferPlace& behind,
                                                     std::size_t limit);
// Returns the bodies of these writes, by token. A copy that was deleted meanwhile is left out.
[[nodiscard]] std::map<std::uint64_t, std::string> read_copies(const sql::Database& database,
                                                               std::span<const std::uint64_t> tokens);
// Returns those of these writes that have no copy here any more: they were decided, and their receipts may be gone.
[[nodiscard]] std::vector<std::uint64_t> missing_copies(const sql::Database& database,
                                                        std::span<const std::uint64_t> tokens);
// Returns the number of copies that were there.
std::uint64_t delete_copies(const sql::Database& database, std::span<const std::uint64_t> tokens);

// Returns those of these writes that have a receipt, sorted. Locks the receipts.
[[nodiscard]] std::vector<std::uint64_t> lock_receipts(const sql::Database& database,
                                                       std::span<const std::uint64_t> tokens);
// Inserts the receipts of writes that are stored in the same transaction. Throws ServerError(duplicate_key) if one of
// them has a receipt.
void insert_receipts(const sql::Database& database, std::span<const BufferedWrite* const> writes);
// Inserts the receipt of a write that is refused. Without a reason the write counts as stored. Returns false if it has
// a receipt already.
[[nodiscard]] bool insert_refusal(const sql::Database& database, const BufferedWrite& write,
                                  const std::optional<std::string>& reason);

struct Receipt {
  std::uint64_t token = 0;
  CopyPlaces copies;
};
// Returns the next receipts of writes whose copies may not all be deleted yet, in the order of their tokens.
[[nodiscard]] std::vector<Receipt> list_receipts(const sql::Database& database, std::uint64_t above, std::size_t limit);
// The copies of these writes are deleted: deletes the receipts of those that were stored.
void settle_receipts(const sql::Database& database, std::span<const std::uint64_t> tokens);

// Returns the next refused writes, without their bodies, in order.
[[nodiscard]] std::vector<Refusal> list_refusals(const sql::Database& database, const BufferPlace& behind,
                                                 std::size_t limit);
// Absent if the write is not refused any more.
[[nodiscard]] std::optional<std::string> read_refused_body(const sql::Database& database, std::uint64_t token);
// Forgets that these writes were refused. Returns the number of those that were.
std::uint64_t drop_refusals(const sql::Database& database, std::span<const std::uint64_t> tokens);
// Buffers them once more, with a copy in this database, which is that of `shard`. Call it in a transaction.
std::uint64_t buffer_refusals(const sql::Database& database, std::uint32_t shard,
                              std::span<const std::uint64_t> tokens);

struct BufferCounts {
  std::uint64_t copies = 0;               // of buffered writes, in this shard's database
  std::uint64_t receipts = 0;             // of this shard's entities, whose copies may not all be deleted yet
  std::uint64_t refusals = 0;             // of this shard's entities
  std::chrono::microseconds oldest = {};  // the age of the oldest copy, by the server's clock
};
// Shards where all are 0 are left out.
using BufferCountsByShard = std::map<std::uint32_t, BufferCounts>;

// Counts them on at most shards_at_once shards of the session's server.
[[nodiscard]] BufferCountsByShard count_buffered(Lease& lease, std::span<const std::uint32_t> shards);
// Counts them on all shards. Adds those that do not answer to `failures`, with the reason.
[[nodiscard]] BufferCountsByShard count_buffered(Shards& shards, std::map<std::uint32_t, Error>& failures);

}  // namespace looseleaf::shard
