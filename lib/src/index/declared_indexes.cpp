// Checks definitions, and compares them with the active indexes.
#include "index/declared_indexes.hpp"

#include <algorithm>
#include <looseleaf/error.hpp>
#include <map>
#include <string>

#include "shard/declared_index.hpp"
#include "shard/index_everywhere.hpp"

namespace looseleaf::index {

std::vector<IndexDefinition> checked(const std::vector<IndexDefinition>& definitions) {
  std::vector<IndexDefinition> result;
  for (const IndexDefinition& definition : definitions) {
    result.push_back(IndexDefinition::parse(definition.canonical_json(), definition.table));
    IndexDefinition sorted = definition;
    std::sort(sorted.where.begin(), sorted.where.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (sorted != result.back()) {
      throw Error(ErrorCode::bad_definition, "definition has a value that no file can have",
                  {{"file", definition.table}},
                  "use texts in UTF-8 and finite numbers, and set `max_length` of strings only");
    }
  }
  return result;
}

std::vector<DeclaredIndex> compare_definitions(shard::Shards& shards, const std::vector<IndexDefinition>& given) {
  const std::vector<IndexDefinition> definitions = checked(given);
  shards.check_identities();
  const std::vector<shard::Catalog> catalogs = shard::read_catalogs(shards, shards.deadline());
  std::map<std::string, const IndexDefinition*> tables;  // with null for a table that is not declared
  for (const shard::Catalog& catalog : catalogs) {
    for (const shard::CatalogIndex& index : catalog.indexes) {
      tables.emplace(index.definition.table, nullptr);
    }
  }
  for (const IndexDefinition& definition : definitions) {
    tables[definition.table] = &definition;
  }
  std::vector<DeclaredIndex> compared;
  for (const auto& [table, declared] : tables) {
    compared.push_back(shard::compare_with_catalogs(table, declared, shard::find_index(catalogs, table)));
  }
  return compared;
}

}  // namespace looseleaf::index
