// One index in the catalogs of all shards.
#include "shard/index_everywhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"

namespace looseleaf::shard {
namespace {

void add_names(std::set<std::string>& names, const Catalog& catalog) {
  for (const CatalogIndex& index : catalog.indexes) {
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
  return std::nullopt;
}

bool IndexEverywhere::is_being_dropped() const {
  return std::any_of(on_shard.begin(), on_shard.end(),
                     [](const auto& index) { return index && index->is_being_dropped(); });
}

std::vector<Catalog> read_catalogs(Shards& shards, const base::Deadline& deadline) {
  std::vector<Catalog> catalogs(shards.count());
  for_each_shard(shards, [&](std::uint32_t shard) {
    catalogs[shard] = read_shard(shards, shard, deadline, [&](const sql::Database& database) {
      return *shards.catalogs().reload(shard, database);
    });
  });
  return catalogs;
}

IndexEverywhere find_index(const std::vector<Catalog>& catalogs, const std::string& table) {
  IndexEverywhere everywhere;
  for (const Catalog& catalog : catalogs) {
    const CatalogIndex* const index = catalog.find(table);
    everywhere.on_shard.push_back(index != nullptr ? std::optional(*index) : std::nullopt);
  }
  return everywhere;
}

IndexEverywhere look_up_index(Shards& shards, const std::string& table, const base::Deadline& deadline) {
  return find_index(read_catalogs(shards, deadline), table);
}

std::set<std::string> all_indexes(const std::vector<Catalog>& catalogs) {
  std::set<std::string> names;
  for (const Catalog& catalog : catalogs) {
    add_names(names, catalog);
  }
  return names;
}

Error no_such_index(Shards& shards, const std::string& table) {
  std::set<std::string> names;
  for (std::uint32_t shard = 0; shard < shards.count(); ++shard) {
    if (const auto catalog = shards.catalogs().cached(shard)) {
      add_names(names, *catalog);
    }
  }
  const auto nearest = base::nearest(table, std::vector<std::string_view>(names.begin(), names.end()));
  std::string hint = nearest         ? fmt::format("did you mean `{}`?", *nearest)
                     : names.empty() ? std::string("run `looseleaf create-index` first; this cluster has no index")
                                     : std::string("run `looseleaf status` to list the indexes");
  return {ErrorCode::bad_index, "no such index", {{"index", table}}, std::move(hint)};
}

}  // namespace looseleaf::shard
