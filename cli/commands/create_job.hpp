// The creation of indexes by `create-index` and `apply`.
#pragma once

#include <looseleaf/datastore.hpp>
#include <vector>

#include "cli/registry/registry.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

// Prints the statements with which the indexes would be created, and what is active already.
void print_plans(const Datastore& store, const std::vector<IndexDefinition>& definitions, const Globals& globals);

struct Created {
  Json summary;  // members of the JSON summary: `building`, and those of a backfill if there was one
  ExitStatus status = ExitStatus::done;
  bool all_ready = true;  // false if entities have equal values in a unique index, or nothing was filled
};

// Creates the indexes and reports each one. If `fill` is not null, fills those that are building.
Created create_and_fill(Datastore& store, const std::vector<IndexDefinition>& definitions, const Throttle* fill,
                        const Globals& globals);

}  // namespace looseleaf::cli
