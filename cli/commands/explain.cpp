// looseleaf explain: show what entities call for in each index.
#include <fmt/format.h>

#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/files/files.hpp"
#include "cli/report/csv_detector.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

struct ExplainArguments {
  std::vector<std::string> ids;
};

class ExplainSession {
 public:
  ExplainSession(const Datastore& store, const Globals& globals)
      : store_(store),
        globals_(globals),
        rejections_("entities", printed_of_a_kind(globals)),
        absent_("ids", printed_of_a_kind(globals), FailureDigest::Severity::warning) {}

  void explain_stored(const std::vector<Uuid>& ids) {
    store_.get_each(ids, [&](const GetResult& result) {
      if (result.error) {
        throw *result.error;
      }
      if (!result.entity) {
        absent_.add(Error(ErrorCode::usage, "no such entity", {{"id", to_string(result.id)}}));
        ++missing_;
      } else {
        explain_stored(*result.entity);
      }
      return !stop_requested();
    });
  }

  void explain_read() {
    Input input("-");
    hint_if_terminal(input, "entities");
    EntityReader reader([&](char* buffer, std::size_t size) { return input.read(buffer, size); });
    std::optional<Piece> piece;
    CsvDetector csv;
    for (bool goes_on = false; (piece = reader.next()) && !stop_requested(); goes_on = piece->more) {
      csv.add(*piece);
      if (goes_on) {
        continue;  // the rest of a long text that was rejected
      }
      if (!piece->reject.empty()) {
        reject(Error(ErrorCode::bad_entity, piece->reject, {{"line", std::to_string(piece->reject_position.line)}},
                     piece->reject_hint));
        continue;
      }
      try {
        print(fmt::format("line {}", piece->position.line), store_.explain(piece->text, piece->position));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::bad_entity) {
          throw;
        }
        reject(error);
      }
    }
    csv.warn_if_csv("-");
  }

  [[nodiscard]] ExitStatus finish() {
    rejections_.finish();
    absent_.finish();
    if (stop_requested()) {
      return exit_status_of_signal(stop_signal());
    }
    if (globals_.json()) {
      print_summary({{"entities", entities_}, {"missing", missing_}, {"rejected", rejected_}});
    }
    return missing_ + rejected_ == 0 ? ExitStatus::done : ExitStatus::negative;
  }

 private:
  void explain_stored(const Entity& entity) {
    try {
      print(to_string(entity.id), store_.explain(entity.json));
    } catch (Error& error) {  // another program stored what put rejects
      error.with("id", to_string(entity.id));
      throw;
    }
  }

  void reject(const Error& error) {
    rejections_.add(error);
    ++rejected_;
  }

  void print(const std::string& name, const std::vector<IndexedEntity>& indexes) {
    ++entities_;
    if (!globals_.json()) {
      print_line(name);
    }
    for (const IndexedEntity& in_index : indexes) {
      if (globals_.json()) {
        print_json(json_of(name, in_index));
        continue;
      }
      for (const std::string& row : in_index.rows) {
        print_line(fmt::format("  {}: {}", in_index.definition.table, row));
      }
      if (in_index.rows.empty()) {
        print_line(fmt::format("  {}: no row: {}", in_index.definition.table, describe(in_index.reason)));
      }
      for (const NoRow& reason : in_index.left_out) {
        print_line(fmt::format("  {}: other elements have no row: {}", in_index.definition.table, describe(reason)));
      }
    }
  }

  static Json json_of(const std::string& name, const IndexedEntity& in_index) {
    Json rows = Json::array();
    for (const std::string& row : in_index.rows) {
      rows.push_back(Json::parse(row));
    }
    Json left_out = Json::array();
    for (const NoRow& reason : in_index.left_out) {
      left_out.push_back({{"why", to_string(reason.why)}, {"property", reason.property}});
    }
    const bool has_rows = !in_index.rows.empty();
    const NoRow& reason = in_index.reason;
    return {{"entity", name},
            {"index", in_index.definition.table},
            {"rows", rows},
            {"why", has_rows ? Json(nullptr) : Json(to_string(reason.why))},
            {"property", has_rows || reason.property.empty() ? Json(nullptr) : Json(reason.property)},
            {"left_out", left_out}};
  }

  const Datastore& store_;
  const Globals& globals_;
  FailureDigest rejections_, absent_;
  std::uint64_t entities_ = 0, missing_ = 0, rejected_ = 0;
};

ExitStatus run(const ExplainArguments& options, const Globals& globals) {
  const bool from_input = means_standard_input(options.ids);
  const std::vector<Uuid> ids = from_input ? std::vector<Uuid>{} : parse_ids(options.ids);
  const Datastore store = open_store(globals);
  const Drain drain;
  ExplainSession session(store, globals);
  if (from_input) {
    session.explain_read();
  } else {
    session.explain_stored(ids);
  }
  return session.finish();
}

}  // namespace

Command explain_command() {
  const auto options = std::make_shared<ExplainArguments>();
  Command command;
  command.name = "explain";
  command.summary = "show the index rows that entities call for, or why there are none";
  command.parameters = {{.name = "ENTITY",
                         .help = "ids of stored entities; `-` reads entities from standard input, as put does",
                         .target = &options->ids,
                         .required = true}};
  command.details = {
      "For each index, the command prints the values of each row of the entity, or the reason why the entity has no "
      "row: "
      "it does not match the definition's `where`, or a property is absent, null, of another type, an array where the "
      "definition has no `each`, or no array where it has `each`.",
      "Nothing is stored. If an id does not exist, or put would reject an entity, the exit status is 1."};
  command.examples = {{"Explain a stored entity", "looseleaf explain 71f0c4d2291844cca2df6f486e96e37c"},
                      {"Try an entity before it is stored", "echo '{\"tags\": [\"cats\"]}' | looseleaf explain -"}};
  command.see_also = {"create-index", "backfill", "query"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
