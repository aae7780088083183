// looseleaf status: shards, servers, indexes and jobs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

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
  print_section({{"shard", true}, {"address"}, {"database"}, {"state"}, {"server"}, {"entities (about)", true}},
                std::move(rows));
}

// Cuts off the fraction of a second.
std::string to_seconds(const std::string& time) {
  return time.substr(0, time.find('.'));
}

// Prints one line for all shards that agree about an index.
void print_indexes(const Status& status) {
  struct Group {
    std::vector<std::uint32_t> shards;
    std::string since;
  };
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Group> groups;
  for (const auto& shard : status.shards) {
    for (const auto& index : shard.indexes) {
      Group& group = groups[{index.table, index.generation, to_string(index.state)}];
      group.shards.push_back(shard.shard);
      group.since = std::max(group.since, to_seconds(index.since));
    }
  }
  TableRows rows;
  for (const auto& [index, group] : groups) {
    const auto& [table, generation, state] = index;
    rows.push_back({table, state, std::to_string(generation), group.since, comma_separated(group.shards)});
  }
  print_section({{"index"}, {"state"}, {"generation", true}, {"since (UTC)"}, {"shards"}}, std::move(rows));
}

std::string progress_of(const JobStatus& job) {
  if (job.estimate == 0) {
    return grouped(job.done);
  }
  const double part = static_cast<double>(job.done) / static_cast<double>(job.estimate);
  return fmt::format("{} of about {} ({:.0f} %)", grouped(job.done), grouped(std::max(job.estimate, job.done)),
                     std::min(part, 1.0) * 100.0);
}

void print_jobs(const Status& status) {
  TableRows rows;
  for (const auto& shard : status.shards) {
    for (const auto& job : shard.jobs) {
      rows.push_back({job.job, job.table, std::to_string(shard.shard), progress_of(job),
                      job.holder.empty() ? "nobody" : job.holder, to_seconds(job.since), to_seconds(job.heartbeat)});
    }
  }
  print_section({{"job"}, {"index"}, {"shard", true}, {"done"}, {"holder"}, {"since (UTC)"}, {"heartbeat (UTC)"}},
                std::move(rows));
}

Json json_of(const Error& error) {
  Json context = Json::object();
  for (const auto& [key, value] : error.context()) {
    context[key] = json_of_context(key, value);
  }
  return {{"what", error.what()}, {"context", std::move(context)}, {"hint", error.hint()}};
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
  return {{"shard", shard.shard},
          {"address", shard.address},
          {"database", shard.database},
          {"state", to_string(shard.state)},
          {"error", shard.error ? json_of(*shard.error) : Json(nullptr)},
          {"server", shard.server},
          {"entities", shard.entities},
          {"indexes", std::move(indexes)},
          {"jobs", std::move(jobs)}};
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

void print_as_text(const Status& status) {
  print_line("cluster " + (status.cluster_id ? to_string(*status.cluster_id) : std::string("unknown")));
  print_shards(status);
  print_indexes(status);
  print_jobs(status);
}

// Reports why shards are not up.
ExitStatus report_errors(const Status& status) {
  if (shards_that_are(ShardState::uninitialised, status) == status.shards.size()) {
    throw Error(ErrorCode::wrong_cluster, "this cluster is not initialised", {}, "run `looseleaf init`");
  }
  ExitStatus exit_status = ExitStatus::done;
  for (const auto& shard : status.shards) {
    if (shard.error) {
      Error error = *shard.error;
      print_error(error.with("shard", std::to_string(shard.shard)));
      exit_status = stronger(exit_status, exit_status_of(error.code(), 0));
    }
  }
  return exit_status;
}

ExitStatus run(const Globals& globals) {
  const Datastore store = open_store(globals);
  const Status status = store.status();
  if (globals.json()) {
    print_as_json(status);
  } else {
    print_as_text(status);
  }
  return report_errors(status);
}

}  // namespace

Command status_command() {
  Command command;
  command.name = "status";
  command.summary = "show shards, servers, indexes, and jobs with their progress";
  command.details = {
      "The numbers of entities are the servers' estimates. A job without a holder is shown if it was left half done; a "
      "cleaner that has ended is not shown.",
      "If a shard cannot be reached, it is `down` and the exit status is 3. If it answers but cannot be used, it is "
      "`refused`: the exit status is 2 if the cluster file may be wrong, else 3. If `looseleaf init` was not run on "
      "it, it is `uninitialised` and the exit status is 2. The reason is on standard error."};
  command.examples = {{"Show the status as text", "looseleaf status"},
                      {"Print the status for a program", "looseleaf status --output json"}};
  command.see_also = {"backfill", "looseleaf.json(5)"};
  command.run = run;
  return command;
}

}  // namespace looseleaf::cli
