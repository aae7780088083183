// The options that every command understands.
#include "cli/registry/registry.hpp"

namespace looseleaf::cli {

std::vector<Parameter> common_parameters(Globals& globals) {
  return {
      {.name = "--cluster",
       .value = "FILE",
       .help = "the cluster file (else $LOOSELEAF_CLUSTER, ./looseleaf.json, /etc/looseleaf/cluster.json)",
       .target = &globals.cluster,
       .for_store = true},
      {.name = "--defaults-file",
       .value = "FILE",
       .help = "the option file with user and password, in place of the usual ones",
       .target = &globals.defaults_file,
       .for_store = true},
      {.name = "--ssl-mode",
       .value = "MODE",
       .help = "how connections are encrypted",
       .target = &globals.ssl_mode,
       .choices = {"disabled", "preferred", "required", "verify-ca", "verify-identity"},
       .for_store = true},
      {"--output", "FORMAT", "what standard output is written in", &globals.output, {"text", "json"}},
      {"--quiet", "", "no ids, no notes, no progress; errors and warnings only", &globals.quiet},
      {.name = "--verbose",
       .value = "",
       .help = "say more about what is done",
       .target = &globals.verbose,
       .for_store = true},
      {"--color", "WHEN", "colours in messages", &globals.color, {"auto", "always", "never"}},
      {.name = "--progress",
       .value = "WHEN",
       .help = "show how far a long job is",
       .target = &globals.progress,
       .choices = {"auto", "off"},
       .for_store = true},
      {.name = "--timeout",
       .value = "S",
       .help = "seconds for one operation with all its retries; 30 if not given",
       .target = &globals.timeout,
       .for_store = true},
  };
}

std::vector<Parameter> common_parameters_for(const Command* command, Globals& globals) {
  std::vector<Parameter> parameters = common_parameters(globals);
  if (command != nullptr && !command->opens_store) {
    std::erase_if(parameters, [](const Parameter& parameter) { return parameter.for_store; });
  }
  return parameters;
}

}  // namespace looseleaf::cli
