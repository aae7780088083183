// looseleaf delete: delete entities by id.
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/entity_names.hpp"
#include "cli/files/files.hpp"
#include "cli/report/write_report.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t lines_at_a_time = 1000;

struct DeleteArguments {
  EntityNames names;
};

// Returns true after a signal, and if the store refuses everything: then the input is not read from this line on.
bool ends(WriteReport& report, std::optional<Position> next) {
  const bool hopeless = report.hopeless();
  if (hopeless) {
    report.leave_rest(next);
  }
  return hopeless || stop_requested();
}

void delete_listed(WriteStream& stream, WriteReport& report, const std::vector<Uuid>& ids) {
  for (const auto& id : ids) {
    if (ends(report, std::nullopt)) {
      return;
    }
    stream.remove(id);
  }
}

void delete_read(WriteStream& stream, WriteReport& report) {
  report.begin_input("-", 0);
  Input input("-");
  hint_if_terminal(input, "ids");
  IdReader reader(input);
  try {
    for (auto lines = reader.next(lines_at_a_time); !lines.empty(); lines = reader.next(lines_at_a_time)) {
      for (const auto& line : lines) {
        if (ends(report, Position{line.line, 1})) {
          return;
        }
        if (line.id) {
          stream.remove(*line.id, {line.line, 1});
        } else {
          report.reject(line);
        }
      }
    }
  } catch (const Error& error) {
    report.input_failed(error);
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
    delete_read(stream, report);
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
