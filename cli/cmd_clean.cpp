// looseleaf clean: reconcile what changed lately, sweep rows that nothing calls for.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/job.hpp"
#include "cli/json.hpp"
#include "cli/messages.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  bool full = false;
};

ExitStatus run(const Options& options, const Globals& globals) {
  Datastore store = open_store(globals);
  const CleanReport report =
      run_job(globals, [&](JobControl& control) { return store.clean({options.full}, control); });
  if (globals.json()) {
    print_json({{"checked", report.checked},
                {"deleted", report.deleted},
                {"inserted", report.inserted},
                {"purged", report.purged}});
  }
  if (!globals.quiet) {
    print_note(fmt::format("checked {}, deleted {}, inserted {}, purged {}",
                           counted(report.checked, "entity", "entities"),
                           counted(report.deleted, "index row", "index rows"), grouped(report.inserted),
                           counted(report.purged, "tombstone", "tombstones")));
  }
  return ExitStatus::done;
}

}  // namespace

Command clean_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "clean";
  command.summary = "reconcile the index rows of what changed since the last clean";
  command.parameters = {{"--full", "", "sweep everything, not only what changed", &options->full}};
  command.details = {"Deletes index rows that no entity calls for, and purges deleted entities whose time has come."};
  command.examples = {"looseleaf clean", "looseleaf clean --full"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
