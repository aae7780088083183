// The catalog of one shard: the active index definitions and their states.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/database.hpp"

namespace looseleaf::shard {

struct CatalogIndex {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  IndexState state = IndexState::building;
  std::string since;  // in UTC, formatted like DATETIME(6)

  // Returns true if writers keep the index's rows up to date.
  [[nodiscard]] bool maintained() const { return state != IndexState::dropped; }
  [[nodiscard]] bool is_being_dropped() const { return state == IndexState::dropping || state == IndexState::dropped; }
};

struct Catalog {
  std::uint64_t epoch = 0;
  std::vector<CatalogIndex> indexes;  // in order of table name

  // Returns null if there is no such index.
  [[nodiscard]] const CatalogIndex* find(const std::string& table) const;
};

// What a shard says of itself: whose shard it is, and its catalog, from one snapshot.
struct Head {
  Uuid cluster_id;
  std::uint64_t shard = 0, shard_count = 0, format = 0, epoch = 0;
  std::vector<std::string> indexes = {};  // as the SELECT returned them; see parse_catalog()
};
// A database on the session's server, and a number that marks its rows in the result of head_query().
struct NumberedDatabase {
  std::uint32_t number;
  std::string_view name;
};
// Returns the SELECT for the heads of these databases. It is the first query of each session; see sql::ConnectOptions.
[[nodiscard]] std::string head_query(std::span<const NumberedDatabase> databases);
// Converts the rows of head_query(). The head of a shard that was never initialised is missing.
[[nodiscard]] std::map<std::uint32_t, Head> parse_heads(const sql::NamedTexts& rows);
// Throws Error(corrupt) if an index cannot be read.
[[nodiscard]] Catalog parse_catalog(const Head& head);

// Throws NotInitialised.
[[nodiscard]] Head load_head(const sql::Database& database);
[[nodiscard]] Catalog load_catalog(const sql::Database& database);

// Changes of the catalog. The caller must hold the fence exclusively, and may repeat each change. Every call draws a
// new epoch, even if the change was already made. The earlier commit may not be on disk yet, and a commit that changes
// nothing would not wait for it.
void add_index(const sql::Database& database, const IndexDefinition& definition, std::uint64_t generation,
               IndexState state);
// Moves an index from one of the states `from` to the state `to`. Returns false, and changes nothing, if the index is
// in none of these states and not already in `to`, has another generation, or is absent.
[[nodiscard]] bool set_index_state(const sql::Database& database, const std::string& table, std::uint64_t generation,
                                   const std::vector<IndexState>& from, IndexState to);
void remove_index(const sql::Database& database, const std::string& table, std::uint64_t generation);

// Throws Error(corrupt) for an unknown word.
[[nodiscard]] IndexState parse_index_state(const std::string& text);

}  // namespace looseleaf::shard
