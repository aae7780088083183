// looseleaf drop-index: drop index tables on every shard.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::vector<std::string> tables;
  bool yes = false;
  bool keep_table = false;
};

void require_someone_to_ask(const Options& options) {
  if (!options.yes && (::isatty(STDIN_FILENO) != 1 || !messages_on_terminal())) {
    throw Error(ErrorCode::usage, "refusing to drop without `--yes`: no terminal to ask on", {}, "give --yes");
  }
}

bool agreed(const Options& options) {
  if (options.yes) {
    return true;
  }
  const OpenLine open_line(STDERR_FILENO);
  print_plain(escape_controls(fmt::format("drop {} on every shard? [y/N] ", fmt::join(options.tables, ", "))));
  std::string answer;
  if (!std::getline(std::cin, answer)) {
    print_plain("\n");  // the input ended without a line break
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

ExitStatus run(Options options, const Globals& globals) {
  require_someone_to_ask(options);
  std::set<std::string> seen;
  std::erase_if(options.tables, [&](const std::string& table) { return !seen.insert(table).second; });
  Datastore store = open_store(globals);
  store.require_indexes(options.tables);
  if (!agreed(options)) {
    if (globals.json()) {
      print_summary({{"indexes", 0}});
    }
    print_note("nothing was dropped");
    return ExitStatus::negative;
  }
  for (const auto& table : options.tables) {
    const DropReport report = store.drop_index(table, {options.keep_table});
    if (globals.json()) {
      print_json({{"table", table}, {"dropped", true}, {"table_kept", !report.kept.empty()}, {"kept_as", report.kept}});
    }
    if (!globals.quiet) {
      print_note(fmt::format("dropped {}", table) +
                 (report.kept.empty() ? "" : fmt::format("; its tables are kept as {}", fmt::join(report.kept, ", "))));
    }
  }
  if (globals.json()) {
    print_summary({{"indexes", options.tables.size()}});
  }
  return ExitStatus::done;
}

}  // namespace

Command drop_index_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "drop-index";
  command.summary = "drop indexes and their tables on every shard";
  command.parameters = {
      {.name = "TABLE", .value = "", .help = "the indexes to drop", .target = &options->tables, .required = true},
      {"--yes", "", "do not ask for confirmation", &options->yes},
      {.name = "--keep-table",
       .value = "",
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
