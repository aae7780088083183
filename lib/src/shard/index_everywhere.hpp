// One index in the catalogs of all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "shard/catalog.hpp"
#include "shard/shards.hpp"

namespace looseleaf::shard {

// One index as it is now in every shard's catalog.
struct IndexEverywhere {
  std::vector<std::optional<CatalogIndex>> on_shard;  // absent if that shard's catalog has no such index

  // Returns the generation in the first catalog that has the index. It is absent if no catalog has the index.
  [[nodiscard]] std::optional<std::uint64_t> generation() const;
  [[nodiscard]] bool in_any_catalog() const { return generation().has_value(); }
  // Returns true if a drop of the index has begun.
  [[nodiscard]] bool is_being_dropped() const;
};

// Reads all catalogs again. Throws if a shard cannot be reached.
[[nodiscard]] std::vector<Catalog> read_catalogs(Shards& shards, const base::Deadline& deadline);
[[nodiscard]] IndexEverywhere find_index(const std::vector<Catalog>& catalogs, const std::string& table);

// Does both.
[[nodiscard]] IndexEverywhere look_up_index(Shards& shards, const std::string& table, const base::Deadline& deadline);

// Returns the names of all indexes in any of the catalogs.
[[nodiscard]] std::set<std::string> all_indexes(const std::vector<Catalog>& catalogs);

// Returns Error(bad_index, "no such index"). Its hint is the most similar name in the cached catalogs.
[[nodiscard]] Error no_such_index(Shards& shards, const std::string& table);

}  // namespace looseleaf::shard
