// What `status` and `show-index` report of a cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/status.hpp>
#include <string>
#include <vector>

#include "cli/registry/exit_status.hpp"
#include "cli/terminal/json.hpp"

namespace looseleaf::cli {

// An index as some shards have it. Shards that disagree about an index are in several groups.
struct IndexGroup {
  IndexStatus index;  // `since` is the latest of the group
  IndexDefinition definition;
  std::vector<std::uint32_t> shards;
};

// In order of names.
[[nodiscard]] std::vector<IndexGroup> group_indexes(const Status& status);

// One job on some shards: `done` and `estimate` are sums, `since` is the first and `heartbeat` the last of them.
struct JobGroup {
  JobStatus job;
  std::vector<std::uint32_t> shards;
};

// With `each_shard`, every group has one shard.
[[nodiscard]] std::vector<JobGroup> group_jobs(const Status& status, bool each_shard);

// A line for each state other than open, with the shards that have it, unless all have: since when, by whom and why.
[[nodiscard]] std::vector<std::string> access_lines(const Status& status);
// Returns a line for each copy of the store: how far it is on the shard where it is last.
[[nodiscard]] std::vector<std::string> copy_lines(const Status& status);
// Returns a line if writes are buffered, and one if some are refused.
[[nodiscard]] std::vector<std::string> buffer_lines(const Status& status);

// The shards that did not say which indexes they have.
[[nodiscard]] std::vector<std::uint32_t> unknown_shards(const Status& status);

// "0, 2 (1 unknown)".
[[nodiscard]] std::string shards_text(const std::vector<std::uint32_t>& shards, std::size_t unknown);

// "user_id uuid, tags string each".
[[nodiscard]] std::string properties_text(const IndexDefinition& definition);

// The name of the property that places rows; empty for a local index.
[[nodiscard]] std::string shard_on_of(const IndexDefinition& definition);

// Cuts off the fraction of a second.
[[nodiscard]] std::string to_seconds(const std::string& time);

// Prints why shards are not up, and returns the exit status. Throws if no shard is initialised.
ExitStatus report_errors(const Status& status);

}  // namespace looseleaf::cli
