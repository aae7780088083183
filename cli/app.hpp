// The command line: parses it, runs the command, turns failures into messages and exit statuses.
#pragma once

#include "cli/registry/exit_status.hpp"
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

// Runs the command that the arguments name. Never throws.
[[nodiscard]] ExitStatus run_app(Registry registry, int argc, const char* const* argv);

}  // namespace looseleaf::cli
