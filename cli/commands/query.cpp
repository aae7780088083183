// looseleaf query: print the entities that match conditions on one index.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/value_files.hpp"
#include "cli/commands/where_option.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/fields.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct QueryArguments {
  std::string index;
  std::vector<std::string> conditions;
  std::string order_by;
  bool descending = false;
  bool ids = false;
  bool count = false;
  bool partial = false;
  bool explain = false;
  bool skip_unreadable = false;
  std::vector<std::string> where;
  std::optional<std::string> after, fields;
  std::optional<std::uint64_t> limit;
};

void check(const QueryArguments& options) {
  if (static_cast<int>(options.ids) + static_cast<int>(options.count) + static_cast<int>(options.explain) > 1) {
    throw Error(ErrorCode::usage, "--ids, --count and --explain cannot be combined", {}, "give only one of them");
  }
  if (options.fields && (options.ids || options.count || options.explain)) {
    throw Error(ErrorCode::usage, "--fields cannot be combined with --ids, --count and --explain", {},
                "leave out one of them; --fields id prints ids, too");
  }
  if (options.after == "") {  // a script's loop over pages would start again and never end
    throw Error(ErrorCode::usage, "an empty page token", {{"option", "--after"}},
                "leave --after out for the first page; if no token was printed, there is no next page");
  }
}

Query query_of(const QueryArguments& options, ValueFiles& files) {
  Query query;
  query.index = options.index;
  if (options.order_by.empty()) {  // then a value may begin with @
    std::transform(options.conditions.begin(), options.conditions.end(), std::back_inserter(query.conditions),
                   Condition::parse);
  } else {
    query.conditions = files.conditions_of(options.conditions);
  }
  for (const std::string& text : options.conditions) {
    warn_of_joined_conditions(text, Condition::parse(text), "give each of them as an argument of its own");
  }
  query.order_by = options.order_by;
  query.descending = options.descending;
  query.where = filters_of(options.where);
  query.limit = options.limit.value_or(0);
  query.after = options.after.value_or("");
  query.partial = options.partial;
  query.stop = stop_requested;
  return query;
}

// False once standard output was closed.
bool print_entity(const Entity& entity, const QueryArguments& options, const Globals& globals, EntityPrinter& printer) {
  if (options.count || options.explain) {
    return true;
  }
  if (!options.ids) {
    return printer.print(entity.json);
  }
  return globals.json() ? print_json({{"id", to_string(entity.id)}}) : print_line(to_string(entity.id));
}

std::string joined(const std::vector<std::string>& conditions) {
  return conditions.empty() ? "none" : fmt::format("{}", fmt::join(conditions, ", "));
}

void print_explanation(const QueryReport& report, const QueryArguments& options) {
  print_line("index: " + options.index);
  print_line("conditions: " + joined(options.conditions));
  print_line("filter: " + joined(options.where));
  print_line(fmt::format("order: {}{}", options.order_by.empty() ? "of the index" : "by " + options.order_by,
                         options.descending ? ", descending" : ""));
  for (const auto& shard : report.shards) {
    print_line(
        fmt::format("shard {}: {}, {}", shard.shard, counted(shard.index_rows, "index row", "index rows"), shard.sql));
  }
  std::vector<std::pair<std::string, std::uint64_t>> numbers = {
      {"index rows read", report.index_rows},   {"entities read", report.entities_read},
      {"outdated rows", report.filtered_stale}, {"repeated rows", report.filtered_repeats},
      {"filtered", report.filtered_where},      {"entities", report.entities}};
  if (options.skip_unreadable) {
    numbers.emplace_back("unreadable", report.unreadable);
  }
  for (const auto& [what, number] : numbers) {
    print_line(fmt::format("{}: {}", what, number));
  }
}

Json unavailable_shards(const QueryReport& report) {
  Json shards = Json::array();
  for (const auto& [shard, error] : report.unavailable) {
    shards.push_back(shard);
  }
  return shards;
}

void print_explanation_as_json(const QueryReport& report, const QueryArguments& options) {
  Json shards = Json::array();
  for (const auto& shard : report.shards) {
    shards.push_back({{"shard", shard.shard}, {"index_rows", shard.index_rows}, {"sql", shard.sql}});
  }
  print_summary({{"index", options.index},
                 {"conditions", options.conditions},
                 {"where", options.where},
                 {"order_by", options.order_by.empty() ? Json(nullptr) : Json(options.order_by)},
                 {"descending", options.descending},
                 {"shards", std::move(shards)},
                 {"index_rows", report.index_rows},
                 {"entities_read", report.entities_read},
                 {"outdated", report.filtered_stale},
                 {"repeated", report.filtered_repeats},
                 {"filtered", report.filtered_where},
                 {"entities", report.entities},
                 {"unavailable", unavailable_shards(report)},
                 {"unreadable", report.unreadable}});
}

// Says what belongs to the value of a condition on the index and was probably not meant. The library warns of quotes
// in a filter; a shell removes the outer ones only.
void print_notes_of_values(const QueryArguments& options) {
  for (const std::string& condition : options.conditions) {
    const Condition parsed = Condition::parse(condition);
    const std::string& value = parsed.value;
    const bool quoted = value.starts_with('"') || value.starts_with('\'');
    if (value.size() > 1 && quoted && value.front() == value.back()) {
      print_note(fmt::format("nothing was found: in {} the quotes belong to the value", condition));
    } else if (value.starts_with(' ') || value.ends_with(' ')) {
      print_note(fmt::format("nothing was found: in \"{}\" the space belongs to the value", condition));
    } else if (value.starts_with('@') && options.order_by.empty()) {
      print_note(fmt::format("nothing was found: {} names a file of values only with --order-by", condition));
    } else if (value.find_first_not_of("*%") != std::string::npos && (value.ends_with('*') || value.ends_with('%'))) {
      print_note(
          fmt::format("nothing was found: in {} the {} stands for itself; `name^=text` finds what begins with "
                      "a text",
                      condition, value.back()));
    }
  }
}

// Whether the value that the error is about was probably meant as the name of a file.
bool names_a_file(const Error& error) {
  return std::any_of(error.context().begin(), error.context().end(),
                     [](const auto& fact) { return fact.first == "value" && fact.second.starts_with('@'); });
}

void print_end(const QueryReport& report, const QueryArguments& options, const Globals& globals) {
  if (options.explain) {
    globals.json() ? print_explanation_as_json(report, options) : print_explanation(report, options);
  } else if (globals.json()) {
    Json end{{options.count ? "count" : "entities", report.entities}};
    end["next"] = report.next.empty() ? Json(nullptr) : Json(report.next);
    end["unavailable"] = unavailable_shards(report);
    end["unreadable"] = report.unreadable;
    print_summary(end);
  } else if (options.count) {
    print_line(std::to_string(report.entities));
  }
  if (report.entities == 0 && report.unavailable.empty()) {
    print_notes_of_values(options);
  }
  if (globals.verbose) {
    print_note(fmt::format("{} from {}, {} of them outdated", counted(report.entities, "entity", "entities"),
                           counted(report.index_rows, "index row", "index rows"), grouped(report.filtered_stale)));
  }
  for (const auto& [shard, error] : report.unavailable) {
    print_warning(fmt::format("results from shard {} are missing", shard), as_reason(error), error.hint());
  }
  if (report.unreadable > 0) {
    print_warning(fmt::format("left out {} whose {} cannot be read", counted(report.unreadable, "entity", "entities"),
                              report.unreadable == 1 ? "body" : "bodies"),
                  {}, "delete each of them and put it again; `looseleaf verify` finds all such entities");
  }
  if (!report.next.empty() && !globals.json() && !options.explain && data_output().flush()) {
    print_plain("next: " + report.next + "\n");
  }
}

ExitStatus exit_status_of(const QueryReport& report) {
  const ExitStatus status = report.unreadable == 0 ? ExitStatus::done : ExitStatus::negative;
  return report.unavailable.empty() ? status : ExitStatus::failed;
}

ExitStatus run(const QueryArguments& options, const Globals& globals) {
  check(options);
  EntityPrinter printer(options.fields, globals);
  ValueFiles files;
  Query query = query_of(options, files);
  FailureDigest unreadable("entities", printed_of_a_kind(globals), FailureDigest::Severity::warning);
  if (options.skip_unreadable) {
    query.on_unreadable = [&](const Error& error) {
      unreadable.add(Error(error.code(), error.what(), error.context()));  // the warning at the end has the hint
    };
  }
  const Datastore store = open_store(globals);
  const Drain drain;
  bool wanted = true;
  QueryReport report;
  try {
    report = store.query(query, [&](const Entity& entity) {
      wanted = print_entity(entity, options, globals, printer);
      return wanted && !stop_requested();
    });
  } catch (Error& error) {
    if (error.code() != ErrorCode::interrupted) {
      files.locate(error);
      if (options.order_by.empty() && names_a_file(error)) {
        error.with_hint(error.hint() + "; a file of values needs --order-by");
      }
      throw;
    }
  }
  unreadable.finish();
  if (stop_requested()) {
    return exit_status_of_signal(stop_signal());
  }
  if (wanted) {  // otherwise standard output was closed
    printer.finish();
    print_end(report, options, globals);
  }
  return exit_status_of(report);
}

}  // namespace

Command query_command() {
  const auto options = std::make_shared<QueryArguments>();
  Command command;
  command.name = "query";
  command.summary = "print the entities that match, in the order of an index";
  command.parameters = {
      {.name = "INDEX", .help = "the index's table", .target = &options->index, .required = true},
      {.name = "COND",
       .help = "conditions: `name=value` for the first properties of the index, then a range on the next property",
       .target = &options->conditions,
       .details =
           "A range is `name>v`, `name>=v`, `name<v`, `name<=v` or `name^=prefix`. A name that is repeated with "
           "`=` means any of the values. Quote conditions, since `<` and `>` have a meaning in a shell. A name "
           "that contains an operator is written in double quotes, as a JSON string: `'\"a=b\"=5'`. "
           "With `--order-by`, `name=@FILE` means any of the values in a file, one on each line, and a query takes at "
           "most 10,000 values."},
      {.name = "--order-by",
       .value = "NAME",
       .help = "order by this property of the index, also across several values of the properties before it",
       .target = &options->order_by,
       .details =
           "All properties before it need conditions with `=`. The entities of all their values come in one order: by "
           "NAME, by the properties after it in the index, then by entity id. An entity with several matching rows "
           "comes once, at its first row in this order."},
      {"--desc", "", "print in descending order", &options->descending},
      {.name = "--limit",
       .value = "N",
       .help = "print at most N entities, after filtering",
       .target = &options->limit,
       .range = {.least = 1},
       .details =
           "If there are more, the last line on standard error is `next: TOKEN`; with `--output json` the summary has "
           "the token."},
      {.name = "--after",
       .value = "TOKEN",
       .help = "continue where the page that printed this token ended",
       .target = &options->after,
       .details = "Give the same index, conditions and order. An entity whose matching rows do not change meanwhile is "
                  "on exactly one page. An empty token is an error, because it would start again."},
      where_parameter(options->where, Explained::in_full),
      fields_parameter(options->fields),
      {"--ids", "", "print ids only", &options->ids},
      {"--count", "", "print only the number of entities", &options->count},
      {.name = "--partial",
       .help = "print the results of the other shards if a shard is down",
       .target = &options->partial,
       .details =
           "If results are missing, a warning names the shard and the reason, and the exit status is 3. The command "
           "waits at most 6 s, or `--timeout` if that is less, for a shard that is dead or hangs, and at most 10 s for "
           "one that begins to hang during the query."},
      {.name = "--skip-unreadable",
       .help = "leave out entities whose stored bodies cannot be read",
       .target = &options->skip_unreadable,
       .details =
           "Without it, the query fails at such an entity. A warning names each entity that is left out, whether it "
           "would match or not, at most 20 of a kind unless `--verbose` is given. A last warning counts them, and "
           "the exit status is 1."},
      {.name = "--explain",
       .help = "print how the query is answered, and no entities",
       .target = &options->explain,
       .details =
           "This lists the shards, the SQL, and the numbers of index rows, of entities read and of entities left out."},
  };
  command.details = {
      "Without `--order-by`, the order is that of the index: by its properties, then by entity id. Without a condition "
      "the query prints everything in the index.",
      "If the index is building or being dropped, the query fails with exit status 2."};
  command.examples = {
      {"Print all entities of a user", "looseleaf query index_user_id user_id=f48b0440ca0c4f66991c4d5f6a078eaf"},
      {"Print the latest 30 entries of a feed since a moment",
       "looseleaf query index_feed feed_id=f48b0440ca0c4f66991c4d5f6a078eaf \\\n"
       "  'published>=1235697046' --desc --limit 30"},
      {"Print the latest 30 entries of all users whose ids are in the file `friends`",
       "looseleaf query index_user_time user_id=@friends --order-by published --desc --limit 30"},
      {"Write some fields of all entries to a file for a spreadsheet",
       "looseleaf query index_user_id --fields id,user_id,title --output csv > entries.csv"}};
  command.prints_csv = true;
  command.see_also = {"get", "create-index"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
