// The flush of `flush` and `refused retry`.
#pragma once

#include <looseleaf/datastore.hpp>

#include "cli/registry/exit_status.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Stores what is buffered and reports it, also what was done before the job was stopped.
ExitStatus flush_and_report(Datastore& store, const Globals& globals);

}  // namespace looseleaf::cli
