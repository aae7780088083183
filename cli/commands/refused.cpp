// looseleaf refused: list, retry and drop buffered writes that could not be stored.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/flush_job.hpp"
#include "cli/files/files.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct RefusedArguments {
  std::string action;
  std::vector<std::string> ids;
  bool all = false, texts = false;
};

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::usage, what, {}, hint);
}

std::vector<Uuid> check(const RefusedArguments& options, const Globals& globals) {
  const bool lists = options.action == "list";
  if (lists && (options.all || !options.ids.empty())) {
    refuse("`refused list` takes no ids and no --all", "leave them out; it shows all refused writes");
  }
  if (globals.json() && options.texts) {
    refuse("--texts and --output json exclude each other", "leave one out: with --output json, each line has a `text`");
  }
  if (!lists && options.texts) {
    refuse("--texts is for `refused list` only", "leave it out");
  }
  if (!lists && options.all == !options.ids.empty()) {
    refuse(options.all ? "--all and ids exclude each other" : "no writes are named",
           fmt::format("give ids, or --all: `looseleaf refused {} --all`", options.action));
  }
  return parse_ids(options.ids);
}

void print(const RefusedWrite& write, const RefusedArguments& options, const Globals& globals) {
  if (globals.json()) {
    print_json(
        {{"id", to_string(write.id)}, {"accepted", write.accepted}, {"reason", write.reason}, {"text", write.text}});
  } else if (options.texts) {
    print_line(write.text);
  } else {
    print_line(fmt::format("{}  {}  {}", to_string(write.id), write.accepted, write.reason));
  }
}

ExitStatus list(const Datastore& store, const RefusedArguments& options, const Globals& globals) {
  std::uint64_t count = 0;
  store.list_refused([&](const RefusedWrite& write) {
    ++count;
    print(write, options, globals);
    return data_output().flush();
  });
  if (globals.json()) {
    print_summary({{"refused", count}});
  } else if (count == 0) {
    print_note("no write is refused");
  }
  return ExitStatus::done;
}

// Returns the number of writes that were meant. Adds the ids that no refused write has to `unknown`.
std::uint64_t retry_or_drop(Datastore& store, const RefusedArguments& options, const std::vector<Uuid>& ids,
                            std::vector<Uuid>& unknown) {
  if (options.action == "retry") {
    return options.all ? store.retry_all_refused() : store.retry_refused(ids, &unknown);
  }
  return options.all ? store.drop_all_refused() : store.drop_refused(ids, &unknown);
}

ExitStatus run(const RefusedArguments& options, const Globals& globals) {
  const std::vector<Uuid> ids = check(options, globals);
  Datastore store = open_store(globals);
  if (options.action == "list") {
    return list(store, options, globals);
  }
  const bool retries = options.action == "retry";
  std::vector<Uuid> unknown;
  std::uint64_t count = 0;
  try {
    count = retry_or_drop(store, options, ids, unknown);
  } catch (const Error& error) {
    // What the shards that answer had is buffered again. The flush names those that do not.
    if (retries && error.code() == ErrorCode::unavailable && flush_and_report(store, globals) == ExitStatus::failed) {
      return ExitStatus::failed;
    }
    throw;
  }
  if (count == 0 && !options.all) {
    throw Error(ErrorCode::refused, "no refused write has this id",
                {{"ids", fmt::format("{}", fmt::join(options.ids, ", "))}},
                "`looseleaf refused list` shows those that there are");
  }
  for (const Uuid& id : unknown) {
    print_warning("no refused write has this id", {{"id", to_string(id)}},
                  "`looseleaf refused list` shows those that there are");
  }
  const ExitStatus done = unknown.empty() ? ExitStatus::done : ExitStatus::negative;
  if (retries) {
    return stronger(flush_and_report(store, globals), done);
  }
  if (globals.json()) {
    print_summary({{"dropped", count}});
  }
  print_note("dropped " + counted(count, "refused write", "refused writes"));
  return done;
}

}  // namespace

Command refused_command() {
  const auto options = std::make_shared<RefusedArguments>();
  Command command;
  command.name = "refused";
  command.summary = "list, retry or drop buffered writes that could not be stored";
  command.parameters = {
      {.name = "ACTION",
       .help = "what to do",
       .target = &options->action,
       .choices = {"list", "retry", "drop"},
       .required = true},
      {.name = "ID", .help = "with `retry` and `drop`: the entities that are meant", .target = &options->ids},
      {.name = "--all", .help = "with `retry` and `drop`: all refused writes", .target = &options->all},
      {.name = "--texts",
       .help = "with `list`: print the entities that were refused, as `put` takes them",
       .target = &options->texts},
  };
  command.details = {
      "`put --buffer` accepts entities while a server is down. If such an entity cannot be stored later, because its "
      "id exists with another text, for example, it is kept here until you decide.",
      "`list` prints a line for each: the id, when it was accepted (UTC), and why it was refused. `retry` lets `flush` "
      "try again, and flushes; it has the output and the exit status of `flush`. `drop` forgets all refused writes of "
      "these ids for "
      "good. "
      "An id that no refused write has is named, and the exit status is 1."};
  command.examples = {
      {"See what was refused", "looseleaf refused list"},
      {"Replace what is stored by what was refused",
       "looseleaf refused list --texts > refused.jsonl\nlooseleaf put refused.jsonl && looseleaf refused retry --all"},
      {"Try again, after the cause is gone", "looseleaf refused retry --all"}};
  command.see_also = {"put", "flush", "status"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
