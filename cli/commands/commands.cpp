// The one list of commands.
#include "cli/commands/commands.hpp"

namespace looseleaf::cli {

Registry all_commands() {
  return {
      init_command(),   put_command(),          get_command(),        delete_command(),
      query_command(),  create_index_command(), drop_index_command(), backfill_command(),
      verify_command(), clean_command(),        status_command(),     sandbox_command(),
  };
}

}  // namespace looseleaf::cli
