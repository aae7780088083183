// The options that every command understands.
#include "cli/registry.hpp"

namespace looseleaf::cli {

std::vector<Parameter> common_parameters(Globals& globals) {
  return {
      {"--cluster", "FILE", "the cluster file (else $LOOSELEAF_CLUSTER, ./looseleaf.json, /etc/looseleaf/cluster.json)",
       &globals.cluster},
      {"--defaults-file", "FILE", "the option file with user and password, in place of the usual ones",
       &globals.defaults_file},
      {"--ssl-mode",
       "MODE",
       "how connections are encrypted",
       &globals.ssl_mode,
       {"disabled", "preferred", "required", "verify-ca", "verify-identity"}},
      {"--output", "FORMAT", "what standard output is written in", &globals.output, {"text", "json"}},
      {"--quiet", "", "no ids, no notes, no progress; errors and warnings only", &globals.quiet},
      {"--verbose", "", "say more about what is done", &globals.verbose},
      {"--color", "WHEN", "colours in messages", &globals.color, {"auto", "always", "never"}},
      {"--progress", "WHEN", "show how far a long job is", &globals.progress, {"auto", "off"}},
      {"--timeout", "S", "seconds for one operation with all its retries; 30 if not given", &globals.timeout},
  };
}

}  // namespace looseleaf::cli
