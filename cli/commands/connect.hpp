// From the common options to an open store.
#pragma once

#include <looseleaf/datastore.hpp>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Reads the cluster file that the options, the environment or the usual places name.
[[nodiscard]] Cluster load_cluster(const Globals& globals);

// The store, with warnings going to standard error and passwords asked on the terminal.
[[nodiscard]] Datastore open_store(const Globals& globals);
// The same without a word: no warnings, and a password that is not configured is not asked for.
[[nodiscard]] Datastore open_store_silently(const Globals& globals);

}  // namespace looseleaf::cli
