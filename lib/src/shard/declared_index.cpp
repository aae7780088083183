// Compares a declared index with what the catalogs of all shards say of it.
#include "shard/declared_index.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/definition_differences.hpp"

namespace looseleaf {

std::string to_string(DeclaredIndex::Kind kind) {
  switch (kind) {
    case DeclaredIndex::Kind::equal:
      return "equal";
    case DeclaredIndex::Kind::missing:
      return "missing";
    case DeclaredIndex::Kind::building:
      return "building";
    case DeclaredIndex::Kind::different:
      return "different";
    case DeclaredIndex::Kind::extra:
      return "extra";
    case DeclaredIndex::Kind::dropping:
      return "dropping";
  }
  return {};
}

namespace shard {
namespace {

using Kind = DeclaredIndex::Kind;

bool is_building(const IndexEverywhere& everywhere) {
  return std::any_of(everywhere.on_shard.begin(), everywhere.on_shard.end(),
                     [](const auto& index) { return index && index->state == IndexState::building; });
}

}  // namespace

DeclaredIndex compare_with_catalogs(const std::string& table, const IndexDefinition* declared,
                                    const IndexEverywhere& everywhere) {
  DeclaredIndex result{table, Kind::equal, {}, {}, everywhere.generation().value_or(0)};
  if (everywhere.is_being_dropped()) {
    result.kind = Kind::dropping;
    return result;
  }
  if (declared == nullptr) {
    result.kind = Kind::extra;
    return result;
  }
  for (std::uint32_t shard = 0; shard < everywhere.on_shard.size(); ++shard) {
    const auto& index = everywhere.on_shard[shard];
    if (!index) {
      result.kind = Kind::missing;
      result.shards.push_back(shard);
    } else if (result.differences.empty()) {
      result.differences = model::definition_differences(index->definition, *declared);
      if (result.differences.empty() && index->generation != everywhere.generation()) {
        result.differences.push_back(fmt::format(
            "shard {} has another index of this name than the shards before it: drop it and create it again", shard));
      }
    }
  }
  if (!result.differences.empty()) {
    result.kind = Kind::different;
    result.shards.clear();
  } else if (result.kind == Kind::equal && is_building(everywhere)) {
    result.kind = Kind::building;
  }
  return result;
}

}  // namespace shard
}  // namespace looseleaf
