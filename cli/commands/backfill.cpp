// looseleaf backfill: fill new indexes from the entities that are there.
#include <memory>

#include "cli/commands/backfill_job.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/throttle_options.hpp"

namespace looseleaf::cli {
namespace {

ExitStatus run(const BackfillOptions& options, const Globals& globals) {
  Datastore store = open_store(globals);
  const BackfillReport report = backfill(store, options, globals);
  if (globals.json()) {
    print_summary(to_json(report));
  }
  return ExitStatus::done;
}

}  // namespace

Command backfill_command() {
  const auto options = std::make_shared<BackfillOptions>();
  Command command;
  command.name = "backfill";
  command.summary = "fill indexes in state building from the existing entities";
  command.parameters = {
      {"TABLE", "", "the indexes to fill; none: all that are building", &options->tables},
      {"--restart", "", "begin anew rather than where the last run stopped", &options->restart},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "Traffic goes on meanwhile. An index is ready, on every shard, once nothing is missing from it. The job may be "
      "stopped at any time and goes on where it was."};
  command.examples = {"looseleaf backfill", "looseleaf backfill index_user_id --max-rate 5000 --max-lag 10"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
