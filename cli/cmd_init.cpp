// looseleaf init: create databases and tables on every shard.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/connect.hpp"
#include "cli/json.hpp"
#include "cli/messages.hpp"
#include "cli/text.hpp"

namespace looseleaf::cli {
namespace {

struct Options {
  std::optional<std::uint64_t> accept_empty_shard;
};

std::optional<std::uint32_t> shard_number(const std::optional<std::uint64_t>& number, std::uint32_t shard_count) {
  if (number && *number >= shard_count) {
    throw Error(ErrorCode::usage, "no such shard",
                {{"shard", std::to_string(*number)}, {"shards", std::to_string(shard_count)}},
                "shards are numbered from 0");
  }
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

ExitStatus run(const Options& options, const Globals& globals) {
  Datastore store = open_store(globals);
  const InitReport report = store.init(shard_number(options.accept_empty_shard, store.shard_count()));
  const std::string id = to_string(report.cluster_id);
  if (globals.json()) {
    print_summary({{"cluster_id", id}, {"created", report.created > 0}});
  } else {
    print_line(id);
  }
  if (!globals.quiet) {
    print_note(report.created > 0 ? fmt::format("created the tables of {}", counted(report.created, "shard", "shards"))
                                  : fmt::format("everything was there already on {}",
                                                counted(store.shard_count(), "shard", "shards")));
  }
  for (const std::string& table : report.unready) {
    print_warning("index is building now, because a shard was accepted empty", {{"index", table}},
                  "run `looseleaf create-index` with its definition again, then `looseleaf backfill`");
  }
  return ExitStatus::done;
}

}  // namespace

Command init_command() {
  const auto options = std::make_shared<Options>();
  Command command;
  command.name = "init";
  command.summary = "create the databases and tables on every shard, print the cluster id";
  command.parameters = {{"--accept-empty-shard", "K",
                         "let shard K be empty although the others hold entities, as after replacing its server",
                         &options->accept_empty_shard}};
  command.details = {"May be repeated: what is there already is checked and left alone."};
  command.examples = {"looseleaf init", "looseleaf init --cluster cluster.json --accept-empty-shard 2"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
