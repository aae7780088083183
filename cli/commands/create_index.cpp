// looseleaf create-index: create what index definitions declare.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/create_job.hpp"
#include "cli/commands/throttle_options.hpp"
#include "cli/files/definitions.hpp"
#include "cli/report/indexing_report.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {
namespace {

struct CreateIndexArguments {
  std::vector<std::string> files;
  bool dry_run = false;
  bool backfill = false;
  Throttle throttle;
};

ExitStatus print_dry_run(const Datastore& store, const std::vector<IndexDefinition>& definitions,
                         const Globals& globals) {
  print_plans(store, definitions, globals);
  const auto sample = store.count_sample(definitions);
  if (globals.json()) {
    print_summary({{"indexes", definitions.size()}, {"indexing", json_of(sample)}});
  }
  print_indexing(sample, {.planned = true});
  return ExitStatus::done;
}

ExitStatus run(const CreateIndexArguments& options, const Globals& globals) {
  if (options.dry_run && options.backfill) {
    throw Error(ErrorCode::usage, "--dry-run and --backfill cannot be combined", {},
                "give --dry-run first, and --backfill once the SQL is what you want");
  }
  if (const auto option = given_option(options.throttle); !option.empty() && !options.backfill) {
    throw Error(ErrorCode::usage, fmt::format("{} needs --backfill", option), {},
                "give --backfill too; without it nothing is read that could be held back");
  }
  const std::vector<IndexDefinition> definitions = load_definitions(options.files);
  Datastore store = open_store(globals);
  if (options.dry_run) {
    return print_dry_run(store, definitions, globals);
  }
  const Created created = create_and_fill(store, definitions, options.backfill ? &options.throttle : nullptr, globals);
  Json summary = {{"indexes", definitions.size()}};
  summary.update(created.summary);
  if (globals.json()) {
    print_summary(summary);
  }
  return created.status;
}

}  // namespace

Command create_index_command() {
  const auto options = std::make_shared<CreateIndexArguments>();
  Command command;
  command.name = "create-index";
  command.summary = "create the index tables that definition files declare, on every shard";
  command.parameters = {
      {.name = "FILE",
       .help = "index definitions, or folders of them",
       .target = &options->files,
       .required = true,
       .details = "A folder stands for its files `*.json`, but not `*.schema.json` and not those in its folders."},
      {.name = "--dry-run",
       .help = "print the SQL and change nothing",
       .target = &options->dry_run,
       .details =
           "This lists each statement that changes or locks something, in order and for each shard. Generations, "
           "tokens and epochs are random numbers, and differ in every run."},
      {"--backfill", "", "fill the indexes at once", &options->backfill},
  };
  add_throttle_parameters(command, options->throttle);
  command.details = {
      "A definition is a JSON object with `table`, the name of the index; `properties`, an array; and optionally "
      "`shard_on`, the property by whose value rows are placed, so that a query with that value asks one shard; "
      "`where`, an object of paths and the values that entities must have there to be indexed; `immutable`, if the "
      "properties never change once they are set; and `unique`, if no two entities may have the same values, which "
      "needs `shard_on`.",
      "A property is an object with `name`, `type`, and optionally `max_length` and `each`. The name may be a path, "
      "like `author.name`. The type is `uuid`, `string`, `int`, `double` or `bool`; an entity whose value has another "
      "type has no row, and nothing is converted. With `\"each\": true` every element of the array at the name, or on "
      "the path to it (`items.sku`), has a row. `max_length` is how many characters of a string are in the index, 735 "
      "by default; longer strings are found too, but in a unique index they are refused.",
      "This activates the definitions: from then on every put maintains the indexes. On a store without entities an "
      "index is ready at once; otherwise it is building until it is filled.",
      "You may repeat the command: it does not change active definitions, and it completes what a crash left half "
      "done. All shards must be up."};
  command.examples = {
      {"Print the SQL without running it", "looseleaf create-index --dry-run index_user_id.json"},
      {"Create and fill two indexes", "looseleaf create-index index_user_id.json index_link.json --backfill"},
      {"Create what a folder declares", "looseleaf create-index schemas/friendfeed"}};
  command.see_also = {"backfill", "drop-index"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
