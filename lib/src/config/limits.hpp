// The limits of a cluster's numbers, whether they are in a cluster file or were set by a program.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <looseleaf/cluster.hpp>
#include <looseleaf/options.hpp>
#include <optional>
#include <string>

namespace looseleaf::config {

// Why a number is refused.
struct Fault {
  std::string what, hint;
};

// Return nothing if the number is within its limits.
[[nodiscard]] std::optional<Fault> fault_of_shard_count(std::size_t count);
[[nodiscard]] std::optional<Fault> fault_of_max_connections(std::int64_t limit);
[[nodiscard]] std::optional<Fault> fault_of_timeout(std::chrono::duration<double> timeout);

// Return what they were given. Throw Error(bad_cluster) or Error(usage) if a number in it is beyond its limits.
[[nodiscard]] Cluster checked(Cluster cluster);
[[nodiscard]] Options checked(Options options);

}  // namespace looseleaf::config
