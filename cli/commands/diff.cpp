// looseleaf diff: compare the definitions in a folder with the active indexes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/files/definitions.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

using Kind = DeclaredIndex::Kind;

struct DiffArguments {
  std::string folder;
};

// "missing by_n shards 1 (definitions/by_n.json)", and a line for each difference if the definitions differ.
std::vector<std::string> lines_of(const DeclaredIndex& index, const std::string& file, std::size_t all_shards) {
  const std::string head = to_string(index.kind) + ' ' + index.table;
  const std::string where = file.empty() ? "" : " (" + file + ")";
  if (index.kind == Kind::different) {
    std::vector<std::string> lines;
    for (const std::string& difference : index.differences) {
      lines.push_back(fmt::format("{} {}{}", head, difference, where));
    }
    return lines;
  }
  const bool on_some = index.kind == Kind::missing && index.shards.size() < all_shards;
  return {head + (on_some ? fmt::format(" on shards {}", comma_separated(index.shards)) : "") + where};
}

void print_index(const DeclaredIndex& index, const std::string& file, std::size_t all_shards, const Globals& globals) {
  if (globals.json()) {
    print_json({{"table", index.table},
                {"kind", to_string(index.kind)},
                {"shards", index.shards},
                {"differences", index.differences},
                {"file", file.empty() ? Json(nullptr) : Json(file)}});
  } else if (index.kind != Kind::equal) {
    for (const std::string& line : lines_of(index, file, all_shards)) {
      print_line(line);
    }
  }
}

void print_result(const std::map<Kind, std::size_t>& counts, std::size_t indexes, const Globals& globals) {
  const auto count = [&](Kind kind) { return counts.contains(kind) ? counts.at(kind) : 0; };
  const std::size_t equal = count(Kind::equal);
  if (globals.json()) {
    Json summary = {{"equal", equal == indexes}, {"indexes", indexes}};
    for (const Kind kind : {Kind::missing, Kind::building, Kind::different, Kind::extra, Kind::dropping}) {
      summary[to_string(kind)] = count(kind);
    }
    print_summary(summary);
  }
  print_note(equal == indexes ? counted(indexes, "index", "indexes") + ": all are as declared"
                              : fmt::format("{} of {} not as declared", indexes - equal,
                                            counted(indexes, "index is", "indexes are")));
}

ExitStatus run(const DiffArguments& options, const Globals& globals) {
  const DefinitionFolder folder = load_definition_folder(options.folder);
  const Datastore store = open_store(globals);
  std::map<Kind, std::size_t> counts;
  const std::vector<DeclaredIndex> indexes = store.compare_definitions(folder.definitions);
  for (const DeclaredIndex& index : indexes) {
    const auto file = folder.files.find(index.table);
    print_index(index, file == folder.files.end() ? "" : file->second, store.shard_count(), globals);
    ++counts[index.kind];
  }
  print_result(counts, indexes.size(), globals);
  return counts[Kind::equal] == indexes.size() ? ExitStatus::done : ExitStatus::negative;
}

}  // namespace

Command diff_command() {
  const auto options = std::make_shared<DiffArguments>();
  Command command;
  command.name = "diff";
  command.summary = "compare the definitions in a folder with the active indexes";
  command.parameters = {{.name = "DIR",
                         .help = "the folder of definitions: its files `*.json`, but not `*.schema.json`",
                         .target = &options->folder,
                         .required = true}};
  command.details = {
      "This lists the indexes that are not as declared: `missing` (declared, but not active), `building` (active, but "
      "not filled), `different` (active with another definition; a line for each member that differs), `extra` "
      "(active, but not declared), and `dropping` (a drop has begun).",
      "The exit status is 0 if there is none, else 1. All shards must be up. `verify --definitions DIR "
      "--definitions-only` also checks the tables."};
  command.examples = {{"Show what a deployment would change", "looseleaf diff schemas/friendfeed"}};
  command.see_also = {"apply", "show-index", "verify"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
