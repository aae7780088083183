// All commands of the program; each is registered by its own cmd_*.cpp.
#pragma once

#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

[[nodiscard]] Registry all_commands();

[[nodiscard]] Command init_command();
[[nodiscard]] Command put_command();
[[nodiscard]] Command get_command();
[[nodiscard]] Command delete_command();
[[nodiscard]] Command query_command();
[[nodiscard]] Command create_index_command();
[[nodiscard]] Command drop_index_command();
[[nodiscard]] Command backfill_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command clean_command();
[[nodiscard]] Command status_command();
[[nodiscard]] Command sandbox_command();

}  // namespace looseleaf::cli
