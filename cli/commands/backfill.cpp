// looseleaf backfill: fill new indexes from the existing entities.
#include <cstdint>
#include <limits>
#include <memory>

#include "cli/commands/backfill_job.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/throttle_options.hpp"

namespace looseleaf::cli {
namespace {

struct BackfillArguments {
  BackfillOptions backfill;
  bool all = false;
};

ExitStatus run(BackfillArguments options, const Globals& globals) {
  Datastore store = open_store(globals);
  if (options.all) {
    options.backfill.samples = std::numeric_limits<std::uint64_t>::max();
  }
  const BackfillReport report = backfill(store, options.backfill, globals);
  if (globals.json()) {
    print_summary(to_json(report));
  }
  return exit_status_of(report);
}

}  // namespace

Command backfill_command() {
  const auto options = std::make_shared<BackfillArguments>();
  Command command;
  command.name = "backfill";
  command.summary = "fill indexes in state building from the existing entities";
  command.parameters = {
      {"TABLE", "", "the indexes to fill; without one, all that are building", &options->backfill.tables},
      {"--restart", "", "start again instead of continuing where the last run stopped", &options->backfill.restart},
      {"--all", "", "name every unreadable entity, and all that have the same values in a unique index, not only 20",
       &options->all},
  };
  add_throttle_parameters(command, options->backfill.throttle);
  command.details = {
      "Traffic may continue during a backfill. Each index becomes ready, on every shard, once nothing is missing from "
      "it. You may stop the command at any time; the next run continues where it stopped. A second backfill at the "
      "same time fails.",
      "If the body of an entity cannot be read, the index becomes ready without it, an error lists at most 20 such "
      "entities unless `--all` is given, and the exit status is 1.",
      "Without TABLE, an index that cannot be filled, because its creation was interrupted or is under way, does not "
      "stop the others; an error names it, and the exit status is 1.",
      "If several entities have the same values in a unique index, that index stays building, an error lists at most "
      "20 of the rows that it cannot have, each with both entities, unless `--all` is given, and the exit status is "
      "1."};
  command.examples = {{"Fill all indexes that are building", "looseleaf backfill"},
                      {"Fill one index slowly", "looseleaf backfill index_user_id --max-rate 5000 --max-lag 10"}};
  command.see_also = {"create-index", "status", "verify"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
