// looseleaf get: print entities by id.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/entity_names.hpp"
#include "cli/files/files.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/fields.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t ids_at_a_time = 1000;

struct GetArguments {
  EntityNames names;
  std::optional<std::string> fields;
  bool stamps = false;
};

// Looks ids up and prints their entities.
class GetSession {
 public:
  GetSession(const Datastore& store, const GetArguments& options, const Globals& globals, EntityPrinter& printer)
      : store_(store),
        globals_(globals),
        stamps_(options.stamps ? Stamps::read : Stamps::leave_out),
        printer_(printer),
        absent_entities_(options.names),
        failures_("ids", printed_of_a_kind(globals)),
        absent_("ids", printed_of_a_kind(globals), FailureDigest::Severity::warning) {}

  // False once standard output was closed.
  bool print(const std::vector<Uuid>& ids) {
    bool wanted = true;
    store_.get_each(
        ids,
        [&](const GetResult& result) {
          wanted = print(result);
          return wanted && !stop_requested();
        },
        &down_, stamps_);
    return wanted;
  }

  void bad_line(const IdLine& line) {
    failures_.add(not_an_id(line.line, line.text));
    ++bad_;
  }

  [[nodiscard]] ExitStatus finish() {
    not_asked_.finish();
    failures_.finish();
    absent_.finish();
    if (stop_requested()) {
      return exit_status_of_signal(stop_signal());
    }
    printer_.finish();
    if (globals_.json()) {
      print_summary({{"found", found_}, {"missing", missing_}, {"rejected", bad_}, {"failed", failed_}});
    }
    if (failed_ > 0) {
      print_note_of_counts();
      return ExitStatus::failed;
    }
    return missing_ + bad_ == 0 ? ExitStatus::done : ExitStatus::negative;
  }

 private:
  bool print(const GetResult& result) {
    if (result.error) {
      print_failure(*result.error, result.id);
      ++failed_;
    } else if (!result.entity) {
      absent_.add(absent_entities_.error_of(result.id).with("id", to_string(result.id)));
      ++missing_;
    } else if (print_entity(result)) {
      ++found_;
    } else {
      return false;
    }
    return true;
  }

  bool print_entity(const GetResult& result) {
    return stamps_ == Stamps::leave_out
               ? printer_.print(result.entity->json)
               : print_line(fmt::format(R"({{"id":"{}","stamp":"{}","entity":{}}})", to_string(result.id), result.stamp,
                                        on_one_line(result.entity->json)));
  }

  // Failures of a dead shard are all alike.
  void print_failure(Error error, const Uuid& id) {
    if (error.code() == ErrorCode::corrupt) {
      failures_.add(error);
    } else {
      not_asked_.add(error.with("id", to_string(id)));
    }
  }

  void print_note_of_counts() const {
    std::string text = "found " + counted(found_, "entity", "entities");
    for (const auto& [what, count] : {std::pair("missing", missing_), {"rejected", bad_}, {"failed", failed_}}) {
      text += count == 0 ? "" : fmt::format(", {} {}", what, grouped(count));
    }
    print_note(text);
  }

  const Datastore& store_;
  const Globals& globals_;
  const Stamps stamps_;
  EntityPrinter& printer_;
  const AbsentEntities absent_entities_;
  std::map<std::uint32_t, Error> down_;
  FailureDigest not_asked_{"ids", 1, FailureDigest::Severity::error, ""}, failures_, absent_;
  std::uint64_t found_ = 0, missing_ = 0, bad_ = 0, failed_ = 0;
};

// False once standard output was closed.
bool print_listed(GetSession& session, const std::vector<Uuid>& ids) {
  for (auto begin = ids.begin(); begin != ids.end() && !stop_requested();) {
    const auto end = begin + std::min<std::ptrdiff_t>(ids_at_a_time, ids.end() - begin);
    if (!session.print({begin, end})) {
      return false;
    }
    begin = end;
  }
  return true;
}

bool print_read(GetSession& session) {
  Input input("-");
  hint_if_terminal(input, "ids");
  IdReader reader(input);
  for (auto lines = reader.next(ids_at_a_time); !lines.empty() && !stop_requested();
       lines = reader.next(ids_at_a_time)) {
    std::vector<Uuid> ids;
    for (const auto& line : lines) {
      if (line.id) {
        ids.push_back(*line.id);
      } else {
        session.bad_line(line);
      }
    }
    if (!ids.empty() && !session.print(ids)) {
      return false;
    }
  }
  return true;
}

ExitStatus run(const GetArguments& options, const Globals& globals) {
  EntityPrinter printer(options.fields, globals);
  if (options.stamps && options.fields) {
    throw Error(ErrorCode::usage, "--stamps and --fields exclude each other", {},
                "give one of them: --stamps prints whole entities");
  }
  const bool from_input = options.names.from_input();
  const std::vector<Uuid> ids = from_input ? std::vector<Uuid>{} : options.names.parse_ids();
  const Datastore store = open_store(globals);
  const Drain drain;
  GetSession session(store, options, globals, printer);
  const bool wanted = from_input ? print_read(session) : print_listed(session, ids);
  return wanted ? session.finish() : ExitStatus::done;
}

}  // namespace

Command get_command() {
  const auto options = std::make_shared<GetArguments>();
  Command command;
  command.name = "get";
  command.summary = "print entities by id, one per line";
  command.parameters = {
      ids_parameter(options->names, "ids, with or without dashes; `-` reads them from standard input, one per line"),
      keys_parameter(options->names),
      {.name = "--stamps",
       .help = "print objects with `id`, `stamp` and `entity`",
       .target = &options->stamps,
       .details = "The stamp names this version of the entity: every write gives it a greater one, and "
                  "no other version ever has the same."},
      fields_parameter(options->fields)};
  command.prints_csv = true;
  command.details = {
      "Entities are printed as they were stored, in the order of the ids. If an id does not exist, a warning names it "
      "and the exit status is 1.",
      "If a stored body is damaged, is no JSON object, or has another entity's id, an error names the id, and the exit "
      "status is 3.",
      "If a shard is down, the entities of the other shards are printed, an error says how many ids could not be "
      "looked up and why, and the exit status is 3."};
  command.examples = {{"Print one entity", "looseleaf get 71f0c4d2291844cca2df6f486e96e37c"},
                      {"Print the entities whose ids are in a file", "looseleaf get - < ids.txt > entities.jsonl"},
                      {"Print the entity with a key", "looseleaf get --key trip=7,column=BASE"}};
  command.see_also = {"query", "put"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
