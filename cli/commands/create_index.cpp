// looseleaf create-index: create what index definitions declare.
#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <string>

#include "cli/commands/backfill_job.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/files/definitions.hpp"
#include "cli/report/indexing_report.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  bool dry_run = false;
  bool backfill = false;
  Throttle throttle;
};

// Prints line by line, because a terminal would show a line break within a line escaped.
void print_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    print_line(line);
  }
}

void print_step(const std::string& table, const CreatePlan::Step& step, const Globals& globals) {
  if (globals.json()) {
    print_json({{"table", table}, {"shards", step.shards}, {"sql", step.sql}, {"note", step.note}});
    return;
  }
  const std::string shards =
      fmt::format("-- {} {}", step.shards.size() == 1 ? "shard" : "shards", comma_separated(step.shards));
  if (step.sql.empty()) {
    print_line(fmt::format("{}: {}, {}", shards, table, step.note));
  } else {
    print_line(shards);
    print_lines(step.sql);
    print_line(fmt::format("-- {}: {}", table, step.note));
  }
}

ExitStatus print_plans(const Datastore& store, const std::vector<IndexDefinition>& definitions,
                       const Globals& globals) {
  const auto plans = store.plan_indexes(definitions);
  for (const auto& plan : plans) {
    for (const auto& step : plan.steps) {
      print_step(plan.table, step, globals);
    }
  }
  const auto sample = store.count_sample(definitions);
  if (globals.json()) {
    print_summary({{"indexes", plans.size()}, {"indexing", json_of(sample)}});
  }
  print_indexing(sample, {.quiet = globals.quiet, .planned = true});
  return ExitStatus::done;
}

void print_report(const CreateReport& report, bool to_be_filled, const Globals& globals) {
  if (globals.json()) {
    print_json({{"table", report.table}, {"created", report.created}, {"state", to_string(report.state)}});
  }
  if (globals.quiet) {
    return;
  }
  const bool hint = report.state == IndexState::building && !to_be_filled;
  const auto done = report.created ? "created " + report.table : report.table + " is already active";
  print_note(fmt::format("{}: {}{}", done, to_string(report.state),
                         hint ? fmt::format("; run `looseleaf backfill {}`", report.table) : ""));
}

ExitStatus run(const Options& options, const Globals& globals) {
  if (options.dry_run && options.backfill) {
    throw Error(ErrorCode::usage, "--dry-run and --backfill cannot be combined", {},
                "give --dry-run first, and --backfill once the SQL is what you want");
  }
  const std::vector<IndexDefinition> definitions = load_definitions(options.files);
  Datastore store = open_store(globals);
  if (options.dry_run) {
    return print_plans(store, definitions, globals);
  }
  const std::vector<CreateReport> reports = store.create_indexes(definitions);
  BackfillOptions filling;
  filling.throttle = options.throttle;
  for (const auto& report : reports) {
    print_report(report, options.backfill, globals);
    if (report.state == IndexState::building) {
      filling.tables.push_back(report.table);
    }
  }
  Json summary = {{"indexes", reports.size()}, {"building", filling.tables}};
  if (options.backfill && !filling.tables.empty()) {
    const BackfillReport report = backfill(store, filling, globals);
    summary["building"] = Json::array();
    summary.update(to_json(report));
  }
  if (globals.json()) {
    print_summary(summary);
  }
  return ExitStatus::done;
}

}  // namespace

Command create_index_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "create-index";
  command.summary = "create the index tables that definition files declare, on every shard";
  command.parameters = {
      {.name = "FILE",
       .value = "",
       .help = "index definitions, or folders of them",
       .target = &options->files,
       .required = true,
       .details = "A definition is a JSON object with `table`, `properties`, and optionally `shard_on`, `where` and "
                  "`immutable`. A folder stands for its files `*.json`, but not `*.schema.json`."},
      {"--dry-run", "", "print the SQL and change nothing", &options->dry_run},
      {"--backfill", "", "fill the indexes at once", &options->backfill},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "This activates the definitions: from then on every put maintains the indexes. On a store without entities an "
      "index is ready at once; otherwise it is building until it is filled.",
      "You may repeat the command: it does not change active definitions, and it completes what a crash left half "
      "done. All shards must be up."};
  command.examples = {
      {"Print the SQL without running it", "looseleaf create-index --dry-run index_user_id.json"},
      {"Create and fill two indexes", "looseleaf create-index index_user_id.json index_link.json --backfill"},
      {"Create what a folder declares", "looseleaf create-index schemas/friendfeed"}};
  command.see_also = {"backfill", "drop-index"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
