// The options that hold a long job back.
#pragma once

#include <looseleaf/jobs.hpp>
#include <string_view>

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Gives a command --max-rate, --max-load, --max-lag and --pause-file, writing into `throttle`.
void add_throttle_parameters(Command& command, Throttle& throttle);

// Returns the first of these options that was given; empty without one.
[[nodiscard]] std::string_view given_option(const Throttle& throttle);

}  // namespace looseleaf::cli
