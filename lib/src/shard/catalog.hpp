// The catalog: the index definitions in force on one shard, and their state.
#pragma once

#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <string>
#include <vector>

#include "sql/connection.hpp"

namespace looseleaf::shard {

struct CatalogIndex {
  IndexDefinition definition;
  std::uint64_t generation = 0;
  IndexState state = IndexState::building;
  std::string since;  // as DATETIME(6) prints it, UTC

  // Writers keep its rows up to date.
  [[nodiscard]] bool maintained() const { return state != IndexState::dropped; }
};

struct Catalog {
  std::uint64_t epoch = 0;
  std::vector<CatalogIndex> indexes;  // in order of table name

  // Null if there is none.
  [[nodiscard]] const CatalogIndex* find(const std::string& table) const;
};

// Reads epoch and definitions from one snapshot.
[[nodiscard]] Catalog load_catalog(sql::Connection& connection);

// Changes of the catalog, to be made with the fence held exclusively; each may be repeated. Every one draws a new
// epoch, also one that finds itself made: that may not be on disk yet, and a commit that changes nothing would not wait
// for it.
void add_index(sql::Connection& connection, const IndexDefinition& definition, std::uint64_t generation,
               IndexState state);
// Moves an index from one of the states `from` to another; false, and no change, if it is in none of these and not
// there already, or is of another generation, or absent.
[[nodiscard]] bool set_index_state(sql::Connection& connection, const std::string& table, std::uint64_t generation,
                                   const std::vector<IndexState>& from, IndexState to);
void remove_index(sql::Connection& connection, const std::string& table, std::uint64_t generation);

// Throws Error(corrupt) for an unknown word.
[[nodiscard]] IndexState parse_index_state(const std::string& text);

}  // namespace looseleaf::shard
