// The write protocol for a batch of puts and deletes of one entity shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <looseleaf/write.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "shard/placed_rows.hpp"
#include "shard/shards.hpp"

namespace looseleaf::write {

// The expected rows of an entity under one catalog.
struct ExpectedRows {
  std::uint64_t epoch = 0;  // of the catalog
  std::vector<shard::PlacedRow> rows;
};

// One entity to be stored, or, without a body, deleted.
struct Write {
  Uuid id;
  std::optional<std::string> body;       // as stored
  std::optional<ExpectedRows> expected;  // if somebody had the parsed body, and a catalog, at hand
};

struct WriteOutcome {
  WriteStatus status = WriteStatus::failed;
  std::optional<Error> error;  // with rejected, failed and unknown
};

// Writes to the shards of one cluster. Thread-safe; `shards` outlives it.
class Writer {
 public:
  explicit Writer(shard::Shards& shards) : shards_(shards), last_ids_were_new_(shards.count()) {}

  // Stores one batch. All writes belong to `entity_shard`; their ids are distinct and sorted. Returns one outcome for
  // each, in the same order. Never throws for what a server does: that is part of the outcomes.
  std::vector<WriteOutcome> write_batch(std::uint32_t entity_shard, const std::vector<Write>& writes,
                                        const base::Deadline& deadline);

 private:
  shard::Shards& shards_;
  // By entity shard: whether all ids of the last batch were new. Then those of the next one may be new, too.
  std::vector<std::atomic<bool>> last_ids_were_new_;
};

// For what is no Error: memory or threads ran out.
[[nodiscard]] Error resource_exhausted(const std::exception& error);

}  // namespace looseleaf::write
