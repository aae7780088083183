// Backfilling, as `backfill` and `create-index --backfill` do it.
#pragma once

#include <looseleaf/datastore.hpp>

#include "cli/registry/registry.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

// Runs a backfill; says in events how far it is, and in notes what it did.
BackfillReport backfill(Datastore& store, const BackfillOptions& options, const Globals& globals);

// The members that a summary has of it.
[[nodiscard]] Json to_json(const BackfillReport& report);

}  // namespace looseleaf::cli
