// looseleaf freeze: let the store refuse writes.
#include <fmt/format.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct FreezeArguments {
  std::optional<std::string> reason;
};

ExitStatus run(const FreezeArguments& options, const Globals& globals) {
  if (!options.reason) {
    throw Error(ErrorCode::usage, "freeze needs a reason", {},
                "give `--reason TEXT`: it is shown to everybody whose writes are refused");
  }
  Datastore store = open_store(globals);
  store.freeze(*options.reason);
  if (globals.json()) {
    print_summary({{"frozen", store.shard_count()}});
  }
  std::uint64_t copies = 0;
  for (const ShardStatus& shard : store.status().shards) {
    copies += shard.buffered;
  }
  if (copies > 0) {
    print_warning("writes that were buffered are not stored while the store is frozen",
                  {{"copies of such writes", grouped(copies)}},
                  "to have them stored first, run `looseleaf thaw`, `looseleaf flush` and `looseleaf freeze`");
  }
  print_note(
      fmt::format("froze {}; `looseleaf thaw` opens the store again", counted(store.shard_count(), "shard", "shards")));
  return ExitStatus::done;
}

}  // namespace

Command freeze_command() {
  const auto options = std::make_shared<FreezeArguments>();
  Command command;
  command.name = "freeze";
  command.summary = "let the store refuse writes and index changes until it is thawed";
  command.parameters = {{.name = "--reason",
                         .value = "TEXT",
                         .help = "why, in one line; must be given",
                         .target = &options->reason,
                         .details = "It is shown by `status`, and to everybody whose writes are refused."}};
  command.details = {
      "While a store is frozen, puts, deletes and index changes fail with the reason and exit status 3. `backfill` "
      "cannot complete an index. Everything else goes on: reads, `verify`, `export`, `changes`, triggers and `clean`.",
      "When the command has ended, every write that was acknowledged is stored, and no other write is stored later. "
      "It waits for writes that are under way, but they do not wait for it. Only what `put --buffer` has buffered is "
      "stored after the thaw; run `looseleaf flush` before if it should be stored first.",
      "All shards are frozen or none, unless the command is interrupted: if a shard does not answer, those that were "
      "frozen are opened again. If a shard is frozen already, the command is refused. If the command itself is "
      "killed, a part of the store may be frozen; `thaw` opens it."};
  command.examples = {
      {"Take no writes while a server is replaced", "looseleaf freeze --reason 'replacing server db3'"}};
  command.see_also = {"thaw", "status"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
