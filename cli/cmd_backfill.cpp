// looseleaf backfill: fill new indexes from the entities that are there.
#include <memory>

#include "cli/backfill_job.hpp"
#include "cli/commands.hpp"
#include "cli/connect.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::vector<std::string> tables;
  bool restart = false;
};

ExitStatus run(const Options& options, const Globals& globals) {
  Datastore store = open_store(globals);
  backfill(store, {options.tables, options.restart}, globals);
  return ExitStatus::done;
}

}  // namespace

Command backfill_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "backfill";
  command.summary = "fill indexes in state building from the existing entities";
  command.parameters = {
      {"TABLE", "", "the indexes to fill; none: all that are building", &options->tables},
      {"--restart", "", "begin anew rather than where the last run stopped", &options->restart},
  };
  command.details = {
      "Traffic goes on meanwhile. An index is ready, on every shard, once nothing is missing from it. The job may be "
      "stopped at any time and goes on where it was."};
  command.examples = {"looseleaf backfill", "looseleaf backfill index_user_id --restart"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
