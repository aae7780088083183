// The options that hold a long job back.
#include "cli/commands/throttle_options.hpp"

namespace looseleaf::cli {

void add_throttle_parameters(Command& command, Throttle& throttle) {
  const std::vector<Parameter> parameters = {
      {.name = "--max-rate",
       .value = "ROWS",
       .help = "read at most this many rows a second, on all shards together",
       .target = &throttle.max_rate,
       .range = {.least = 1},
       .details =
           "This is an average: after a delay, the job reads faster until it has made up for half a second at most."},
      {.name = "--max-load",
       .value = "N",
       .help = "wait while any server runs more than N statements at once, by its `Threads_running`",
       .target = &throttle.max_load,
       .range = {.least = 1}},
      {.name = "--max-lag",
       .value = "S",
       .help = "wait while any replica is more than S seconds behind, does not replicate, or cannot be asked",
       .target = &throttle.max_lag,
       .details = "The cluster file lists the `replicas` of a shard. The user needs the privilege REPLICATION CLIENT "
                  "there, on MariaDB REPLICA MONITOR."},
      {.name = "--pause-file",
       .value = "FILE",
       .help = "wait while this file exists",
       .target = &throttle.pause_file,
       .details = "Create the file to pause a running job, and delete it to continue."},
  };
  command.parameters.insert(command.parameters.end(), parameters.begin(), parameters.end());
}

std::string_view given_option(const Throttle& throttle) {
  return throttle.max_rate > 0          ? "--max-rate"
         : throttle.max_load > 0        ? "--max-load"
         : throttle.max_lag > 0         ? "--max-lag"
         : !throttle.pause_file.empty() ? "--pause-file"
                                        : "";
}

}  // namespace looseleaf::cli
