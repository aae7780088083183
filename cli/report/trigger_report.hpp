// What `trigger list` prints.
#pragma once

#include <looseleaf/trigger.hpp>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Prints a line for each trigger; with --verbose, as text, also one for each of its shards.
void print_triggers(const std::vector<TriggerStatus>& triggers, const Globals& globals);

}  // namespace looseleaf::cli
