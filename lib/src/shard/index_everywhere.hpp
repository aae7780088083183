// One index in the catalogs of all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// One index as every shard's catalog has it now.
struct IndexEverywhere {
  std::vector<std::optional<shard::CatalogIndex>> on_shard;  // absent where the catalog has no such index

  // Of the first catalog that has the index; absent if none has.
  [[nodiscard]] std::optional<std::uint64_t> generation() const;
  [[nodiscard]] bool in_any_catalog() const { return generation().has_value(); }
};

// Reads all catalogs anew. Throws if a shard cannot be reached.
[[nodiscard]] IndexEverywhere look_up_index(shard::Shards& shards, const std::string& table,
                                            const base::Deadline& deadline);

// Names of all indexes in any shard's catalog, sorted.
[[nodiscard]] std::vector<std::string> all_indexes(shard::Shards& shards, const base::Deadline& deadline);

// Error(bad_index, "no such index") with the nearest name in the catalogs as last seen as a hint.
[[nodiscard]] Error no_such_index(shard::Shards& shards, const std::string& table);

}  // namespace looseleaf::shard
