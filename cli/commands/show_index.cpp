// looseleaf show-index: show indexes with their definitions.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/report/status_report.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct ShowIndexArguments {
  std::vector<std::string> tables;
};

std::vector<IndexGroup> groups_of(const std::string& table, const std::vector<IndexGroup>& groups) {
  std::vector<IndexGroup> found;
  for (const IndexGroup& group : groups) {
    if (group.index.table == table) {
      found.push_back(group);
    }
  }
  return found;
}

std::string sharding_of(const IndexGroup& group) {
  const std::string name = shard_on_of(group.definition);
  return name.empty() ? "local: rows are on the shard of their entity" : fmt::format("rows are placed by `{}`", name);
}

void print_as_json(const IndexGroup& group, const std::vector<std::uint32_t>& unknown) {
  const std::string shard_on = shard_on_of(group.definition);
  print_json({{"table", group.index.table},
              {"state", to_string(group.index.state)},
              {"generation", std::to_string(group.index.generation)},
              {"since", group.index.since},
              {"shard_on", shard_on.empty() ? Json(nullptr) : Json(shard_on)},
              {"shards", group.shards},
              {"unknown", unknown},
              {"definition", Json::parse(group.index.definition, nullptr, false)}});
}

void print_as_text(const IndexGroup& group, std::size_t unknown) {
  print_line("index       " + group.index.table);
  print_line("state       " + to_string(group.index.state));
  print_line(fmt::format("generation  {}", group.index.generation));
  print_line(fmt::format("since       {} UTC", to_seconds(group.index.since)));
  print_line("sharding    " + sharding_of(group));
  print_line("table       " + group.index.table);
  print_line("shards      " + shards_text(group.shards, unknown));
  print_line("definition");
  print_lines(Json::parse(group.index.definition, nullptr, false).dump(2));
}

void print_group(const IndexGroup& group, const std::vector<std::uint32_t>& unknown, bool first,
                 const Globals& globals) {
  if (globals.json()) {
    print_as_json(group, unknown);
    return;
  }
  if (!first) {
    print_line("");
  }
  print_as_text(group, unknown.size());
}

ExitStatus run(const ShowIndexArguments& options, const Globals& globals) {
  const Datastore store = open_store(globals);
  const Status status = store.status();
  const std::vector<IndexGroup> groups = group_indexes(status);
  const std::vector<std::uint32_t> unknown = unknown_shards(status);
  std::map<std::string, std::vector<IndexGroup>> found;
  for (const std::string& table : options.tables) {
    found[table] = groups_of(table, groups);
    if (found[table].empty() && unknown.empty()) {
      store.require_indexes({table});  // throws, with the nearest name
      throw Error(
          ErrorCode::bad_index, "a creation or a drop of the index was interrupted", {{"index", table}},
          fmt::format("run the interrupted command again; `looseleaf drop-index {}` removes what is left of either",
                      table));
    }
  }
  std::size_t shown = 0;
  for (const std::string& table : options.tables) {
    for (const IndexGroup& group : found[table]) {
      print_group(group, unknown, shown++ == 0, globals);
    }
    if (found[table].empty()) {
      print_warning("no shard that answers has the index", {{"index", table}});
    }
  }
  if (globals.json()) {
    print_summary({{"indexes", shown}, {"unknown", unknown}});
  }
  return report_errors(status);
}

}  // namespace

Command show_index_command() {
  const auto options = std::make_shared<ShowIndexArguments>();
  Command command;
  command.name = "show-index";
  command.summary = "show indexes with their definitions";
  command.parameters = {{.name = "TABLE", .help = "the indexes to show", .target = &options->tables, .required = true}};
  command.details = {
      "This prints an index's state, its generation (the random number that it got when it was created), the time of "
      "its last change of state, how its rows are placed, its table, the shards that have it, and its definition. If "
      "shards disagree about an index, it is shown once for each variant.",
      "If a shard is down, the others are shown and the exit status is 3, as with `status`."};
  command.examples = {
      {"Show an index", "looseleaf show-index index_user_id"},
      {"Write its definition to a file",
       "looseleaf show-index index_user_id --output json | head -n 1 | jq .definition > index_user_id.json"}};
  command.see_also = {"status", "diff"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
