// looseleaf changes: print what has changed, and wait for more.
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
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

// Prints changes, and positions between them. With many shards, a position is much longer than the changes of a batch.
// Then it is printed once the changes since the last one are as long as that, but at the latest about a second later.
class Printer {
 public:
  explicit Printer(FailureDigest& unreadables) : unreadables_(unreadables) {}

  // False once standard output was closed.
  bool print(const ChangeBatch& batch) {
    const std::lock_guard lock(mutex_);
    for (const Change& change : batch.changes) {
      const std::string line = line_of(change);
      wanted_ = wanted_ && print_line(line);
      since_position_ += line.size();
      if (change.kind == Change::Kind::unreadable) {
        unreadables_.add(unreadable(change));
      }
    }
    owed_ = batch.position;
    print_owed(since_position_ + short_position >= last_.size());
    wanted_ = wanted_ && data_output().flush();
    return wanted_;
  }

  // Call it from time to time, from any thread: nobody knows when the next batch comes.
  void print_late() {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {  // the reader of a pipe may be slow
      print_owed(false);
    }
  }

  void print_end(const FeedReport& report, const Globals& globals) {
    const std::lock_guard lock(mutex_);
    if (globals.json()) {
      print_summary({{"stored", report.stored},
                     {"deleted", report.deleted},
                     {"no_match", report.no_match},
                     {"unreadable", report.unreadable},
                     {"position", report.position}});
    } else {
      print_position(report.position);
    }
  }

  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  void print_owed(bool now) {
    if (owed_ && (now || std::chrono::steady_clock::now() >= printed_at_ + longest_wait)) {
      print_position(std::exchange(owed_, nullptr)());
    }
  }

  // Prints it unless it is the last that was printed.
  void print_position(const std::string& position) {
    wanted_ = wanted_ && (position == last_ || print_json({{"position", position}}));
    last_ = position;
    since_position_ = 0;
    printed_at_ = std::chrono::steady_clock::now();
  }

  static constexpr auto longest_wait = std::chrono::seconds(1);
  static constexpr std::size_t short_position = 1000;  // bytes; it is printed after every batch

  FailureDigest& unreadables_;
  std::mutex mutex_;  // guards the members below, and calls of unreadables_
  bool wanted_ = true;
  std::string last_;
  std::size_t since_position_ = 0;     // bytes of changes
  std::function<std::string()> owed_;  // of the last batch; null if it is printed
  std::chrono::steady_clock::time_point printed_at_;
};

ExitStatus run(const ChangesArguments& options, const Globals& globals) {
  ChangesOptions changes;
  set_feed_options(changes, options.feed);
  changes.follow = options.follow;
  changes.on_failure = tell_of_failure;
  const Datastore store = open_store(globals, options.follow ? Waits::told_by_failure : Waits::warned_of);
  const Drain drain;
  FailureDigest unreadables("entities", printed_of_a_kind(globals));
  Printer printer(unreadables);
  if (options.follow) {
    changes.stop = [&printer] {
      printer.print_late();
      return stop_requested() || data_output().reader_is_gone();  // otherwise it would notice that at the next change
    };
  }
  FeedReport report;
  try {
    store.changes(
        changes, [&](const ChangeBatch& batch) { return printer.print(batch); }, report);
  } catch (const Error&) {
    unreadables.finish();  // before the end
    if (!report.position.empty()) {
      printer.print_end(report, globals);
    }
    throw;
  }
  if (!printer.wanted()) {  // standard output was closed
    return ExitStatus::done;
  }
  unreadables.finish();
  printer.print_end(report, globals);
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
      "with the reason. After the changes of a batch, `{\"position\": POSITION}` says where another run can continue; "
      "with many shards, after those of several batches. "
      "Store the changes before the position that follows them.",
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
