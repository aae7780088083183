// What create-index and drop-index know about an index on all shards.
#include "ops/index_tables.hpp"

#include <fmt/format.h>

#include <set>

#include "base/nearest.hpp"
#include "sql/literals.hpp"

namespace looseleaf::ops {
namespace {

store::Catalog read_catalog(store::Shards& shards, std::uint32_t shard, const base::Deadline& deadline) {
  return store::with_shard(shards, shard, deadline,
                           [&](sql::Connection& connection) { return *shards.reload_catalog(shard, connection); });
}

void add_names(std::set<std::string>& names, const store::Catalog& catalog) {
  for (const store::CatalogIndex& index : catalog.indexes) {
    names.insert(index.definition.table);
  }
}

}  // namespace

std::optional<std::uint64_t> IndexEverywhere::generation() const {
  for (const auto& index : on_shard) {
    if (index) {
      return index->generation;
    }
  }
  if (drop_intent) {
    return drop_intent->generation;
  }
  return create_intent ? std::optional(create_intent->generation) : std::nullopt;
}

bool IndexEverywhere::in_any_catalog() const {
  for (const auto& index : on_shard) {
    if (index) {
      return true;
    }
  }
  return false;
}

IndexEverywhere look_up_index(store::Shards& shards, const std::string& table, const base::Deadline& deadline) {
  IndexEverywhere everywhere;
  store::with_shard(shards, 0, deadline, [&](sql::Connection& connection) {
    everywhere.create_intent = store::read_job(connection, "create", table);
    everywhere.drop_intent = store::read_job(connection, "drop", table);
  });
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    const store::Catalog catalog = read_catalog(shards, shard, deadline);
    const store::CatalogIndex* index = catalog.find(table);
    everywhere.on_shard.push_back(index ? std::optional(*index) : std::nullopt);
  }
  return everywhere;
}

std::vector<std::string> all_indexes(store::Shards& shards, const base::Deadline& deadline) {
  std::set<std::string> names;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    add_names(names, read_catalog(shards, shard, deadline));
  }
  return {names.begin(), names.end()};
}

std::optional<std::string> comment_of_table(sql::Connection& connection, const std::string& table) {
  const sql::Result found = connection.query(
      fmt::format("SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() "
                  "AND table_name = {}",
                  sql::text_literal(table)));
  return found.empty() ? std::nullopt : std::optional(found.text(0, 0));
}

Error no_such_index(store::Shards& shards, const std::string& table) {
  std::set<std::string> names;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (const auto catalog = shards.cached_catalog(shard)) {
      add_names(names, *catalog);
    }
  }
  const auto nearest = base::nearest(table, std::vector<std::string_view>(names.begin(), names.end()));
  std::string hint = nearest         ? fmt::format("did you mean `{}`?", *nearest)
                     : names.empty() ? std::string("this cluster has no index yet: see `looseleaf create-index`")
                                     : std::string("`looseleaf status` lists the indexes");
  return {ErrorCode::bad_index, "no such index", {{"index", table}}, std::move(hint)};
}

}  // namespace looseleaf::ops
