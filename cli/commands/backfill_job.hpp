// The backfill of `backfill` and of `create-index --backfill`.
#pragma once

#include <looseleaf/datastore.hpp>

#include "cli/registry/exit_status.hpp"
#include "cli/registry/registry.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

// Runs a backfill, with progress events and closing notes. Names entities that cannot be read.
BackfillReport backfill(Datastore& store, const BackfillOptions& options, const Globals& globals);

[[nodiscard]] ExitStatus exit_status_of(const BackfillReport& report);

// The members of the JSON summary that describe the backfill.
[[nodiscard]] Json to_json(const BackfillReport& report);

}  // namespace looseleaf::cli
