// looseleaf query: print the entities that match conditions on one index.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/json.hpp"
#include "cli/messages.hpp"
#include "cli/signals.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::string index;
  std::vector<std::string> conditions;
  bool descending = false;
  bool ids = false;
  bool count = false;
  std::optional<std::uint64_t> limit;
};

void check(const Options& options) {
  if (options.ids && options.count) {
    throw Error(ErrorCode::usage, "--ids and --count exclude each other");
  }
  if (options.limit == 0U) {
    throw Error(ErrorCode::usage, "a limit must be at least 1", {{"option", "--limit"}});
  }
}

Query query_of(const Options& options) {
  Query query;
  query.index = options.index;
  for (const auto& condition : options.conditions) {
    query.conditions.push_back(Condition::parse(condition));
  }
  query.descending = options.descending;
  query.limit = options.limit.value_or(0);
  return query;
}

// False once nobody can receive it any more.
bool print_entity(const Entity& entity, const Options& options, const Globals& globals) {
  if (options.count) {
    return true;
  }
  if (!options.ids) {
    return print_line(on_one_line(entity.json));
  }
  return globals.json() ? print_json({{"id", to_string(entity.id)}}) : print_line(to_string(entity.id));
}

void print_end(const QueryReport& report, const Options& options, const Globals& globals) {
  if (globals.json()) {
    print_json({{options.count ? "count" : "entities", report.entities}});
  } else if (options.count) {
    print_line(std::to_string(report.entities));
  }
  if (globals.verbose) {
    print_note(fmt::format("{} from {}, {} of them outdated", counted(report.entities, "entity", "entities"),
                           counted(report.index_rows, "index row", "index rows"), grouped(report.filtered_stale)));
  }
}

ExitStatus run(const Options& options, const Globals& globals) {
  check(options);
  const Query query = query_of(options);
  const Datastore store = open_store(globals);
  const Drain drain;
  const QueryReport report = store.query(
      query, [&](const Entity& entity) { return !stop_requested() && print_entity(entity, options, globals); });
  if (stop_requested()) {
    return exit_status_of_signal(stop_signal());
  }
  print_end(report, options, globals);
  return ExitStatus::done;
}

}  // namespace

Command query_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "query";
  command.summary = "print the entities that match, in the order of an index";
  command.parameters = {
      {.name = "INDEX", .value = "", .help = "the index's table", .target = &options->index, .required = true},
      {"COND", "",
       "name=value for the first properties (repeat a name for any of several values), then name>v, >=, <, <= or "
       "name^=prefix for the next",
       &options->conditions},
      {"--desc", "", "the other way round", &options->descending},
      {"--limit", "N", "at most N entities", &options->limit},
      {"--ids", "", "print ids only", &options->ids},
      {"--count", "", "print how many there are, and nothing else", &options->count},
  };
  command.details = {
      "Conditions are equality on the first properties of the index, then a range on the next. Quote them: < and > "
      "mean "
      "something to a shell."};
  command.examples = {
      "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf",
      "looseleaf query index_feed feed_id=f48b0440ca0c4f66991c4d5f6a078eaf 'published>=1235697046' --desc "
      "--limit 30"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
