// looseleaf apply: make the active indexes those that a folder of definitions declares.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/create_job.hpp"
#include "cli/commands/drop_job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/files/definitions.hpp"
#include "cli/report/indexing_report.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

using Kind = DeclaredIndex::Kind;

struct ApplyArguments {
  std::string folder;
  bool prune = false;
  bool yes = false;
  bool dry_run = false;
  Throttle throttle;
};

// What there is to do, or was done.
struct Work {
  std::vector<IndexDefinition> wanted;               // missing or building
  std::vector<std::string> missing;                  // tables
  std::vector<std::string> extra;                    // tables that no definition declares, and that stay
  std::vector<std::string> dropped;                  // those that are dropped
  std::map<std::string, std::uint64_t> generations;  // of the tables that no definition declares
};

// Throws for the first index that apply cannot make what the folder declares.
void refuse(const DeclaredIndex& index, const std::string& file) {
  if (index.kind == Kind::different) {
    Error::Context context = {{"index", index.table}, {"file", file}};
    for (const std::string& difference : index.differences) {
      context.emplace_back("difference", difference);
    }
    throw Error(ErrorCode::bad_definition, "index exists with another definition; nothing was changed",
                std::move(context),
                fmt::format("run `looseleaf drop-index {}` and then this command again, or give the new index another "
                            "name",
                            index.table));
  }
  if (index.kind == Kind::dropping) {
    throw Error(ErrorCode::bad_index, "an index with this name is being dropped; nothing was changed",
                {{"index", index.table}, {"file", file}},
                fmt::format("run `looseleaf drop-index {}` to finish that first", index.table));
  }
}

Work find_work(const Datastore& store, const DefinitionFolder& folder) {
  Work work;
  for (const DeclaredIndex& index : store.compare_definitions(folder.definitions)) {
    const auto file = folder.files.find(index.table);
    if (file == folder.files.end()) {
      work.extra.push_back(index.table);
      work.generations.emplace(index.table, index.generation);
      continue;
    }
    refuse(index, file->second);
    if (index.kind == Kind::missing) {
      work.missing.push_back(index.table);
    }
    if (index.kind != Kind::equal) {
      work.wanted.push_back(*std::find_if(folder.definitions.begin(), folder.definitions.end(),
                                          [&](const auto& definition) { return definition.table == index.table; }));
    }
  }
  return work;
}

// Leaves out what is not to be dropped any more. While others were filled, another process may have dropped some, or
// made other indexes of the same names, which stay.
void look_again(const Datastore& store, const DefinitionFolder& folder, Work& work) {
  const std::vector<std::string> agreed = std::exchange(work.dropped, {});
  for (const DeclaredIndex& index : store.compare_definitions(folder.definitions)) {
    if (std::find(agreed.begin(), agreed.end(), index.table) == agreed.end()) {
      continue;
    }
    if (work.generations.at(index.table) == index.generation) {
      work.dropped.push_back(index.table);
    } else {
      work.extra.push_back(index.table);
      print_warning("not dropped, because another process has created an index of this name meanwhile",
                    {{"index", index.table}}, "run the command again if this one is to be dropped, too");
    }
  }
}

void print_result(const ApplyArguments& options, const DefinitionFolder& folder, const Work& work, const Json& created,
                  const Globals& globals) {
  if (!globals.json()) {
    return;
  }
  Json summary = {{"indexes", folder.definitions.size()},
                  {"dry_run", options.dry_run},
                  {"created", work.missing},
                  {"extra", work.extra},
                  {"dropped", work.dropped}};
  summary.update(created);
  print_summary(summary);
}

// Says which indexes are extra and stay, or that there was nothing to do.
void print_notes(const ApplyArguments& options, const DefinitionFolder& folder, const Work& work) {
  if (!options.prune) {
    for (const std::string& table : work.extra) {
      print_note(fmt::format("{} is active, but no definition declares it; `--prune` drops it", table));
    }
  }
  if (!options.dry_run && work.wanted.empty() && work.dropped.empty() && (!options.prune || work.extra.empty())) {
    print_note(fmt::format("nothing to do: {} active as declared",
                           counted(folder.definitions.size(), "index is", "indexes are")));
  }
}

ExitStatus print_dry_run(const ApplyArguments& options, const DefinitionFolder& folder, const Work& work,
                         const Datastore& store, const Globals& globals) {
  print_plans(store, work.wanted, globals);
  if (!globals.json()) {
    if (!work.wanted.empty()) {
      print_line("-- then those of these indexes that are building are filled");
    }
    if (!work.dropped.empty()) {
      print_line(fmt::format("-- then these are dropped: {}", fmt::join(work.dropped, ", ")));
    }
  }
  Json building = Json::array();
  for (const IndexDefinition& definition : work.wanted) {
    building.push_back(definition.table);
  }
  const auto sample = store.count_sample(work.wanted);
  print_result(options, folder, work, {{"building", building}, {"indexing", json_of(sample)}}, globals);
  print_indexing(sample, {.planned = true});
  print_notes(options, folder, work);
  return ExitStatus::done;
}

ExitStatus run(const ApplyArguments& options, const Globals& globals) {
  const bool asks = options.prune && !options.yes && !options.dry_run;
  const DefinitionFolder folder = load_definition_folder(options.folder);
  Datastore store = open_store(globals);
  Work work = find_work(store, folder);
  if (options.prune) {
    work.dropped = std::exchange(work.extra, {});
  }
  if (asks) {
    require_someone_to_ask(work.dropped);
  }
  if (options.dry_run) {
    return print_dry_run(options, folder, work, store, globals);
  }
  if (asks && !work.dropped.empty() && !agrees_to_drop(work.dropped)) {
    print_result({}, folder, {.wanted = {}, .missing = {}, .extra = work.dropped, .dropped = {}, .generations = {}},
                 {{"building", Json::array()}}, globals);
    print_note("nothing was changed");
    return ExitStatus::negative;
  }
  const Created created = create_and_fill(store, work.wanted, &options.throttle, globals);
  if (!created.all_ready && !work.dropped.empty()) {
    print_warning("not dropped, because an index that may replace them is not ready",
                  {{"indexes", fmt::format("{}", fmt::join(work.dropped, ", "))}},
                  "make it ready, as said above, and run the command again");
    work.extra = std::exchange(work.dropped, {});
  }
  if (!work.dropped.empty()) {
    look_again(store, folder, work);
  }
  drop_indexes(store, work.dropped, {}, globals);
  print_result(options, folder, work, created.summary, globals);
  print_notes(options, folder, work);
  return created.status;
}

}  // namespace

Command apply_command() {
  const auto options = std::make_shared<ApplyArguments>();
  Command command;
  command.name = "apply";
  command.summary = "make the active indexes those that a folder of definitions declares";
  command.parameters = {
      {.name = "DIR",
       .help = "the folder of definitions: its files `*.json`, but not `*.schema.json`",
       .target = &options->folder,
       .required = true},
      {.name = "--prune",
       .help = "at the end, drop the indexes that no definition in the folder declares",
       .target = &options->prune,
       .details = "On a terminal the command asks for confirmation, before it changes anything; elsewhere it needs "
                  "`--yes`."},
      {"--yes", "", "do not ask for confirmation", &options->yes},
      {.name = "--dry-run",
       .help = "print what would be done, and change nothing",
       .target = &options->dry_run,
       .details = "The SQL, and what would have rows, are those of `create-index --dry-run`."},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "This creates the indexes that are missing and fills those that are building. It shows the indexes that no "
      "definition declares, and drops them only with `--prune`. If an active index has another definition than the "
      "folder, the command ends before it changes anything: drop that index first, because a definition cannot be "
      "changed in place.",
      "You may repeat the command: it continues what was interrupted, and changes nothing if all is as declared. All "
      "shards must be up."};
  command.examples = {
      {"Show what would be done", "looseleaf apply schemas/friendfeed --dry-run"},
      {"Create and fill what is missing, without haste", "looseleaf apply schemas/friendfeed --max-lag 10"},
      {"Also drop what is not declared", "looseleaf apply schemas/friendfeed --prune --yes"}};
  command.see_also = {"diff", "create-index", "backfill", "drop-index"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
