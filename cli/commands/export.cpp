// looseleaf export: print every entity.
#include <fmt/format.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/feed_options.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/fields.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct ExportArguments {
  FeedArguments feed;
  bool ids = false;
  std::optional<std::string> fields;
};

// False once standard output was closed.
bool print(const Change& change, const ExportArguments& options, const Globals& globals, EntityPrinter& printer,
           FailureDigest& unreadables) {
  if (change.kind == Change::Kind::unreadable) {
    unreadables.add(unreadable(change));
    return true;
  }
  if (!options.ids) {
    return printer.print(change.text);
  }
  return globals.json() ? print_json({{"id", to_string(change.id)}}) : print_line(to_string(change.id));
}

void print_end(const FeedReport& report, const Globals& globals) {
  if (globals.json()) {
    print_summary({{"entities", report.stored}, {"unreadable", report.unreadable}, {"position", report.position}});
    return;
  }
  if (!data_output().flush()) {
    return;  // nobody has read what the position is behind
  }
  if (globals.verbose) {
    print_note(fmt::format("printed {}", counted(report.stored, "entity", "entities")));
  }
  print_plain("position: " + report.position + "\n");
}

ExitStatus run(const ExportArguments& options, const Globals& globals) {
  if (options.ids && options.fields) {
    throw Error(ErrorCode::usage, "--fields and --ids cannot be combined", {},
                "leave out one of them; --fields id prints ids, too");
  }
  EntityPrinter printer(options.fields, globals);
  FeedOptions feed;
  set_feed_options(feed, options.feed);
  const Datastore store = open_store(globals);
  const Drain drain;
  bool wanted = true;
  FailureDigest unreadables("entities", printed_of_a_kind(globals));
  FeedReport report;
  const auto on_batch = [&](const ChangeBatch& batch) {
    for (const Change& change : batch.changes) {
      wanted = wanted && print(change, options, globals, printer, unreadables);
    }
    return wanted;
  };
  try {
    store.export_entities(feed, on_batch, report);
  } catch (const Error& error) {
    unreadables.finish();
    if (report.position.empty()) {
      throw;
    }
    const ExitStatus status = exit_status_of(error.code(), stop_signal());
    print_error(error, status);
    print_end(report, globals);  // the last line has the position
    return status;
  }
  if (!wanted) {  // standard output was closed, and nobody knows how much was read
    return ExitStatus::done;
  }
  unreadables.finish();
  printer.finish();
  print_end(report, globals);
  if (stop_requested()) {
    return exit_status_of_signal(stop_signal());
  }
  return report.unreadable == 0 ? ExitStatus::done : ExitStatus::failed;
}

}  // namespace

Command export_command() {
  const auto options = std::make_shared<ExportArguments>();
  Command command;
  command.name = "export";
  command.summary = "print every entity, one per line";
  add_feed_parameters(command, options->feed, "continue an export that was interrupted",
                      "Give the position that the export printed at its end.");
  command.parameters.push_back(fields_parameter(options->fields));
  command.parameters.push_back({"--ids", "", "print ids only", &options->ids});
  command.details = {
      "Entities are printed as they were stored, in no order, so that `looseleaf put` can read them. The output is not "
      "a snapshot: writes may continue. Every entity that exists throughout is printed, and only once.",
      "The last line on standard error is `position: POSITION`; with `--output json` the summary has it. "
      "`looseleaf changes --after POSITION` prints what has changed since the export began, so both together are "
      "complete.",
      "If an entity cannot be read, an error names it, the others are printed, and the exit status is 3."};
  command.examples = {{"Write all entities to a file", "looseleaf export > entities.jsonl"},
                      {"Write some fields to a file for a spreadsheet",
                       "looseleaf export --fields id,title,author.name --output csv > entities.csv"},
                      {"Copy a store", "looseleaf export | looseleaf put --cluster other.json"}};
  command.prints_csv = true;
  command.see_also = {"changes", "put", "get"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
