// Reads and changes the catalog table.
#include "shard/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

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

// The names of the rows of head_query().
constexpr std::string_view shard_name = "looseleaf_shard", index_name = "looseleaf_index";

[[noreturn]] void corrupt(std::string_view text) {
  throw Error(ErrorCode::corrupt, "a shard's own tables hold an unexpected value", {{"value", std::string(text)}});
}

// Splits a text at its first Count - 1 bars.
template <std::size_t Count>
std::array<std::string, Count> split(std::string_view text) {
  std::array<std::string, Count> parts;
  for (std::size_t i = 0; i + 1 < Count; ++i) {
    const std::size_t bar = text.find('|');
    if (bar == std::string_view::npos) {
      corrupt(text);
    }
    parts[i] = text.substr(0, bar);
    text.remove_prefix(bar + 1);
  }
  parts.back() = text;
  return parts;
}

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    corrupt(text);
  }
  return number;
}

void draw_epoch(const sql::Database& database) {
  database->execute(fmt::format("UPDATE {} SET epoch = {} WHERE only_row = 1", database.table("looseleaf_shard"),
                                base::random_u64()));
}

std::string query_for_state(const sql::Database& database, const std::string& table, std::uint64_t generation) {
  return fmt::format("SELECT state FROM {} WHERE table_name = {} AND generation = {}",
                     database.table("looseleaf_index"), sql::text_literal(table), generation);
}

constexpr const char* and_lock = " FOR UPDATE";

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

// The casts make the columns of all parts of a UNION compatible.
std::string head_query(std::span<const NumberedDatabase> databases) {
  std::string query;
  for (const auto& [number, database] : databases) {
    query += fmt::format(
        "{0}SELECT '{1} {2}', CAST(CONCAT_WS('|', HEX(cluster_id), shard, shard_count, format, epoch) AS BINARY) "
        "FROM {3} WHERE only_row = 1 UNION ALL "
        "SELECT '{1} {4}', CAST(CONCAT_WS('|', generation, state, since, definition) AS BINARY) FROM {5}",
        query.empty() ? "" : " UNION ALL ", number, shard_name, sql::qualified(database, shard_name), index_name,
        sql::qualified(database, index_name));
  }
  return query;
}

std::map<std::uint32_t, Head> parse_heads(const sql::NamedTexts& rows) {
  std::map<std::uint32_t, Head> heads;
  std::map<std::uint32_t, std::vector<std::string>> indexes;
  for (const auto& [name, value] : rows) {
    const std::size_t space = name.find(' ');
    const auto number = static_cast<std::uint32_t>(parse_number(std::string_view(name).substr(0, space)));
    if (name.substr(space + 1) == index_name) {
      indexes[number].push_back(value);
      continue;
    }
    const auto parts = split<5>(value);
    heads.emplace(number, Head{.cluster_id = Uuid::parse(parts[0]).value_or(Uuid{}),
                               .shard = parse_number(parts[1]),
                               .shard_count = parse_number(parts[2]),
                               .format = parse_number(parts[3]),
                               .epoch = parse_number(parts[4])});
  }
  for (auto& [number, head] : heads) {
    head.indexes = std::move(indexes[number]);
  }
  return heads;
}

Catalog parse_catalog(const Head& head) {
  Catalog catalog{head.epoch, {}};
  for (const std::string& index : head.indexes) {
    const auto [generation, state, since, definition] = split<4>(index);
    catalog.indexes.push_back(
        {IndexDefinition::parse(definition, "catalog"), parse_number(generation), parse_index_state(state), since});
  }
  std::sort(catalog.indexes.begin(), catalog.indexes.end(),
            [](const CatalogIndex& a, const CatalogIndex& b) { return a.definition.table < b.definition.table; });
  return catalog;
}

Head load_head(const sql::Database& database) {
  const NumberedDatabase numbered{0, database.name()};
  auto heads = parse_heads(sql::to_named_texts(database->query(head_query({&numbered, 1}))));
  if (heads.empty()) {
    throw NotInitialised();
  }
  return std::move(heads.begin()->second);
}

Catalog load_catalog(const sql::Database& database) {
  return parse_catalog(load_head(database));
}

void add_index(const sql::Database& database, const IndexDefinition& definition, std::uint64_t generation,
               IndexState state) {
  database->execute(
      fmt::format("INSERT INTO {} (table_name, generation, state, fingerprint, definition, since) "
                  "VALUES ({}, {}, {}, {}, {}, NOW(6)) ON DUPLICATE KEY UPDATE table_name = table_name",
                  database.table("looseleaf_index"), sql::text_literal(definition.table), generation,
                  sql::text_literal(to_string(state)), sql::text_literal(definition.fingerprint()),
                  sql::text_literal(definition.canonical_json())));
  const std::string query = query_for_state(database, definition.table, generation);
  database->pretend(query + and_lock, [&] {
    const sql::Result existing = database->query(query);
    return existing.empty() ? sql::Result({to_string(state)}, 1) : existing;
  });
  draw_epoch(database);
}

bool set_index_state(const sql::Database& database, const std::string& table, std::uint64_t generation,
                     const std::vector<IndexState>& from, IndexState to) {
  const std::string query = query_for_state(database, table, generation) + and_lock;
  const sql::Result found = database->query(query);
  if (found.empty()) {
    return false;
  }
  const IndexState state = parse_index_state(found.text(0, 0));
  if (state == to) {
    draw_epoch(database);
    return true;
  }
  if (std::find(from.begin(), from.end(), state) == from.end()) {
    return false;
  }
  database->execute(fmt::format("UPDATE {} SET state = {}, since = NOW(6) WHERE table_name = {}",
                                database.table("looseleaf_index"), sql::text_literal(to_string(to)),
                                sql::text_literal(table)));
  database->pretend(query, [&] { return sql::Result({to_string(to)}, 1); });
  draw_epoch(database);
  return true;
}

void remove_index(const sql::Database& database, const std::string& table, std::uint64_t generation) {
  database->execute(fmt::format("DELETE FROM {} WHERE table_name = {} AND generation = {}",
                                database.table("looseleaf_index"), sql::text_literal(table), generation));
  draw_epoch(database);
}

}  // namespace shard
}  // namespace looseleaf
