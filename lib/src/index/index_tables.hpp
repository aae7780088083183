// The state of an index on all shards, for create-index and drop-index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "job/jobs.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/shards.hpp"

namespace looseleaf::index {

// The index in all catalogs, and the intent that a create or drop has stored on shard 0 if one is running or has died.
struct KnownIndex : shard::IndexEverywhere {
  std::optional<job::JobRow> create_intent, drop_intent;

  // Returns the generation from a catalog, or else from an intent; absent if the index is not known.
  [[nodiscard]] std::optional<std::uint64_t> generation_or_intent() const;
  // The drop's intent may be gone, because a later create has replaced it.
  [[nodiscard]] bool drop_has_begun() const { return drop_intent || is_being_dropped(); }
};

// Reads the intents and then all catalogs from the servers. Throws if a shard cannot be reached.
[[nodiscard]] KnownIndex look_up_with_intents(shard::Shards& shards, const std::string& table,
                                              const base::Deadline& deadline);

// Returns the comment of a table in the shard's database; absent if the table does not exist.
[[nodiscard]] std::optional<std::string> comment_of_table(const sql::Database& database, const std::string& table);

// Drops a table of the selected database.
void drop_index_table(const sql::Database& database, const std::string& table);

}  // namespace looseleaf::index
