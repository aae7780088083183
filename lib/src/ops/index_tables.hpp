// What create-index and drop-index know about an index on all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "store/catalog.hpp"
#include "store/jobs.hpp"
#include "store/shards.hpp"

namespace looseleaf::ops {

// One index as every shard sees it now.
struct IndexEverywhere {
  std::vector<std::optional<store::CatalogIndex>> on_shard;  // absent where the catalog has no such index
  std::optional<store::JobRow> create_intent, drop_intent;   // left on shard 0 by a create or drop under way

  // Of any shard's catalog, else of an intent; absent if nothing is known of such an index.
  [[nodiscard]] std::optional<std::uint64_t> generation() const;
  [[nodiscard]] bool in_any_catalog() const;
};

// Reads all catalogs anew. Throws if a shard cannot be reached.
[[nodiscard]] IndexEverywhere look_up_index(store::Shards& shards, const std::string& table,
                                            const base::Deadline& deadline);

// Names of all indexes in any shard's catalog, sorted.
[[nodiscard]] std::vector<std::string> all_indexes(store::Shards& shards, const base::Deadline& deadline);

// The comment of a table in the shard's database; absent if there is no such table.
[[nodiscard]] std::optional<std::string> comment_of_table(sql::Connection& connection, const std::string& table);

// Error(bad_index, "no such index") with the nearest name in the catalogs as last seen as a hint.
[[nodiscard]] Error no_such_index(store::Shards& shards, const std::string& table);

}  // namespace looseleaf::ops
