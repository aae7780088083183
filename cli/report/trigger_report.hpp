// What `trigger list` prints.
#pragma once

#include <cstdint>
#include <looseleaf/trigger.hpp>
#include <vector>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Prints a line for each trigger; with --verbose, as text, also one for each of its shards. `unknown` are the shards
// that did not answer.
void print_triggers(const std::vector<TriggerStatus>& triggers, const std::vector<std::uint32_t>& unknown,
                    const Globals& globals);

}  // namespace looseleaf::cli
