// All commands of the program.
#pragma once

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

[[nodiscard]] Registry all_commands();

#define LOOSELEAF_COMMAND(name) [[nodiscard]] Command name##_command();
#include "cli/commands/commands.def"
#undef LOOSELEAF_COMMAND

}  // namespace looseleaf::cli
