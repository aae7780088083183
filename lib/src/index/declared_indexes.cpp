// Checks definitions, and compares them with the active indexes.
#include "index/declared_indexes.hpp"

#include <looseleaf/error.hpp>
#include <map>
#include <string>

#include "shard/declared_index.hpp"
#include "shard/index_everywhere.hpp"

namespace looseleaf::index {

std::vector<IndexDefinition> checked(const std::vector<IndexDefinition>& definitions) {
  std::vector<IndexDefinition> result;
  for (const IndexDefinition& definition : definitions) {
    if (definition.shard_on && *definition.shard_on >= definition.properties.size()) {
      throw Error(ErrorCode::bad_definition, "`shard_on` names no property of the index", {{"file", definition.table}},
                  "give the position of one of its properties");
    }
    result.push_back(IndexDefinition::parse(definition.canonical_json(), definition.table));
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
