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
  std::uint64_t epoch = 0;  // epoch of the catalog
  std::vector<shard::PlacedRow> rows;
};

// One entity to store or, without a body, to delete.
struct Write {
  Uuid id;
  std::optional<std::string> body;       // as stored
  std::optional<ExpectedRows> expected;  // present if the caller had both the parsed body and a catalog
  WriteResult* result = nullptr;         // where the outcome goes
};

// Writes to the shards of one cluster. Thread-safe; `shards` outlives it.
class Writer {
 public:
  explicit Writer(shard::Shards& shards) : shards_(shards), last_ids_were_new_(shards.count()) {}

  // Stores one batch. All writes belong to `entity_shard`; their ids are distinct and sorted. Sets the status
  // and the error of each write's result. Never throws for a server's error: the results contain it.
  void write_batch(std::uint32_t entity_shard, const std::vector<Write>& writes, const base::Deadline& deadline);

 private:
  shard::Shards& shards_;
  // By entity shard: true if all ids of the last batch were new. The ids of the next batch are then probably new, too.
  std::vector<std::atomic<bool>> last_ids_were_new_;
};

// Returns the error for an exception that is not an Error: memory or threads ran out.
[[nodiscard]] Error resource_exhausted(const std::exception& error);

}  // namespace looseleaf::write
