// The drop of indexes by `drop-index` and `apply --prune`.
#pragma once

#include <looseleaf/datastore.hpp>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Throws Error(usage), which names the indexes, if there is no terminal to ask on.
void require_someone_to_ask(const std::vector<std::string>& tables);

// Asks on the terminal whether to drop the indexes.
[[nodiscard]] bool agrees_to_drop(const std::vector<std::string>& tables);

// Drops the indexes and reports each one.
void drop_indexes(Datastore& store, const std::vector<std::string>& tables, const DropOptions& how,
                  const Globals& globals);

}  // namespace looseleaf::cli
