// Backfilling, as `backfill` and `create-index --backfill` do it.
#pragma once

#include <looseleaf/datastore.hpp>

#include "cli/registry.hpp"

namespace looseleaf::cli {

// Runs a backfill and says what it did: a JSON summary on standard output, or notes.
void backfill(Datastore& store, const BackfillOptions& options, const Globals& globals);

}  // namespace looseleaf::cli
