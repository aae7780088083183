// The limits of a cluster's numbers.
#include "config/limits.hpp"

#include <fmt/format.h>

#include <looseleaf/error.hpp>
#include <utility>

namespace looseleaf::config {
namespace {

using Seconds = std::chrono::duration<double>;

void require_none(ErrorCode code, const std::optional<Fault>& fault) {
  if (fault) {
    throw Error(code, fault->what, {}, fault->hint);
  }
}

}  // namespace

std::optional<Fault> fault_of_shard_count(std::size_t count) {
  if (count < 1 || count > max_shards) {
    return Fault{"number of shards is out of range", fmt::format("list 1 to {} shards", max_shards)};
  }
  return std::nullopt;
}

std::optional<Fault> fault_of_max_connections(std::int64_t limit) {
  if (limit < min_connections || limit > most_connections) {
    return Fault{"max_connections is out of range",
                 fmt::format("use a number from {} to {}", min_connections, most_connections)};
  }
  return std::nullopt;
}

std::optional<Fault> fault_of_timeout(Seconds timeout) {
  if (!(timeout >= min_timeout) || timeout > longest_timeout) {
    return Fault{"timeout is out of range",
                 fmt::format("use a number of seconds from {} to {}", Seconds(min_timeout).count(),
                             Seconds(longest_timeout).count())};
  }
  return std::nullopt;
}

Cluster checked(Cluster cluster) {
  require_none(ErrorCode::bad_cluster, fault_of_shard_count(cluster.shards.size()));
  require_none(ErrorCode::bad_cluster, fault_of_max_connections(cluster.max_connections));
  require_none(ErrorCode::bad_cluster, fault_of_timeout(cluster.timeout));
  return cluster;
}

Options checked(Options options) {
  if (options.max_connections) {
    require_none(ErrorCode::usage, fault_of_max_connections(*options.max_connections));
  }
  if (options.timeout) {
    require_none(ErrorCode::usage, fault_of_timeout(*options.timeout));
  }
  return options;
}

}  // namespace looseleaf::config
