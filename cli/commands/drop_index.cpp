// looseleaf drop-index: drop index tables on every shard.
#include <memory>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/drop_job.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

struct DropIndexArguments {
  std::vector<std::string> tables;
  bool yes = false;
  bool keep_table = false;
};

ExitStatus run(DropIndexArguments options, const Globals& globals) {
  if (!options.yes) {
    require_someone_to_ask(options.tables);
  }
  std::set<std::string> seen;
  std::erase_if(options.tables, [&](const std::string& table) { return !seen.insert(table).second; });
  Datastore store = open_store(globals);
  try {
    store.require_indexes(options.tables);
  } catch (Error& error) {
    if (error.code() == ErrorCode::bad_index) {
      error.with_hint((options.tables.size() == 1 ? "if it is dropped already, there is nothing to do; "
                                                  : "if it is dropped already, run the command again without it; ") +
                      error.hint());
    }
    throw;
  }
  if (!options.yes && !agrees_to_drop(options.tables)) {
    if (globals.json()) {
      print_summary({{"indexes", 0}});
    }
    print_note("nothing was dropped");
    return ExitStatus::negative;
  }
  drop_indexes(store, options.tables, {options.keep_table}, globals);
  if (globals.json()) {
    print_summary({{"indexes", options.tables.size()}});
  }
  return ExitStatus::done;
}

}  // namespace

Command drop_index_command() {
  const auto options = std::make_shared<DropIndexArguments>();
  Command command;
  command.name = "drop-index";
  command.summary = "drop indexes and their tables on every shard";
  command.parameters = {
      {.name = "TABLE", .help = "the indexes to drop", .target = &options->tables, .required = true},
      {"--yes", "", "do not ask for confirmation", &options->yes},
      {.name = "--keep-table",
       .help = "stop maintaining the tables but keep them under another name",
       .target = &options->keep_table,
       .details = "The new name is `TABLE_dropped_GENERATION`; the command prints it."},
  };
  command.details = {
      "On a terminal the command asks for confirmation; elsewhere it needs `--yes`. Entities do not change. If one of "
      "several indexes does not exist, none is dropped. An account without the necessary privileges is refused before "
      "anything is changed.",
      "All shards must be up. After a failure, repeat the command: it continues."};
  command.examples = {{"Drop an index", "looseleaf drop-index index_user_id"},
                      {"Drop an index without confirmation, but keep its rows",
                       "looseleaf drop-index index_user_id --yes --keep-table"}};
  command.see_also = {"create-index", "status"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
