// looseleaf changes: print what has changed, and wait for more.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/feed_options.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

struct ChangesArguments {
  FeedArguments feed;
  bool follow = false;
};

// Prints the position unless it is the last that was printed.
bool print_position(const std::string& position, std::string& last) {
  return std::exchange(last, position) == position || print_json({{"position", position}});
}

// False once standard output was closed.
bool print(const ChangeBatch& batch, std::string& last_position, FailureDigest& unreadables) {
  bool wanted = true;
  for (const Change& change : batch.changes) {
    wanted = wanted && print_line(line_of(change));
    if (change.kind == Change::Kind::unreadable) {
      unreadables.add(unreadable(change));
    }
  }
  wanted = wanted && print_position(batch.position(), last_position);
  return wanted && data_output().flush();
}

void print_end(const FeedReport& report, const Globals& globals, std::string& last_position) {
  if (globals.json()) {
    print_summary({{"stored", report.stored},
                   {"deleted", report.deleted},
                   {"no_match", report.no_match},
                   {"unreadable", report.unreadable},
                   {"position", report.position}});
  } else {
    print_position(report.position, last_position);
  }
}

ExitStatus run(const ChangesArguments& options, const Globals& globals) {
  ChangesOptions changes;
  set_feed_options(changes, options.feed);
  changes.follow = options.follow;
  changes.on_failure = tell_of_failure;
  if (options.follow) {  // it would notice a closed pipe only at the next change
    changes.stop = [] { return stop_requested() || data_output().reader_is_gone(); };
  }
  const Datastore store = open_store(globals, options.follow ? Waits::told_by_failure : Waits::warned_of);
  const Drain drain;
  bool wanted = true;
  std::string last_position;
  FailureDigest unreadables("entities", printed_of_a_kind(globals));
  FeedReport report;
  const auto on_batch = [&](const ChangeBatch& batch) {
    wanted = print(batch, last_position, unreadables);
    return wanted;
  };
  try {
    store.changes(changes, on_batch, report);
  } catch (const Error&) {
    unreadables.finish();  // before the end
    if (!report.position.empty()) {
      print_end(report, globals, last_position);
    }
    throw;
  }
  if (!wanted) {  // standard output was closed
    return ExitStatus::done;
  }
  unreadables.finish();
  print_end(report, globals, last_position);
  if (stop_requested()) {
    return exit_status_of_signal(stop_signal());
  }
  return report.unreadable == 0 ? ExitStatus::done : ExitStatus::failed;
}

}  // namespace

Command changes_command() {
  const auto options = std::make_shared<ChangesArguments>();
  Command command;
  command.name = "changes";
  command.summary = "print what has changed after a position, and wait for more";
  add_feed_parameters(command, options->feed, "where to begin: a position, `beginning` or `now`; default `beginning`",
                      "`beginning` prints all entities, and then everything that changes.");
  command.parameters.insert(
      command.parameters.begin(),
      {.name = "--follow",
       .help = "continue until stopped, and print changes within about a second",
       .target = &options->follow,
       .details = "A shard that fails is reported once, and tried again every second; the others go on."});
  command.details = {
      "Every line is a JSON object. A change has the `id`, the `shard`, the `stamp` of the version, and either the "
      "`entity`, or `\"deleted\": true`, or with `--where` `\"matches\": false`, or for a damaged entity `unreadable` "
      "with the reason. After the changes of a batch, `{\"position\": POSITION}` says where another run can continue. "
      "Store the changes of a batch before its position.",
      "Only the latest version of each entity is printed, at least once. The stamps of an entity increase, so a reader "
      "that sees a change twice keeps the one with the greater stamp. If an entity cannot be read, an error names it, "
      "too, "
      "and the exit status is 3.",
      "If a shard has lost changes that were printed (it was restored from an older copy), or if deletes were purged "
      "that were not printed (after a day), the command fails with exit status 2 and says what to do. So does "
      "`--follow` once everything of a store was printed that has moved to another cluster."};
  command.examples = {{"Print everything, and follow", "looseleaf changes --follow"},
                      {"Continue where the last run ended", "looseleaf changes --after @position.txt"}};
  command.see_also = {"export", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
