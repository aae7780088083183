// The options that hold a long job back.
#include "cli/commands/throttle_options.hpp"

namespace looseleaf::cli {

void add_throttle_parameters(Command& command, Throttle& throttle) {
  const std::vector<Parameter> parameters = {
      {.name = "--max-rate",
       .value = "ROWS",
       .help = "read at most so many rows a second, on all shards together",
       .target = &throttle.max_rate,
       .range = {.least = 1}},
      {.name = "--max-load",
       .value = "N",
       .help = "wait while a server runs more than N statements at once (Threads_running)",
       .target = &throttle.max_load,
       .range = {.least = 1}},
      {"--max-lag", "S", "wait while a replica that the cluster file names is more than S seconds behind",
       &throttle.max_lag},
      {"--pause-file", "FILE", "wait while there is such a file", &throttle.pause_file},
  };
  command.parameters.insert(command.parameters.end(), parameters.begin(), parameters.end());
}

}  // namespace looseleaf::cli
