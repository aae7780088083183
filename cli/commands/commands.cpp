// Makes the registry from the list of commands.
#include "cli/commands/commands.hpp"

namespace looseleaf::cli {

Registry all_commands() {
  return {
#define LOOSELEAF_COMMAND(name) name##_command(),
#include "cli/commands/commands.def"
#undef LOOSELEAF_COMMAND
  };
}

}  // namespace looseleaf::cli
