// What `status` and `show-index` report of a cluster.
#include "cli/report/status_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

// Returns the groups in the order of their keys.
template <typename Group, typename Key>
std::vector<Group> values_of(const std::map<Key, Group>& groups) {
  std::vector<Group> values;
  for (const auto& [key, group] : groups) {
    values.push_back(group);
  }
  return values;
}

void add(JobGroup& group, const JobStatus& job, std::uint32_t shard) {
  if (group.shards.empty()) {
    group.job = job;
  } else {
    group.job.done += job.done;
    group.job.estimate += job.estimate;
    group.job.since = std::min(group.job.since, job.since);
    group.job.heartbeat = std::max(group.job.heartbeat, job.heartbeat);
  }
  group.shards.push_back(shard);
}

}  // namespace

std::vector<IndexGroup> group_indexes(const Status& status) {
  std::map<std::tuple<std::string, std::uint64_t, IndexState, std::string>, IndexGroup> groups;
  for (const auto& shard : status.shards) {
    for (const auto& index : shard.indexes) {
      IndexGroup& group = groups[{index.table, index.generation, index.state, index.definition}];
      if (group.shards.empty()) {
        group.index = index;
        group.definition = IndexDefinition::parse(index.definition, index.table);
      }
      group.shards.push_back(shard.shard);
      group.index.since = std::max(group.index.since, index.since);
    }
  }
  return values_of(groups);
}

std::vector<JobGroup> group_jobs(const Status& status, bool each_shard) {
  std::map<std::tuple<std::string, std::string, std::string, std::uint32_t>, JobGroup> groups;
  for (const auto& shard : status.shards) {
    for (const auto& job : shard.jobs) {
      add(groups[{job.job, job.table, job.holder, each_shard ? shard.shard : 0}], job, shard.shard);
    }
  }
  return values_of(groups);
}

std::vector<std::string> access_lines(const Status& status) {
  struct Group {
    ShardAccess access;  // `since` is the first of the group
    std::vector<std::uint32_t> shards;
  };
  std::map<std::tuple<AccessState, bool, std::string, std::string>, Group> groups;
  for (const auto& shard : status.shards) {
    const ShardAccess& access = shard.access;
    if (access.state == AccessState::open) {
      continue;
    }
    Group& group = groups[{access.state, access.overdue, access.reason, access.holder}];
    group.access = group.shards.empty() || access.since < group.access.since ? access : group.access;
    group.shards.push_back(shard.shard);
  }
  std::vector<std::string> lines;
  for (const auto& [key, group] : groups) {
    const std::string shards =
        group.shards.size() == status.shards.size()
            ? ""
            : fmt::format("{} {}: ", group.shards.size() == 1 ? "shard" : "shards", comma_separated(group.shards));
    lines.push_back(fmt::format(
        "{}{} since {} UTC by {}{}: {}{}", shards, to_string(group.access.state), to_seconds(group.access.since),
        group.access.holder, group.access.state == AccessState::moved ? ", to" : "", group.access.reason,
        group.access.overdue ? "; overdue, so the next write, or `looseleaf thaw`, opens it" : ""));
  }
  return lines;
}

std::vector<std::string> copy_lines(const Status& status) {
  struct Group {
    CopyStatus whole;
    std::set<std::uint32_t> shards;
  };
  std::map<std::string, Group> copies;
  for (const auto& shard : status.shards) {
    for (const CopyStatus& copy : shard.copies) {
      auto& [whole, shards] = copies.emplace(copy.cluster_id, Group{copy, {}}).first->second;
      whole.scanning = whole.scanning || copy.scanning;
      whole.up_to = std::min(whole.up_to, copy.up_to);
      whole.as_of = std::min(whole.as_of, copy.as_of);
      shards.insert(shard.shard);
    }
  }
  const std::size_t unknown = unknown_shards(status).size();
  std::vector<std::string> lines;
  for (const auto& [cluster_id, copy] : copies) {
    std::vector<std::uint32_t> missing;
    for (const auto& shard : status.shards) {
      if (shard.state == ShardState::up && !copy.shards.contains(shard.shard)) {
        missing.push_back(shard.shard);
      }
    }
    const std::string what =
        !missing.empty() ? fmt::format("nothing was copied yet from {} {}", missing.size() == 1 ? "shard" : "shards",
                                       comma_separated(missing))
        : copy.whole.scanning ? "it still reads all entities"
                              : fmt::format("everything up to {} UTC", to_seconds(copy.whole.up_to));
    lines.push_back(fmt::format("copied to cluster {}: {}, as of {} UTC{}", cluster_id, what,
                                to_seconds(copy.whole.as_of),
                                unknown == 0 ? "" : fmt::format(" ({} unknown)", counted(unknown, "shard", "shards"))));
  }
  return lines;
}

std::vector<std::string> buffer_lines(const Status& status) {
  std::vector<std::uint32_t> with_buffered, with_refused;
  std::uint64_t buffered = 0, refused = 0;
  for (const auto& shard : status.shards) {
    if (shard.buffered > 0) {
      with_buffered.push_back(shard.shard);
      buffered += shard.buffered;
    }
    if (shard.refused > 0) {
      with_refused.push_back(shard.shard);
      refused += shard.refused;
    }
  }
  const auto on = [](const std::vector<std::uint32_t>& shards) {
    return fmt::format("{} {}", shards.size() == 1 ? "shard" : "shards", comma_separated(shards));
  };
  std::vector<std::string> lines;
  if (buffered > 0) {
    lines.push_back(fmt::format("{} of buffered writes on {}: `looseleaf flush` stores them",
                                counted(buffered, "copy", "copies"), on(with_buffered)));
  }
  if (refused > 0) {
    lines.push_back(fmt::format("{} on {}: see `looseleaf refused list`",
                                counted(refused, "refused write", "refused writes"), on(with_refused)));
  }
  return lines;
}

std::vector<std::uint32_t> unknown_shards(const Status& status) {
  std::vector<std::uint32_t> unknown;
  for (const auto& shard : status.shards) {
    if (shard.state != ShardState::up) {
      unknown.push_back(shard.shard);
    }
  }
  return unknown;
}

std::string shards_text(const std::vector<std::uint32_t>& shards, std::size_t unknown) {
  return comma_separated(shards) + (unknown == 0 ? "" : fmt::format(" ({} unknown)", unknown));
}

std::string properties_text(const IndexDefinition& definition) {
  std::string text;
  for (const auto& property : definition.properties) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", property.name, to_string(property.type),
                        property.each ? " each" : "");
  }
  return text;
}

std::string shard_on_of(const IndexDefinition& definition) {
  return definition.shard_on ? definition.properties.at(*definition.shard_on).name : std::string();
}

std::string to_seconds(const std::string& time) {
  return time.substr(0, time.find('.'));
}

ExitStatus report_errors(const Status& status) {
  if (std::all_of(status.shards.begin(), status.shards.end(),
                  [](const ShardStatus& shard) { return shard.state == ShardState::uninitialised; })) {
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

}  // namespace looseleaf::cli
