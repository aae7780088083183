// The drop of indexes by `drop-index` and `apply --prune`.
#include "cli/commands/drop_job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/terminal.hpp"

namespace looseleaf::cli {

void require_someone_to_ask(const std::vector<std::string>& tables) {
  if (::isatty(STDIN_FILENO) != 1 || !messages_on_terminal()) {
    throw Error(ErrorCode::usage, "refusing to drop without `--yes`: no terminal to ask on",
                {{"would drop", tables.empty() ? "nothing" : fmt::format("{}", fmt::join(tables, ", "))}},
                "give --yes");
  }
}

bool agrees_to_drop(const std::vector<std::string>& tables) {
  const OpenLine open_line(STDERR_FILENO);
  print_plain(escape_controls(fmt::format("drop {} on every shard? [y/N] ", fmt::join(tables, ", "))));
  std::string answer;
  if (!std::getline(std::cin, answer)) {
    print_plain("\n");  // the input ended without a line break
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

void drop_indexes(Datastore& store, const std::vector<std::string>& tables, const DropOptions& how,
                  const Globals& globals) {
  for (const auto& table : tables) {
    const DropReport report = store.drop_index(table, how);
    if (globals.json()) {
      print_json({{"table", table}, {"dropped", true}, {"table_kept", !report.kept.empty()}, {"kept_as", report.kept}});
    }
    print_note(fmt::format("dropped {}", table) +
               (report.kept.empty() ? "" : fmt::format("; its tables are kept as {}", fmt::join(report.kept, ", "))));
  }
}

}  // namespace looseleaf::cli
