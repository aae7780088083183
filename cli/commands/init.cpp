// looseleaf init: create databases and tables on every shard.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/registry/numbers.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr const char* option_name = "--accept-empty-shard";

struct InitArguments {
  std::vector<std::string> accept_empty;
};

ExitStatus run(const InitArguments& options, const Globals& globals) {
  std::set<std::uint32_t> accept_empty;
  for (const std::string& shard : options.accept_empty) {
    accept_empty.insert(static_cast<std::uint32_t>(parse_count(option_name, shard, {.most = max_shards - 1})));
  }
  Datastore store = open_store(globals);
  const InitReport report = store.init(accept_empty);
  const std::string id = to_string(report.cluster_id);
  if (globals.json()) {
    print_summary({{"cluster_id", id}, {"created", report.created > 0}});
  } else {
    print_line(id);
  }
  print_note(report.created > 0
                 ? fmt::format("created the tables of {}", counted(report.created, "shard", "shards"))
                 : fmt::format("the tables already exist on {}", counted(store.shard_count(), "shard", "shards")));
  for (const std::string& table : report.unready) {
    print_warning("index is building, because a shard lacks it", {{"index", table}},
                  "run `looseleaf create-index` with its definition again, then `looseleaf backfill`");
  }
  return ExitStatus::done;
}

}  // namespace

Command init_command() {
  const auto options = std::make_shared<InitArguments>();
  Command command;
  command.name = "init";
  command.summary = "create the databases and tables on every shard, print the cluster id";
  command.parameters = {
      {.name = option_name,
       .value = "K",
       .help = "accept that shard K is empty although the others hold entities, as after replacing its server; may be "
               "repeated",
       .target = &options->accept_empty,
       .details = "Every index on the other shards goes back to `building`, because the rows that the shard held are "
                  "gone. Create the indexes again, then backfill them."},
  };
  command.details = {
      "The databases get the tables of the program and the table `entities`. You may repeat the command: it checks "
      "what exists and does not change it.",
      "It refuses a shard of another cluster, a database with somebody else's `entities` table, and an empty shard "
      "whose siblings hold entities, since that server was wiped or is the wrong one."};
  command.examples = {
      {"Create the tables of the cluster that the environment names", "looseleaf init"},
      {"Continue after shard 2 was lost", "looseleaf init --cluster cluster.json --accept-empty-shard 2"}};
  command.see_also = {"create-index", "backfill", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
