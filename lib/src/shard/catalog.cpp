// Reads and changes the catalog table.
#include "shard/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "shard/schema.hpp"
#include "sql/literals.hpp"

namespace looseleaf {

std::string to_string(IndexState state) {
  switch (state) {
    case IndexState::building:
      return "building";
    case IndexState::ready:
      return "ready";
    case IndexState::dropping:
      return "dropping";
    case IndexState::dropped:
      return "dropped";
  }
  return {};
}

namespace shard {
namespace {

void draw_epoch(sql::Connection& connection) {
  connection.execute(fmt::format("UPDATE looseleaf_shard SET epoch = {} WHERE only_row = 1", base::random_u64()));
}

}  // namespace

IndexState parse_index_state(const std::string& text) {
  for (const IndexState state : {IndexState::building, IndexState::ready, IndexState::dropping, IndexState::dropped}) {
    if (text == to_string(state)) {
      return state;
    }
  }
  throw Error(ErrorCode::corrupt, "index has an unknown state", {{"state", text}},
              "use the newest looseleaf; a newer one wrote the catalog, or it was changed by hand");
}

const CatalogIndex* Catalog::find(const std::string& table) const {
  for (const CatalogIndex& index : indexes) {
    if (index.definition.table == table) {
      return &index;
    }
  }
  return nullptr;
}

Catalog load_catalog(sql::Connection& connection) {
  const sql::Result rows = connection.query(
      "SELECT s.epoch, i.definition, i.generation, i.state, i.since FROM looseleaf_shard s "
      "LEFT JOIN looseleaf_index i ON TRUE WHERE s.only_row = 1 ORDER BY i.table_name");
  if (rows.empty()) {
    throw NotInitialised();
  }
  Catalog catalog;
  catalog.epoch = rows.unsigned_integer(0, 0);
  for (std::size_t i = 0; i < rows.size() && rows.cell(i, 1); ++i) {
    catalog.indexes.push_back({IndexDefinition::parse(rows.text(i, 1), "catalog"), rows.unsigned_integer(i, 2),
                               parse_index_state(rows.text(i, 3)), rows.text(i, 4)});
  }
  return catalog;
}

void add_index(sql::Connection& connection, const IndexDefinition& definition, std::uint64_t generation,
               IndexState state) {
  connection.execute(
      fmt::format("INSERT INTO looseleaf_index (table_name, generation, state, fingerprint, definition, since) "
                  "VALUES ({}, {}, {}, {}, {}, NOW(6)) ON DUPLICATE KEY UPDATE table_name = table_name",
                  sql::text_literal(definition.table), generation, sql::text_literal(to_string(state)),
                  sql::text_literal(definition.fingerprint()), sql::text_literal(definition.canonical_json())));
  draw_epoch(connection);
}

bool set_index_state(sql::Connection& connection, const std::string& table, std::uint64_t generation,
                     const std::vector<IndexState>& from, IndexState to) {
  const sql::Result found = connection.query(
      fmt::format("SELECT state FROM looseleaf_index WHERE table_name = {} AND generation = {} FOR UPDATE",
                  sql::text_literal(table), generation));
  if (found.empty()) {
    return false;
  }
  const IndexState state = parse_index_state(found.text(0, 0));
  if (state == to) {
    draw_epoch(connection);
    return true;
  }
  if (std::find(from.begin(), from.end(), state) == from.end()) {
    return false;
  }
  connection.execute(fmt::format("UPDATE looseleaf_index SET state = {}, since = NOW(6) WHERE table_name = {}",
                                 sql::text_literal(to_string(to)), sql::text_literal(table)));
  draw_epoch(connection);
  return true;
}

void remove_index(sql::Connection& connection, const std::string& table, std::uint64_t generation) {
  connection.execute(fmt::format("DELETE FROM looseleaf_index WHERE table_name = {} AND generation = {}",
                                 sql::text_literal(table), generation));
  draw_epoch(connection);
}

}  // namespace shard
}  // namespace looseleaf
