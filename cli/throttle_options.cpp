// The options that hold a long job back.
#include "cli/throttle_options.hpp"

namespace looseleaf::cli {

void add_throttle_parameters(Command& command, Throttle& throttle) {
  const std::vector<Parameter> parameters = {
      {"--max-rate", "ROWS", "read at most so many rows a second, on all shards together", &throttle.max_rate},
      {"--max-load", "N", "wait while a server runs more than N statements at once (Threads_running)",
       &throttle.max_load},
      {"--max-lag", "S", "wait while a replica that the cluster file names is more than S seconds behind",
       &throttle.max_lag},
      {"--pause-file", "FILE", "wait while there is such a file", &throttle.pause_file},
  };
  command.parameters.insert(command.parameters.end(), parameters.begin(), parameters.end());
}

}  // namespace looseleaf::cli
