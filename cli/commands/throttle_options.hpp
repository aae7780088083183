// The options that hold a long job back.
#pragma once

#include <looseleaf/jobs.hpp>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Gives a command --max-rate, --max-load, --max-lag and --pause-file, writing into `throttle`.
void add_throttle_parameters(Command& command, Throttle& throttle);

}  // namespace looseleaf::cli
