// What create-index and drop-index know about an index on all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "job/jobs.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/shards.hpp"

namespace looseleaf::index {

// The index in all catalogs, and what a create or drop that is under way, or died, has left on shard 0.
struct KnownIndex : shard::IndexEverywhere {
  std::optional<job::JobRow> create_intent, drop_intent;

  // Of any shard's catalog, else of an intent; absent if nothing is known of such an index.
  [[nodiscard]] std::optional<std::uint64_t> generation() const;
};

// Reads the intents, then all catalogs, anew. Throws if a shard cannot be reached.
[[nodiscard]] KnownIndex look_up_with_intents(shard::Shards& shards, const std::string& table,
                                              const base::Deadline& deadline);

// The comment of a table in the shard's database; absent if there is no such table.
[[nodiscard]] std::optional<std::string> comment_of_table(sql::Connection& connection, const std::string& table);

}  // namespace looseleaf::index
