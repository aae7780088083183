// Opens the store that the common options describe.
#pragma once

#include <looseleaf/datastore.hpp>
#include <string>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Reads the cluster file that the options, the environment or the usual places name.
[[nodiscard]] Cluster load_cluster(const Globals& globals);

// Whether there is a warning when an operation waits for a shard. A command that repeats what fails tells of the
// failure.
enum class Waits { warned_of, told_by_failure };
// Opens the store. Warnings go to standard error, and a missing password is asked for on the terminal.
[[nodiscard]] Datastore open_store(const Globals& globals, Waits waits = Waits::warned_of);
// Opens another cluster, by the user and option file that its own cluster file names. Warnings name that file.
[[nodiscard]] Datastore open_other_store(const std::string& cluster_file, const Globals& globals);
// Opens the store without warnings, and without asking for a password.
[[nodiscard]] Datastore open_store_silently(const Globals& globals);

}  // namespace looseleaf::cli
