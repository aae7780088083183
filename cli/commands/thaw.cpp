// looseleaf thaw: let a frozen store take writes again.
#include <fmt/format.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct ThawArguments {
  bool force = false;
};

ExitStatus run(const ThawArguments& options, const Globals& globals) {
  Datastore store = open_store(globals);
  const std::uint32_t opened = store.thaw(options.force);
  if (globals.json()) {
    print_summary({{"opened", opened}});
  }
  print_note(opened == 0 ? "the store is open already" : "opened " + counted(opened, "shard", "shards"));
  return ExitStatus::done;
}

}  // namespace

Command thaw_command() {
  const auto options = std::make_shared<ThawArguments>();
  Command command;
  command.name = "thaw";
  command.summary = "let a frozen store take writes again";
  command.parameters = {{.name = "--force",
                         .help = "open the store even if another store is being copied to it",
                         .target = &options->force,
                         .details =
                             "The copy then refuses to continue. This also opens a store to which another one is about "
                             "to move."}};
  command.details = {
      "All shards that are frozen are opened. If the store is open already, the command says so, and the exit status "
      "is 0. "
      "If a server does not answer, the shards of the others are opened, and the exit status is 3; then repeat the "
      "command.",
      "A store that has moved to another cluster cannot be opened again, because the other one takes the writes now. A "
      "store that is about to move is opened, and the move ends without having changed anything."};
  command.examples = {{"Take writes again", "looseleaf thaw"}};
  command.see_also = {"freeze", "status"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
