// looseleaf delete: delete entities by id.
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/entity_names.hpp"
#include "cli/report/write_report.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

struct DeleteArguments {
  EntityNames names;
};

void delete_listed(WriteStream& stream, WriteReport& report, const std::vector<Uuid>& ids) {
  for (const auto& id : ids) {
    if (ends(report, std::nullopt)) {
      return;
    }
    stream.remove(id);
  }
}

ExitStatus run(const DeleteArguments& options, const Globals& globals) {
  const bool from_input = options.names.from_input();
  const std::vector<Uuid> ids = from_input ? std::vector<Uuid>{} : options.names.parse_ids();
  Datastore store = open_store(globals);
  const Drain drain;
  WriteReport report(WriteKind::remove, globals, "");
  const AbsentEntities absent(options.names);
  WriteStream stream(store, [&](WriteResult result) {
    absent.explain(result);
    report.take(result);
  });
  if (from_input) {
    write_ids_read(report, [&](const Uuid& id, Position position) { stream.remove(id, position); });
  } else {
    delete_listed(stream, report, ids);
  }
  stream.finish();
  return report.finish();
}

}  // namespace

Command delete_command() {
  const auto options = std::make_shared<DeleteArguments>();
  Command command;
  command.name = "delete";
  command.summary = "delete entities, print each id once its deletion is durable";
  command.parameters = {
      ids_parameter(options->names, "ids, with or without dashes; `-` reads them from standard input, one per line"),
      keys_parameter(options->names)};
  command.details = {
      "If an id does not exist, the exit status is 1. A deleted entity leaves a tombstone, which `looseleaf clean` "
      "purges after a day."};
  command.examples = {
      {"Delete one entity", "looseleaf delete 71f0c4d2291844cca2df6f486e96e37c"},
      {"Delete all entities of a user",
       "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf --ids |\n  looseleaf delete -"}};
  command.see_also = {"clean", "put"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
