// looseleaf status: shards, servers, indexes and jobs.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/report/status_report.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

struct StatusArguments {
  double watch = 0;  // seconds; 0: once
};

void print_section(const std::vector<Column>& columns, TableRows rows) {
  if (!rows.empty()) {
    print_line("");
    print_table(columns, std::move(rows));
  }
}

void print_shards(const Status& status) {
  TableRows rows;
  for (const auto& shard : status.shards) {
    rows.push_back({std::to_string(shard.shard), shard.address, shard.database, to_string(shard.state), shard.server,
                    shard.error ? "" : std::to_string(shard.entities)});
  }
  print_section(
      {{"shard", true}, {"address"}, {"database"}, {"state"}, {"server"}, {"entities (about, incl. deleted)", true}},
      std::move(rows));
}

void print_indexes(const Status& status) {
  const std::size_t unknown = unknown_shards(status).size();
  TableRows rows;
  for (const auto& [index, definition, shards] : group_indexes(status)) {
    rows.push_back({index.table, to_string(index.state), std::to_string(index.generation), to_seconds(index.since),
                    properties_text(definition), shard_on_of(definition), shards_text(shards, unknown)});
  }
  print_section({{"index"}, {"state"}, {"generation", true}, {"since (UTC)"}, {"properties"}, {"shard_on"}, {"shards"}},
                std::move(rows));
}

std::string progress_of(const JobStatus& job) {
  if (job.estimate == 0) {
    return grouped(job.done);
  }
  const double part = static_cast<double>(job.done) / static_cast<double>(job.estimate);
  return fmt::format("{} of about {} ({:.0f} %)", grouped(job.done), grouped(std::max(job.estimate, job.done)),
                     std::min(part, 1.0) * 100.0);
}

void print_jobs(const Status& status, bool each_shard) {
  const std::size_t unknown = each_shard ? 0 : unknown_shards(status).size();
  TableRows rows;
  for (const auto& [job, shards] : group_jobs(status, each_shard)) {
    rows.push_back({job.job, job.table, shards_text(shards, unknown), progress_of(job),
                    job.holder.empty() ? "nobody" : job.holder, to_seconds(job.since), to_seconds(job.heartbeat)});
  }
  print_section({{"job"},
                 {"index"},
                 {each_shard ? "shard" : "shards", each_shard},
                 {"done"},
                 {"holder"},
                 {"since (UTC)"},
                 {"heartbeat (UTC)"}},
                std::move(rows));
}

Json json_of(const Error& error) {
  return {{"what", error.what()}, {"context", json_of_context(error.context())}, {"hint", error.hint()}};
}

Json json_of(const ShardAccess& access) {
  const auto text = [&](const std::string& value) {
    return access.state == AccessState::open ? Json(nullptr) : Json(value);
  };
  return {{"state", to_string(access.state)},
          {"reason", text(access.reason)},
          {"by", text(access.holder)},
          {"since", text(access.since)},
          {"overdue", access.overdue}};
}

Json json_of(const ShardStatus& shard) {
  Json indexes = Json::array();
  for (const auto& index : shard.indexes) {
    indexes.push_back({{"table", index.table},
                       {"state", to_string(index.state)},
                       {"generation", std::to_string(index.generation)},
                       {"since", index.since},
                       {"definition", Json::parse(index.definition, nullptr, false)}});
  }
  Json jobs = Json::array();
  for (const auto& job : shard.jobs) {
    jobs.push_back({{"job", job.job},
                    {"table", job.table},
                    {"holder", job.holder.empty() ? Json(nullptr) : Json(job.holder)},
                    {"since", job.since},
                    {"heartbeat", job.heartbeat},
                    {"done", job.done},
                    {"estimate", job.estimate}});
  }
  Json copies = Json::array();
  for (const auto& copy : shard.copies) {
    copies.push_back(
        {{"cluster_id", copy.cluster_id}, {"scanning", copy.scanning}, {"up_to", copy.up_to}, {"as_of", copy.as_of}});
  }
  return {{"shard", shard.shard},
          {"address", shard.address},
          {"database", shard.database},
          {"state", to_string(shard.state)},
          {"error", shard.error ? json_of(*shard.error) : Json(nullptr)},
          {"server", shard.server},
          {"access", shard.error ? Json(nullptr) : json_of(shard.access)},
          {"entities", shard.entities},
          {"indexes", std::move(indexes)},
          {"jobs", std::move(jobs)},
          {"copies", std::move(copies)},
          {"buffered_writes", shard.buffered},
          {"refused_writes", shard.refused}};
}

std::size_t shards_that_are(ShardState state, const Status& status) {
  return static_cast<std::size_t>(std::count_if(status.shards.begin(), status.shards.end(),
                                                [&](const ShardStatus& shard) { return shard.state == state; }));
}

void print_as_json(const Status& status) {
  for (const auto& shard : status.shards) {
    print_json(json_of(shard));
  }
  print_summary({{"cluster_id", status.cluster_id ? Json(to_string(*status.cluster_id)) : Json(nullptr)},
                 {"shards", status.shards.size()},
                 {"down", shards_that_are(ShardState::down, status)},
                 {"refused", shards_that_are(ShardState::refused, status)},
                 {"uninitialised", shards_that_are(ShardState::uninitialised, status)}});
}

void print_as_text(const Status& status, bool verbose) {
  print_line("cluster " + (status.cluster_id ? to_string(*status.cluster_id) : std::string("unknown")));
  for (const std::string& line : access_lines(status)) {
    print_line(line);
  }
  for (const std::string& line : copy_lines(status)) {
    print_line(line);
  }
  for (const std::string& line : buffer_lines(status)) {
    print_line(line);
  }
  print_shards(status);
  print_indexes(status);
  print_jobs(status, verbose);
}

void print(const Status& status, const Globals& globals) {
  if (globals.json()) {
    print_as_json(status);
  } else {
    print_as_text(status, globals.verbose);
  }
}

// Begins a round of --watch: on a terminal at the top of the empty screen.
void begin_round(const Globals& globals) {
  if (globals.json()) {
    return;
  }
  if (understands_escapes(STDOUT_FILENO)) {
    data_output().clear_screen();
  }
  print_line(fmt::format("status at {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr))));
}

// Prints rounds until a signal ends the process, or until the reader of the output has left.
ExitStatus watch(const Datastore& store, double seconds, const Globals& globals) {
  while (true) {
    const Status status = store.status();
    begin_round(globals);
    print(status, globals);
    try {
      report_errors(status);
    } catch (const Error& error) {
      print_error(error);
    }
    if (!data_output().flush()) {
      return ExitStatus::done;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

ExitStatus run(const StatusArguments& options, const Globals& globals) {
  const Datastore store = open_store(globals);
  if (options.watch > 0) {
    return watch(store, options.watch, globals);
  }
  const Status status = store.status();
  print(status, globals);
  return report_errors(status);
}

}  // namespace

Command status_command() {
  const auto options = std::make_shared<StatusArguments>();
  Command command;
  command.name = "status";
  command.summary = "show shards, servers, indexes, and jobs with their progress";
  command.parameters = {{.name = "--watch",
                         .value = "S",
                         .help = "show the status again every S seconds, until Ctrl-C",
                         .target = &options->watch,
                         .details = "On a terminal the screen is redrawn; elsewhere a line with the time precedes each "
                                    "round. With `--output json` each round ends with its summary."}};
  command.details = {
      "The numbers of entities are the servers' estimates and include deleted entities, because only a scan of all "
      "entities could tell these apart; `verify` counts both exactly. A job is one line for all its shards, and with "
      "`--verbose` a line for each shard. A job without a holder is shown if it was left half done; a "
      "cleaner that has ended is not shown. `looseleaf trigger list` shows triggers.",
      "If a shard cannot be reached, it is `down` and the exit status is 3. If it answers but cannot be used, it is "
      "`refused`: the exit status is 2 if the cluster file may be wrong, else 3. If `looseleaf init` was not run on "
      "it, it is `uninitialised` and the exit status is 2. The reason is on standard error.",
      "If the store is frozen, or has moved to another cluster, a line above the table says since when, by whom and "
      "why. If it was to move, and the process that moves it has taken too long, the line says `overdue`: the next "
      "write "
      "to each of these shards, or `looseleaf thaw`, opens it. This does not change the exit status, because the "
      "servers are as they should be. A program finds the state "
      "in `access` of each shard, with `--output json`."};
  command.examples = {{"Show the status as text", "looseleaf status"},
                      {"Follow a backfill", "looseleaf status --watch 2"},
                      {"Print the status for a program", "looseleaf status --output json"}};
  command.see_also = {"show-index", "backfill", "freeze", "looseleaf.json(5)"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli
