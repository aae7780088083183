// looseleaf trigger: run a command for every change, and see, reset and drop what does so.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/consumer.hpp"
#include "cli/commands/feed_options.hpp"
#include "cli/commands/where_option.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/trigger_metrics.hpp"
#include "cli/report/trigger_report.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct TriggerArguments {
  std::string action, name;
  std::vector<std::string> command;
  std::optional<std::string> after;
  std::vector<std::string> where;
  std::optional<std::uint64_t> batch, command_timeout;
  std::string metrics_file;
  bool force = false;

  [[nodiscard]] std::optional<std::string> position() const {
    return after ? std::optional(position_of(*after)) : std::nullopt;
  }
};

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::usage, what, {}, hint);
}

// Checks which options and arguments fit the action.
void check(const TriggerArguments& options) {
  const bool runs = options.action == "run", lists = options.action == "list", resets = options.action == "reset";
  if (options.name.empty() != lists) {
    refuse(lists ? "`trigger list` takes no name" : "the name of the trigger is missing",
           lists ? "leave the name out; it shows all triggers"
                 : fmt::format("run `looseleaf trigger {} NAME{}`", options.action, runs ? " -- COMMAND..." : ""));
  }
  if (!runs && !options.command.empty()) {
    refuse(fmt::format("`trigger {}` takes one name", options.action),
           "run it once for each trigger; a command is for `trigger run` only");
  }
  if (runs && options.command.empty()) {
    refuse("the command is missing", "run `looseleaf trigger run NAME -- COMMAND...`");
  }
  if (!runs && (!options.where.empty() || options.batch || options.command_timeout || !options.metrics_file.empty())) {
    refuse("--where, --batch, --command-timeout and --metrics-file are for `trigger run` only", "leave them out");
  }
  if (options.after && !runs && !resets) {
    refuse("--after is for `trigger run` and `trigger reset` only", "leave it out");
  }
  if (options.force && (runs || lists)) {
    refuse("--force is for `trigger reset` and `trigger drop` only", "leave it out");
  }
}

// Gives the command its batches, and tells when it begins and ends to fail.
class Delivery {
 public:
  Delivery(const TriggerArguments& options, const Globals& globals)
      : consumer_(
            options.command,
            options.command_timeout ? std::optional(std::chrono::seconds(*options.command_timeout)) : std::nullopt,
            "the batch is repeated until the command exits with status 0"),
        unreadables_("entities", printed_of_a_kind(globals)) {}

  // Throws Error if the command has not taken the changes.
  void operator()(std::span<const Change> changes) {
    std::string lines;
    for (const Change& change : changes) {
      lines += line_of(change) + '\n';
    }
    static_cast<void>(data_output().flush());
    try {
      consumer_.run(lines);
    } catch (const Error& error) {
      tell(error);
      throw;
    }
    if (failures_ > 0) {
      print_always(fmt::format("the command works again after {}", counted(failures_, "failure", "failures")));
    }
    failures_ = 0;
    told_.reset();
    for (const Change& change : changes) {
      if (change.kind == Change::Kind::unreadable) {
        unreadables_.add(unreadable(change));
      }
    }
  }

 private:
  // Tells each kind of failure once.
  void tell(const Error& error) {
    ++failures_;
    const std::pair kind(std::string(error.what()), error.context());
    if (told_ != kind) {
      print_warning(error.what(), error.context(), error.hint());
    }
    told_ = kind;
  }

  const Consumer consumer_;
  FailureDigest unreadables_;
  std::uint64_t failures_ = 0;  // since the command worked last
  std::optional<std::pair<std::string, Error::Context>> told_;
};

ExitStatus run_trigger(const TriggerArguments& options, const Globals& globals) {
  TriggerOptions trigger{.name = options.name,
                         .after = options.position(),
                         .where = filters_of(options.where),
                         .batch = options.batch.value_or(TriggerOptions().batch),
                         .stop = stop_requested,
                         .on_failure = tell_of_failure};
  const Datastore store = open_store(globals, Waits::told_by_failure);
  const Drain drain;
  std::optional<TriggerMetrics> metrics;
  if (!options.metrics_file.empty()) {
    metrics.emplace(store, options.name, options.metrics_file);
  }
  std::optional<std::vector<std::uint32_t>> shards;
  trigger.on_progress = [&](const TriggerReport& report) {
    if (shards != report.shards && !stop_requested()) {
      print_note(report.shards.empty() ? "reading no shard; other processes read them"
                                       : "reading " + counted(report.shards.size(), "shard", "shards") + ": " +
                                             comma_separated(report.shards));
    }
    shards = report.shards;
    if (metrics) {
      metrics->update(report);
    }
  };
  TriggerReport report;
  {
    Delivery delivery(options, globals);  // it ends by telling of the entities that were not named
    report = store.run_trigger(trigger, [&](std::span<const Change> changes) {
      delivery(changes);
      return true;
    });
  }
  if (globals.json()) {
    print_summary({{"delivered", report.delivered}, {"failures", report.failures}});
  }
  print_note(fmt::format("delivered {}", counted(report.delivered, "change", "changes")));
  return stop_requested() ? exit_status_of_signal(stop_signal()) : ExitStatus::done;
}

ExitStatus list_triggers(const Globals& globals) {
  const Datastore store = open_store(globals);
  std::map<std::uint32_t, Error> down;
  const std::vector<TriggerStatus> triggers = store.triggers(&down);
  const auto unknown = std::views::keys(down);
  print_triggers(triggers, {unknown.begin(), unknown.end()}, globals);
  if (triggers.empty() && down.empty()) {
    print_note("there is no trigger");
  }
  ExitStatus status = ExitStatus::done;
  for (auto& [shard, error] : down) {
    print_error(error.with("shard", std::to_string(shard)));
    status = stronger(status, exit_status_of(error.code(), 0));
  }
  return status;
}

ExitStatus change_trigger(const TriggerArguments& options, const Globals& globals) {
  const bool resets = options.action == "reset";
  const std::string after = options.position().value_or("beginning");
  Datastore store = open_store(globals);
  if (resets) {
    store.reset_trigger(options.name, after, options.force);
  } else {
    store.drop_trigger(options.name, options.force);
  }
  if (globals.json()) {
    print_summary({{"trigger", options.name}, {"dropped", !resets}});
  }
  print_note(resets ? options.name + " begins again" : "dropped " + options.name);
  return ExitStatus::done;
}

ExitStatus run(const TriggerArguments& options, const Globals& globals) {
  check(options);
  if (options.action == "run") {
    return run_trigger(options, globals);
  }
  return options.action == "list" ? list_triggers(globals) : change_trigger(options, globals);
}

void add_parameters(Command& command, TriggerArguments& options) {
  command.parameters = {
      {.name = "ACTION",
       .help = "what to do",
       .target = &options.action,
       .choices = {"run", "list", "reset", "drop"},
       .required = true,
       .details =
           "`run` runs COMMAND for every change, until a signal stops it. `list` shows all triggers: which process "
           "reads which shards, how late each is, and why its command fails. `reset` lets a trigger begin again. "
           "`drop` deletes it."},
      {.name = "NAME",
       .help = "the trigger: 1 to 64 letters, digits, `_`, `.` and `-`",
       .target = &options.name,
       .details = "`run` creates it if it does not exist."},
      {.name = "COMMAND",
       .help = "the program to run for each batch, and its arguments",
       .target = &options.command,
       .details = "Write `--` before it."},
      {.name = "--after",
       .value = "POSITION",
       .help =
           "where a new trigger begins, or one that is reset: a position, `beginning` or `now`; default `beginning`",
       .target = &options.after,
       .details = "`beginning` delivers all entities first. `@FILE` reads a position from a file. If the trigger "
                  "exists, `run` goes on where it was, and warns that this option is not used."},
      where_parameter(options.where, Explained::by_query),
      {.name = "--batch",
       .value = "N",
       .help = "changes that COMMAND gets at once, at most; default 1000",
       .target = &options.batch,
       .range = {.least = 1, .most = 1'000'000},
       .details = "A batch also ends at about 8 MiB."},
      {.name = "--command-timeout",
       .value = "S",
       .help = "end COMMAND if it runs longer than S seconds, and repeat the batch",
       .target = &options.command_timeout,
       .range = {.least = 1, .most = longest_seconds},
       .details = "It gets SIGTERM, and after 5 s SIGKILL. Without this option there is no limit."},
      {.name = "--metrics-file",
       .value = "FILE",
       .help = "keep counts and lag in a file for Prometheus' node exporter",
       .target = &options.metrics_file,
       .details = "The file is replaced as a whole every 15 s."},
      {.name = "--force", .help = "reset or drop the trigger although a process runs it", .target = &options.force},
  };
}

}  // namespace

Command trigger_command() {
  const auto options = std::make_shared<TriggerArguments>();
  Command command;
  command.name = "trigger";
  command.summary = "run a command for every change, and keep how far it has come";
  add_parameters(command, *options);
  command.details = {
      "COMMAND gets a batch of changes on its standard input, a JSON object per line as `looseleaf changes` prints "
      "them, and no positions. If it exits with status 0, the store keeps how far the trigger has come. Otherwise it "
      "gets the same batch again after 1, 2, 4, and at last every 60 seconds.",
      "Every change is delivered at least once. The stamps of an entity increase, so a command that stores the stamp "
      "and ignores a change whose stamp is not greater sees each change once, and in order.",
      "Any number of processes can run a trigger, on any hosts. They divide the shards, and if one dies, the others "
      "take over its shards within about ten seconds.",
      "The first SIGINT or SIGTERM lets COMMAND finish and stores its position; the second ends `trigger run` at once. "
      "If a shard has lost changes that were delivered (it was restored from an older copy), or deletes were purged "
      "that were not delivered, `trigger run` ends with exit status 2 and says what to do. So it does once everything "
      "of "
      "a store was delivered that has moved to another cluster."};
  command.examples = {{"Print every change", "looseleaf trigger run log -- cat"},
                      {"Keep another system up to date", "looseleaf trigger run mirror --batch 500 -- ./update-mirror"},
                      {"See how late triggers are", "looseleaf trigger list --verbose"}};
  command.see_also = {"changes", "export", "clean", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
