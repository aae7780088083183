// Compares a declared index with what the catalogs of all shards say of it.
#pragma once

#include <looseleaf/status.hpp>
#include <string>

#include "shard/index_everywhere.hpp"

namespace looseleaf::shard {

// `declared` is null if no definition declares the table; then some catalog must have it.
[[nodiscard]] DeclaredIndex compare_with_catalogs(const std::string& table, const IndexDefinition* declared,
                                                  const IndexEverywhere& everywhere);

}  // namespace looseleaf::shard
