// looseleaf update: give entities to a command, and store what it prints.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/consumer.hpp"
#include "cli/commands/entity_names.hpp"
#include "cli/files/files.hpp"
#include "cli/report/write_report.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t most_output = 32 << 20;  // bytes that COMMAND may print; twice what an entity may have

struct UpdateArguments {
  EntityNames names;
  std::vector<std::string> command;
  std::optional<std::uint64_t> command_timeout;
};

WriteResult update(Datastore& store, const KeyWithValues& entity, const Consumer& consumer) {
  try {
    const auto change = [&](const std::string& text) {
      if (stop_requested()) {
        throw Error(ErrorCode::interrupted, "interrupted");
      }
      return consumer.answer(text + "\n", most_output);
    };
    return store.update(entity.id, change, entity.key);
  } catch (const Error& error) {
    WriteResult failed;
    failed.status = WriteStatus::failed;
    failed.id = entity.id;
    failed.error = error;
    return failed;
  }
}

ExitStatus run(const UpdateArguments& options, const Globals& globals) {
  if (options.command.empty()) {
    throw Error(ErrorCode::usage, "the command is missing", {}, "run `looseleaf update ID... -- COMMAND...`");
  }
  const bool from_input = options.names.from_input();
  const std::vector<KeyWithValues> entities = from_input ? std::vector<KeyWithValues>{} : options.names.parse();
  const Consumer consumer(
      options.command,
      options.command_timeout ? std::optional(std::chrono::seconds(*options.command_timeout)) : std::nullopt,
      "the entity stays as it is; check COMMAND, and run the same again");
  Datastore store = open_store(globals);
  const Drain drain;
  const AbsentEntities absent(options.names);
  WriteReport report(WriteKind::update, globals, "");
  const auto update_one = [&](const KeyWithValues& entity, Position position) {
    WriteResult result = update(store, entity, consumer);
    result.position = position;
    if (result.error && result.error->code() == ErrorCode::interrupted) {
      return;
    }
    if (result.status == WriteStatus::rejected && result.error) {
      result.error->with("printed by", options.command.front());
    }
    absent.explain(result);
    report.take(result);
  };
  if (from_input) {
    write_ids_read(report, [&](const Uuid& id, Position position) { update_one({{}, id, false}, position); });
  }
  for (const KeyWithValues& entity : entities) {
    if (ends(report, std::nullopt)) {
      break;
    }
    update_one(entity, {});
  }
  return report.finish();
}

}  // namespace

Command update_command() {
  const auto options = std::make_shared<UpdateArguments>();
  Command command;
  command.name = "update";
  command.summary = "give entities to a command, store what it prints, print each id";
  command.parameters = {
      ids_parameter(options->names, "ids, with or without dashes; `-` reads them from standard input, one per line"),
      keys_parameter(options->names),
      {.name = "COMMAND",
       .help = "the program to run for each entity, and its arguments",
       .target = &options->command,
       .details = "Write `--` before it."},
      {.name = "--command-timeout",
       .value = "S",
       .help = "end COMMAND if it runs longer than S seconds, and leave the entity as it is",
       .target = &options->command_timeout,
       .range = {.least = 1, .most = longest_seconds},
       .details = "It gets SIGTERM, and after 5 s SIGKILL. Without this option there is no limit."},
  };
  command.details = {
      "COMMAND gets the entity on its standard input and prints the whole new entity. That is stored if nobody has "
      "changed the entity meanwhile. Otherwise COMMAND runs again, with the entity as it is then. So no change is "
      "lost, however many processes update an entity. If it has changed each time, at least five times and until "
      "`--timeout`, it fails. Updates of one entity wait for one another.",
      "If COMMAND prints the same text, nothing is stored, and the id is printed. If it prints nothing, several "
      "entities, no JSON, another id or (with `--key`) another key, the entity is rejected and stays as it is, and the "
      "exit status is 1. If "
      "COMMAND fails, the entity stays as it is, and the exit status is 3. If an id does not exist, the exit status is "
      "1.",
      "COMMAND may run several times for one entity, so it should do nothing but print. It has no terminal, so it "
      "cannot ask anything. If the outcome of a commit is "
      "unknown, the update is not repeated, and the exit status is 3."};
  command.examples = {{"Add 1 to a counter", "looseleaf update 71f0c4d2291844cca2df6f486e96e37c -- jq -c '.n += 1'"},
                      {"Change all entities of a user",
                       "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf --ids |\n"
                       "  looseleaf update - -- jq -c '.seen = true'"}};
  command.see_also = {"put", "get"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
